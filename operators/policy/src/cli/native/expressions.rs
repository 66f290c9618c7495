//! The expressions of a policy that decide nothing here, and are checked all the same: those of mutations and of audit
//! annotations.

use constraint_framework::driver::{CompileError, CompileErrors, Driver, ValidatingPolicyDriver};
use serde_json::{Value, json};

use crate::cli::manifest::text;

/// Compiles expressions, each with its place, as variables behind those of the policy. Returns what is wrong with them, each error
/// with the position of its expression; what is wrong with the variables of the policy is not repeated.
pub(super) fn check(
    policy: &Value,
    driver: ValidatingPolicyDriver,
    expressions: &[(String, &str)],
) -> Vec<(usize, String)> {
    if expressions.is_empty() {
        return Vec::new();
    }
    let mut variables =
        policy.pointer("/spec/variables").and_then(Value::as_array).cloned().unwrap_or_default();
    let own = variables.len();
    let names: Vec<_> = variables.iter().map(|variable| text(variable, "/name").to_owned()).collect();
    let mut prefix = "expression_".to_owned();
    while names.iter().any(|name| name.starts_with(&prefix)) {
        prefix.push('_');
    }
    let variable = |(position, (_, expression)): (usize, &(String, &str))| json!({"name": format!("{prefix}{position}"), "expression": expression});
    variables.extend(expressions.iter().enumerate().map(variable));
    let compiled = driver.compile(&json!({"validations": [{"expression": "true"}], "variables": variables}));
    let own_error = |error: &CompileError| {
        let behind = error.location.strip_prefix("source/variables/")?;
        let (number, rest) = behind.split_once('/')?;
        let number = number.parse::<usize>().ok()?.checked_sub(own)?;
        let (place, _) = expressions.get(number)?;
        let column = rest.strip_prefix("expression").unwrap_or_default();
        Some((number, format!("{place}{column}: {}", error.message)))
    };
    compiled
        .err()
        .into_iter()
        .flat_map(|errors| errors.iter().filter_map(own_error).collect::<Vec<_>>())
        .collect()
}

/// Returns the errors of a compilation, each with its place in the policy.
pub(super) fn errors<T>(compiled: &Result<T, CompileErrors>) -> Vec<String> {
    let placed = |error: &CompileError| {
        format!("/spec{}: {}", error.location.strip_prefix("source").unwrap_or_default(), error.message)
    };
    compiled.as_ref().err().into_iter().flatten().map(placed).collect()
}
