//! Length, pattern and format of a text.

use super::{Outcome, Validator, Violation};
use crate::node::Node;
use crate::object::format;
use crate::structural::go_quoted;

/// The server reports the first of these only.
pub(super) fn check(validator: &mut Validator, node: &Node<'_>, text: &str, path: &str) -> Outcome {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(max) = node.integer("maxLength").filter(|max| length > *max) {
        return Outcome::of(Violation::too_long(path, max));
    }
    if let Some(min) = node.integer("minLength").filter(|min| length < *min) {
        let complaint = format!("should be at least {min} chars long");
        return Outcome::of(Violation::invalid(path, go_quoted(text), &complaint));
    }
    let pattern = node.text("pattern");
    // A pattern that cannot be run was refused with the schema; it must not refuse objects as well.
    if !pattern.is_empty() && validator.pattern(pattern).is_some_and(|regex| !regex.is_match(text)) {
        let complaint = format!("should match '{pattern}'");
        return Outcome::of(Violation::invalid(path, go_quoted(text), &complaint));
    }
    Outcome::default()
}

/// Checks the format, if it is one that the server knows.
pub(super) fn format(validator: &Validator, node: &Node<'_>, text: &str, path: &str) -> Option<Outcome> {
    let name = validator.format(node);
    let valid = format::matches(name, text)?;
    if valid {
        return Some(Outcome::default());
    }
    let complaint = format!("must be of type {name}: {}", go_quoted(text));
    Some(Outcome::of(Violation::invalid(path, go_quoted(text), &complaint)))
}
