//! Kyverno's `ClusterPolicy`, for the constraint framework: a third driver and a target of its own.
//!
//! The framework knows nothing of it. A rule with `validate.pattern` becomes a template, whose code is the pattern, and a
//! constraint, whose match block is the rule's. Rules of other sorts are refused.

mod driver;
mod number;
mod operand;
mod pattern;
mod target;

use constraint_framework::api::Constraint;
use constraint_framework::policyset::PolicySetBuilder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub(crate) use driver::PatternDriver;
pub(crate) use target::ClusterPolicyTarget;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Spec {
    rules: Vec<Value>,
    #[serde(default)]
    validation_failure_action: Option<String>,
    #[serde(default)]
    emit_warning: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    r#match: Value,
    #[serde(default)]
    exclude: Map<String, Value>,
    validate: Map<String, Value>,
}

/// Adds the rules of a ClusterPolicy to a policy set. The constraint has the name `<policy>/<rule>` with a dot.
///
/// # Errors
///
/// An error in the policy, or a feature that is not supported here.
pub(crate) fn put(builder: &mut PolicySetBuilder, policy: &Value) -> Result<(), String> {
    let text = |at: &str| policy.pointer(at).and_then(Value::as_str);
    if text("/kind") != Some("ClusterPolicy") {
        return Err("/kind: ClusterPolicy is what is supported here".to_owned());
    }
    let name = text("/metadata/name").ok_or("/metadata/name: is missing")?;
    let spec: Spec = read(policy.get("spec").unwrap_or(&Value::Null), "/spec")?;
    for (index, rule) in spec.rules.iter().enumerate() {
        let at = format!("/spec/rules/{index}");
        let rule = read(rule, &at)?;
        let kind =
            format!("Pattern{index}Of{}", name.replace(|sign: char| !sign.is_ascii_alphanumeric(), ""));
        put_rule(builder, &spec, rule, (name, &kind)).map_err(|error| format!("{at}/{error}"))?;
    }
    Ok(())
}

fn read<T: DeserializeOwned>(value: &Value, at: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("{at}: {error}"))
}

