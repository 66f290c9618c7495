//! MutatingAdmissionPolicies: checked as the API server checks them when they are stored, and not applied.
//!
//! Of the expressions of mutations, everything is checked but the types of the fields that they write: those come from the
//! schemas of a cluster.

use constraint_framework::driver::{Driver, ValidatingPolicyDriver};
use serde_json::{Value, json};

use super::matching::MatchResources;
use super::{driver, expressions};
use crate::cli::manifest::text;

/// Everything for which the API server would refuse a policy, but for what is wrong with any policy.
pub(super) fn check(policy: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    if let Some(rules) = policy.pointer("/spec/matchConstraints") {
        let read = MatchResources::read(rules);
        errors.extend(read.err().map(|error| format!("/spec/matchConstraints{error}")));
    }
    let reinvocation = text(policy, "/spec/reinvocationPolicy");
    if !["Never", "IfNeeded"].contains(&reinvocation) {
        errors.push(format!("/spec/reinvocationPolicy: must be Never or IfNeeded, not {reinvocation:?}"));
    }
    let mutations =
        policy.pointer("/spec/mutations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if mutations.is_empty() {
        errors.push("/spec/mutations: must hold at least one mutation".to_owned());
    }
    let mut expressions = Vec::new();
    for (position, mutation) in mutations.iter().enumerate() {
        match expression(mutation) {
            Ok((field, expression)) => {
                expressions.push((format!("/spec/mutations/{position}/{field}/expression"), expression))
            }
            Err(error) => errors.push(format!("/spec/mutations/{position}/{error}")),
        }
    }
    errors.extend(check_expressions(policy, &expressions));
    errors
}

/// The field and the text of a mutation's expression.
fn expression(mutation: &Value) -> Result<(&'static str, &str), String> {
    let forms = [("ApplyConfiguration", "applyConfiguration"), ("JSONPatch", "jsonPatch")];
    let patch_type = text(mutation, "/patchType");
    let Some((_, field)) = forms.iter().find(|(name, _)| *name == patch_type) else {
        return Err(format!("patchType: must be ApplyConfiguration or JSONPatch, not {patch_type:?}"));
    };
    if let Some((_, other)) =
        forms.iter().find(|(name, other)| *name != patch_type && mutation.get(*other).is_some())
    {
        return Err(format!("{other}: must not be set where patchType is {patch_type}"));
    }
    let expression =
        mutation.pointer(&format!("/{field}/expression")).and_then(Value::as_str).unwrap_or_default();
    if expression.trim().is_empty() {
        return Err(format!("{field}/expression: must hold a CEL expression"));
    }
    Ok((field, expression))
}

/// Compiles variables and match conditions, and the expressions of mutations, which have further types.
fn check_expressions(policy: &Value, expressions: &[(String, &str)]) -> Vec<String> {
    let list = |field: &str| policy.pointer(&format!("/spec/{field}")).and_then(Value::as_array).cloned();
    let source = json!({
        "validations": [{"expression": "true"}], "variables": list("variables").unwrap_or_default(),
        "matchConditions": list("matchConditions").unwrap_or_default(),
    });
    let mut errors = expressions::errors(&driver(policy).compile(&source));
    let of_mutations = ValidatingPolicyDriver { has_patch_types: true, ..driver(policy) };
    errors.extend(expressions::check(policy, of_mutations, expressions).into_iter().map(|(_, error)| error));
    errors
}
