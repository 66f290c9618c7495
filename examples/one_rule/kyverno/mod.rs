//! Kyverno's `ClusterPolicy`, for the constraint framework: a third driver and a target of its own.
//!
//! The framework knows nothing of it. A rule with `validate.pattern` becomes a template, whose code is the pattern, and a
//! constraint, whose match block is the rule's. Rules of other sorts are refused.

mod driver;
mod operand;
mod pattern;
mod target;

use constraint_framework::api::Constraint;
use constraint_framework::policyset::PolicySetBuilder;
use serde_json::{Value, json};

pub(crate) use driver::PatternDriver;
pub(crate) use target::ClusterPolicyTarget;

/// Adds the rules of a ClusterPolicy to a policy set. The constraint has the name `<policy>/<rule>` with a dot.
///
/// # Errors
///
/// An error in the policy, or a feature that is not supported here.
pub(crate) fn put(builder: &mut PolicySetBuilder, policy: &Value) -> Result<(), String> {
    let text = |at: &str| policy.pointer(at).and_then(Value::as_str);
    let name = text("/metadata/name").ok_or("/metadata/name: is missing")?;
    let rules = policy.pointer("/spec/rules").and_then(Value::as_array).ok_or("/spec/rules: is missing")?;
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("/spec/rules/{index}");
        let validate =
            rule.get("validate").ok_or(format!("{at}/validate: only validate rules are supported here"))?;
        let action =
            validate.get("failureAction").and_then(Value::as_str).or(text("/spec/validationFailureAction"));
        let warns = policy.pointer("/spec/emitWarning") == Some(&Value::Bool(true));
        let action = match (action.unwrap_or("Audit"), warns) {
            ("Enforce", _) => "deny",
            ("Audit", true) => "warn",
            ("Audit", false) => "dryrun",
            (other, _) => {
                return Err(format!("{at}/validate/failureAction: Enforce or Audit, not {other:?}"));
            }
        };
        let kind =
            format!("Pattern{index}Of{}", name.replace(|sign: char| !sign.is_ascii_alphanumeric(), ""));
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
            "metadata": {"name": kind.to_lowercase()},
            "spec": {
                "crd": {"spec": {"names": {"kind": kind}}},
                "targets": [{"target": target::NAME, "code": [{"engine": driver::ENGINE, "source": validate}]}],
            },
        });
        builder.put_template(&template).map_err(|error| format!("{at}/validate: {error}"))?;
        let rule_name = rule.get("name").and_then(Value::as_str).unwrap_or_default();
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
            "metadata": {"name": format!("{name}.{rule_name}")},
            "spec": {
                "enforcementAction": action,
                "match": {"match": rule.get("match"), "exclude": rule.get("exclude").unwrap_or(&json!({}))},
            },
        });
        let constraint = Constraint::from_value(&constraint).map_err(|error| format!("{at}: {error}"))?;
        builder.put_constraint(constraint).map_err(|error| format!("{at}/match: {error}"))?;
    }
    Ok(())
}