fn put_rule(
    builder: &mut PolicySetBuilder,
    spec: &Spec,
    mut rule: Rule,
    (policy, kind): (&str, &str),
) -> Result<(), String> {
    let own = rule.validate.get("failureAction").and_then(Value::as_str);
    let action = own.or(spec.validation_failure_action.as_deref()).unwrap_or("Audit").to_owned();
    let enforcement = match (action.as_str(), spec.emit_warning) {
        (driver::ENFORCE, _) => "deny",
        ("Audit", true) => "warn",
        ("Audit", false) => "dryrun",
        (other, _) => return Err(format!("validate/failureAction: Enforce or Audit, not {other:?}")),
    };
    rule.validate.entry("failureAction").or_insert(json!(action));
    let template = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": target::NAME, "code": [{"engine": driver::ENGINE, "source": rule.validate}]}],
        },
    });
    builder.put_template(&template).map_err(|error| format!("validate: {error}"))?;
    let selection = json!({"match": rule.r#match, "exclude": rule.exclude});
    if operand::has_variable(&selection.to_string()) {
        return Err("match: variables are not supported here".to_owned());
    }
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
        "metadata": {"name": format!("{policy}.{}", rule.name)},
        "spec": {"enforcementAction": enforcement, "match": selection},
    });
    let constraint = Constraint::from_value(&constraint).map_err(|error| format!("name: {error}"))?;
    builder.put_constraint(constraint).map_err(|error| format!("match: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use constraint_framework::driver::{Budget, Driver};
    use constraint_framework::policyset::{Compiler, PolicySet};
    use constraint_framework::review::{Document, EnforcementPoint, Review};
    use constraint_framework::target::Target;

    use super::*;

    fn policy(validate: &Value) -> Value {
        json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"},
            "spec": {"emitWarning": true, "rules": [{
                "name": "r", "match": {"any": [{"resources": {"kinds": ["*"], "operations": ["*"]}}]}, "validate": validate,
            }]},
        })
    }

    fn compile(policy: &Value) -> Result<Arc<PolicySet>, String> {
        let targets = [Arc::new(ClusterPolicyTarget) as Arc<dyn Target>];
        let mut builder =
            PolicySetBuilder::new(Compiler::new(targets, [Arc::new(PatternDriver) as Arc<dyn Driver>]));
        put(&mut builder, policy).map(|()| builder.build())
    }

    fn object(a: i64) -> Document {
        Document::from_value(&json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "a": a}))
            .unwrap()
    }

    #[track_caller]
    fn check(validate: Value, operation: &str, [before, now]: [i64; 2], expected: &str) {
        let policies = compile(&policy(&validate)).unwrap();
        let review = Review::builder(target::NAME)
            .operation(operation)
            .object(object(now))
            .old_object(object(before))
            .build();
        let verdict = policies.review(&review, EnforcementPoint::WEBHOOK, &Budget::default());
        let answer = match (verdict.is_denied(), verdict.warnings().as_slice()) {
            (true, _) => "denies",
            (false, []) => "admits",
            (false, _) => "warns",
        };
        assert_eq!(answer, expected, "{validate} {operation}");
    }

    #[test]
    fn of_several_patterns_one_must_pass_where_one_fails() {
        let any = |patterns: Value| json!({"failureAction": "Enforce", "anyPattern": patterns});
        let (pass, fail, skip) = (json!({"a": "1"}), json!({"a": "2"}), json!({"(a)": "2"}));
        check(any(json!([fail, pass])), "CREATE", [1, 1], "admits");
        check(any(json!([skip])), "CREATE", [1, 1], "admits");
        check(any(json!([fail, skip])), "CREATE", [1, 1], "denies");
        check(any(json!([skip, fail])), "CREATE", [1, 1], "denies");
    }

    #[test]
    fn violations_from_before_are_let_through_where_they_would_be_refused() {
        let rule = |action: &str| json!({"failureAction": action, "pattern": {"a": "1"}});
        check(rule("Enforce"), "UPDATE", [2, 3], "admits");
        check(rule("Enforce"), "UPDATE", [1, 3], "denies");
        check(rule("Audit"), "UPDATE", [2, 3], "warns");
        let strict =
            json!({"failureAction": "Enforce", "allowExistingViolations": false, "pattern": {"a": "1"}});
        check(strict, "UPDATE", [2, 3], "denies");
    }

    #[test]
    fn a_pattern_is_not_compared_with_what_is_deleted() {
        check(json!({"failureAction": "Enforce", "pattern": {"a": "1"}}), "DELETE", [2, 2], "admits");
    }

    #[test]
    fn fields_that_are_not_supported_are_refused_with_their_place() {
        let (spec, rule, validate) = ("/spec", "/spec/rules/0", "/spec/rules/0/validate");
        for (at, key, value) in [
            ("", "kind", json!("Policy")),
            (spec, "applyRules", json!("One")),
            (spec, "emitWarning", json!("yes")),
            (spec, "validationFailureAction", json!(true)),
            (spec, "validationFailureActionOverrides", json!([])),
            (rule, "preconditions", json!({})),
            (rule, "context", json!([])),
            (rule, "mutate", json!({})),
            (rule, "match", json!({"any": [{"resources": {"kinds": ["{{ kind }}"]}}]})),
            (validate, "deny", json!({})),
            (validate, "failureAction", json!("Warn")),
            (validate, "failureActionOverrides", json!([])),
            (validate, "allowExistingViolations", json!("no")),
            (validate, "message", json!("not {{ request.object.metadata.name }}")),
            (validate, "anyPattern", json!([])),
        ] {
            let mut policy = policy(&json!({"failureAction": "Enforce", "pattern": {}}));
            assert_eq!(compile(&policy).map(drop), Ok(()));
            policy.pointer_mut(at).unwrap()[key] = value;
            let error = compile(&policy).map(drop).unwrap_err();
            let names = error.contains(key) || error.contains("invalid type");
            assert!(error.starts_with(at) && names, "{at}/{key}: {error}");
        }
        let none = compile(&policy(&json!({"anyPattern": []}))).map(drop).unwrap_err();
        assert!(none.contains("anyPattern"), "{none}");
    }
}
