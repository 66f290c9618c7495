//! Length, pattern and format of a string.

use go_compat::regexp;

use super::{Dialect, Outcome, Validator, Violation};
use crate::node::Node;
use crate::object::format;
use crate::structural::go_quoted;

/// The server reports the first of these only.
pub(super) fn check(validator: &mut Validator, node: &Node<'_>, string: &str, path: &str) -> Outcome {
    let length = i64::try_from(string.chars().count()).unwrap_or(i64::MAX);
    if let Some(max) = node.integer("maxLength").filter(|max| length > *max) {
        return Outcome::of(Violation::too_long(path, max));
    }
    if let Some(min) = node.integer("minLength").filter(|min| length < *min) {
        let complaint = format!("should be at least {min} chars long");
        return Outcome::of(Violation::invalid(path, go_quoted(string), &complaint));
    }
    let pattern = node.string("pattern");
    if pattern.is_empty() {
        return Outcome::default();
    }
    let is_default = validator.dialect == Dialect::Default;
    let complaint = match validator.pattern(pattern) {
        Ok(regex) if regex.is_match(string) => return Outcome::default(),
        Ok(_) => format!("should match '{pattern}'"),
        // The server compiles larger patterns than this crate, so it may well accept the schema with this default.
        Err(regexp::Error::TooLarge(_)) if is_default => return Outcome::default(),
        Err(error) => format!("should match '{pattern}, but pattern is invalid: {error}'"),
    };
    Outcome::of(Violation::invalid(path, go_quoted(string), &complaint))
}

/// Checks the format, if it is one that the server knows.
pub(super) fn format(validator: &Validator, node: &Node<'_>, string: &str, path: &str) -> Option<Outcome> {
    let name = validator.format(node);
    let valid = format::validates(name, string)?;
    if valid {
        return Some(Outcome::default());
    }
    let complaint = format!("must be of type {name}: {}", go_quoted(string));
    Some(Outcome::of(Violation::invalid(path, go_quoted(string), &complaint)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate_object;

    #[test]
    fn a_pattern_that_cannot_be_compiled_refuses_every_string() {
        let schema = |pattern: &str| json!({"type": "object", "properties": {"s": {"type": "string", "pattern": pattern}}});
        let verdict = validate_object(&schema("(?=x)"), &json!({"s": "x"}));
        assert_eq!(
            verdict.errors.to_string(),
            "s: Invalid value: \"x\": s in body should match '(?=x), but pattern is invalid: error parsing regexp: \
             invalid or unsupported Perl syntax: `(?=`'"
        );
        assert!(!validate_object(&schema(r"^(\pL{1000}){100}$"), &json!({"s": "x"})).is_valid());
        assert!(validate_object(&schema("^x$"), &json!({"s": "x"})).is_valid());
    }
}
