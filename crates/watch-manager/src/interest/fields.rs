//! One form for field selectors that the API server reads alike, so that registrars which write them differently share a
//! watch. The rules are those of `ParseSelector` in `k8s.io/apimachinery/pkg/fields`: terms are separated by commas that no
//! backslash precedes, sorted, and skipped if empty; the first of `!=`, `==` and `=` in a term is its operator.
//! Nothing is trimmed: the server takes a space for a part of the field or the value.

use std::collections::BTreeSet;

/// The selector in its one form; `None` if it has no terms.
pub(super) fn normalize(selector: &str) -> Option<Box<str>> {
    let terms: BTreeSet<_> = terms(selector).filter(|term| !term.is_empty()).map(normalize_term).collect();
    let terms: Vec<_> = terms.into_iter().collect();
    (!terms.is_empty()).then(|| terms.join(",").into())
}

/// The parts between commas. `\,` is a comma of a value.
fn terms(selector: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    selector.split(move |letter| {
        let separates = letter == ',' && !escaped;
        escaped = letter == '\\' && !escaped;
        separates
    })
}

/// The term with `=` for `==`.
fn normalize_term(term: &str) -> String {
    let Some(at) = term.find('=') else { return term.to_owned() };
    let (field, rest) = term.split_at(at);
    match rest.strip_prefix("==") {
        // What follows `!=`, and a value with an operator of its own, the server refuses. So it has to read them.
        Some(value) if !field.ends_with('!') && !value.starts_with('=') => format!("{field}={value}"),
        _ => term.to_owned(),
    }
}

/// A term: the field, whether it is to have the value or not, and the value without backslashes.
#[cfg(any(test, feature = "test-util"))]
pub(crate) type Requirement<'a> = (&'a str, bool, String);

/// The terms of a selector; those without an operator are left out.
#[cfg(any(test, feature = "test-util"))]
pub(crate) fn requirements(selector: &str) -> impl Iterator<Item = Requirement<'_>> {
    terms(selector).filter_map(|term| {
        let (field, value) = term.split_once('=')?;
        let (field, is_equal) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
        let value = if is_equal { value.strip_prefix('=').unwrap_or(value) } else { value };
        let mut escaped = false;
        let kept = value.chars().filter(|letter| {
            escaped = *letter == '\\' && !escaped;
            !escaped
        });
        Some((field, is_equal, kept.collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, expected: Option<&str>) {
        assert_eq!(normalize(selector).as_deref(), expected, "{selector:?}");
        if let Some(expected) = expected {
            assert_eq!(normalize(expected).as_deref(), Some(expected), "not stable");
        }
    }

    #[test]
    fn order_repetition_and_the_long_operator_make_no_difference() {
        check("b=2,a=1", Some("a=1,b=2"));
        check("a=1,,b==2,a==1,", Some("a=1,b=2"));
        check("a!=1,a=1", Some("a!=1,a=1"));
        check("", None);
        check(",,", None);
    }

    #[test]
    fn what_the_server_tells_apart_stays_apart() {
        // A space belongs to the field or the value.
        check(" a=1", Some(" a=1"));
        check("a=", Some("a="));
        // The value `=1`, which the server refuses because it is not escaped.
        check("a!==1", Some("a!==1"));
        check("a===1", Some("a===1"));
        check("no-operator", Some("no-operator"));
    }

    #[test]
    fn requirements_are_read_with_their_operators_and_without_backslashes() {
        let read: Vec<_> = requirements(r"a.b=1,c!=x\,y\\,d==,nothing").collect();
        let read: Vec<_> =
            read.iter().map(|(field, equal, value)| (*field, *equal, value.as_str())).collect();
        assert_eq!(read, [("a.b", true, "1"), ("c", false, r"x,y\"), ("d", true, "")]);
    }

    #[test]
    fn an_escaped_comma_separates_nothing() {
        check(r"b=x\,y,a=1", Some(r"a=1,b=x\,y"));
        // An escaped backslash before a comma that separates.
        check(r"b=x\\,a=1", Some(r"a=1,b=x\\"));
    }
}
