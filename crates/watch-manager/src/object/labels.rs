//! The labels in the text of an object, tested without copies: a registrar that joins a kind with a label selector has each
//! of its objects tested at once.

use kube::core::Expression;

use super::json::{Entries, Fields};

/// Labels without escapes, as they lie in the text.
type Plain<'a> = Entries<&'a str, &'a str>;

/// Returns true if the labels of this JSON text satisfy all requirements.
pub(super) fn satisfy(text: &str, requirements: &[Expression]) -> bool {
    match serde_json::from_str::<Plain<'_>>(text) {
        Ok(Entries(labels)) => requirements.iter().all(|it| is_met(it, last(&labels, expected_key(it)))),
        // Escapes, or a value that is not a string.
        Err(_) => {
            let labels: Vec<_> = Fields::parse(text).into_iter().flat_map(Fields::strings).collect();
            requirements.iter().all(|it| is_met(it, last(&labels, expected_key(it))))
        }
    }
}

/// JSON readers take the last of several values of a key, and so does this one.
fn last<'a>(labels: &'a [(impl AsRef<str>, impl AsRef<str>)], key: &str) -> Option<&'a str> {
    labels.iter().rev().find(|(name, _)| name.as_ref() == key).map(|(_, value)| value.as_ref())
}

fn expected_key(requirement: &Expression) -> &str {
    match requirement {
        Expression::In(key, _)
        | Expression::NotIn(key, _)
        | Expression::Equal(key, _)
        | Expression::NotEqual(key, _)
        | Expression::Exists(key)
        | Expression::DoesNotExist(key) => key,
    }
}

fn is_met(requirement: &Expression, label: Option<&str>) -> bool {
    match requirement {
        Expression::In(_, values) => label.is_some_and(|label| values.contains(label)),
        Expression::NotIn(_, values) => label.is_none_or(|label| !values.contains(label)),
        Expression::Equal(_, value) => label == Some(value),
        Expression::NotEqual(_, value) => label != Some(value),
        Expression::Exists(_) => label.is_some(),
        Expression::DoesNotExist(_) => label.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use kube::core::{Selector, SelectorExt};
    use proptest::prelude::*;

    use super::*;

    fn word() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c/d", "e\"f", "g\\h", ""]).prop_map(str::to_owned)
    }

    fn requirement() -> impl Strategy<Value = Expression> {
        let words = || prop::collection::btree_set(word(), 0..3);
        prop_oneof![
            (word(), words())
                .prop_map(|(key, values): (String, BTreeSet<String>)| Expression::In(key, values)),
            (word(), words())
                .prop_map(|(key, values): (String, BTreeSet<String>)| Expression::NotIn(key, values)),
            (word(), word()).prop_map(|(key, value)| Expression::Equal(key, value)),
            (word(), word()).prop_map(|(key, value)| Expression::NotEqual(key, value)),
            word().prop_map(Expression::Exists),
            word().prop_map(Expression::DoesNotExist),
        ]
    }

    proptest! {
        #[test]
        fn labels_in_their_text_satisfy_what_kubes_selector_matches(
            labels in prop::collection::btree_map(word(), word(), 0..5),
            requirements in prop::collection::vec(requirement(), 0..3),
        ) {
            let text = serde_json::to_string(&labels).unwrap();
            let selector: Selector = requirements.iter().cloned().collect();
            let labels: BTreeMap<String, String> = labels;
            prop_assert_eq!(satisfy(&text, &requirements), selector.matches(&labels), "{}", text);
        }
    }

    #[test]
    fn a_value_that_is_not_a_string_is_no_label() {
        let (is, has) =
            (Expression::Exists("a".to_owned()), Expression::Equal("b".to_owned(), "c".to_owned()));
        assert!(!satisfy(r#"{"a": 1, "b": "c"}"#, std::slice::from_ref(&is)));
        assert!(satisfy(r#"{"a": 1, "b": "x", "b": "c"}"#, std::slice::from_ref(&has)));
        assert!(!satisfy("null", std::slice::from_ref(&has)));
    }
}
