//! `anyOf`, `oneOf`, `allOf` and `not` of one value.

use serde_json::Value;

use super::{Outcome, Validator, Violation};
use crate::node::Node;
use crate::structural::go_quoted;

pub(super) fn check(validator: &mut Validator, node: &Node<'_>, value: &Value, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    any_of(validator, node, value, path, &mut outcome);
    one_of(validator, node, value, path, &mut outcome);
    all_of(validator, node, value, path, &mut outcome);
    if let Some(not) = &node.not
        && validator.validate(not, value, path).is_valid()
    {
        outcome.add(Violation::whole(format!("{} must not validate the schema (not)", go_quoted(path))));
    }
    outcome.count();
    outcome
}

/// Reports the member that came closest, the earlier one if two came equally close.
fn any_of(validator: &mut Validator, node: &Node<'_>, value: &Value, path: &str, outcome: &mut Outcome) {
    let mut closest: Option<Outcome> = None;
    for member in &node.any_of {
        let result = validator.validate(member, value, path);
        if result.is_valid() {
            return outcome.merge(result);
        }
        if closest.as_ref().is_none_or(|closest| result.matches > closest.matches) {
            closest = Some(result);
        }
    }
    if let Some(closest) = closest {
        outcome
            .add(Violation::whole(format!("{} must validate at least one schema (anyOf)", go_quoted(path))));
        outcome.merge(closest);
    }
}

fn one_of(validator: &mut Validator, node: &Node<'_>, value: &Value, path: &str, outcome: &mut Outcome) {
    let (mut valid, mut first, mut closest): (usize, Option<Outcome>, Option<Outcome>) = (0, None, None);
    for member in &node.one_of {
        let result = validator.validate(member, value, path);
        if result.is_valid() {
            valid = valid.saturating_add(1);
            closest = None;
            first.get_or_insert(result);
        } else if valid == 0 && closest.as_ref().is_none_or(|closest| result.matches > closest.matches) {
            closest = Some(result);
        }
    }
    if node.one_of.is_empty() {
        return;
    }
    if valid == 1 {
        first.into_iter().for_each(|first| outcome.merge(first));
        return;
    }
    let found =
        if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
    outcome.add(Violation::whole(format!(
        "{} must validate one and only one schema (oneOf). {found}",
        go_quoted(path)
    )));
    closest.into_iter().for_each(|closest| outcome.merge(closest));
}

fn all_of(validator: &mut Validator, node: &Node<'_>, value: &Value, path: &str, outcome: &mut Outcome) {
    let mut valid: usize = 0;
    for member in &node.all_of {
        let result = validator.validate(member, value, path);
        if result.is_valid() {
            valid = valid.saturating_add(1);
        }
        outcome.merge(result);
    }
    if valid != node.all_of.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        outcome.add(Violation::whole(format!(
            "{} must validate all the schemas (allOf){none}",
            go_quoted(path)
        )));
    }
}
