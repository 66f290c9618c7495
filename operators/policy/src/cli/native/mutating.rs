//! MutatingAdmissionPolicies: checked as the API server checks them when they are stored, and not applied.
//!
//! Of the expressions of mutations, everything is checked but the types of the fields that they write: those come from the
//! schemas of a cluster.

use std::sync::Arc;

use constraint_framework::driver::{CompileError, Driver, ValidatingPolicyDriver};
use serde_json::{Value, json};

use super::literal::as_map;
use super::matching::MatchResources;
use crate::cli::manifest::text;

/// The name under which the expression of a mutation is compiled.
const MUTATION: &str = "mutation_";

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

/// Compiles variables, match conditions and, as further variables, the expressions of mutations.
fn check_expressions(policy: &Value, expressions: &[(String, &str)]) -> Vec<String> {
    let mut errors = Vec::new();
    let list = |field: &str| policy.pointer(&format!("/spec/{field}")).and_then(Value::as_array).cloned();
    let mut variables = list("variables").unwrap_or_default();
    let own = variables.len();
    let mut places = Vec::new();
    for (position, (place, expression)) in expressions.iter().enumerate() {
        match as_map(expression) {
            Ok(text) => {
                variables.push(json!({"name": format!("{MUTATION}{position}"), "expression": text}));
                places.push(place.as_str());
            }
            Err(error) => errors.push(format!("{place}: {error}")),
        }
    }
    let source = json!({
        "validations": [{"expression": "true"}], "variables": variables,
        "matchConditions": list("matchConditions").unwrap_or_default(),
    });
    let compiled: Result<Arc<_>, _> = ValidatingPolicyDriver.compile(&source);
    let placed = |error: &CompileError| {
        let location = error.location.strip_prefix("source").unwrap_or_default();
        let behind = location.strip_prefix("/variables/");
        let number = behind.and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        let place = number.and_then(|number| places.get(number.checked_sub(own)?));
        match place {
            // Columns are those of the text that was compiled, which is not the one that was written.
            Some(place) => format!("{place}: {}", error.message),
            None => format!("/spec{location}: {}", error.message),
        }
    };
    errors.extend(compiled.err().iter().flatten().map(placed));
    errors
}
