//! The marks by which two forms of a CRD are compared: the release that asked for it, and a fingerprint of its `spec`.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::digest::{self, short_hex};

/// Rises when a release asks for other CRDs than the one before. A pod leaves CRDs of a higher revision alone, so that
/// two releases do not undo each other's writes during an upgrade.
pub(in crate::controller) const REVISION: u64 = 3;
/// The annotation that holds [`REVISION`].
pub(in crate::controller) const REVISION_ANNOTATION: &str = "webtroller.dev/revision";

/// A short text that differs when the value does. A field that is null counts as absent, as for the API server.
pub(in crate::controller) fn fingerprint(value: &Value) -> String {
    let mut digest = Sha256::new();
    feed(&mut digest, value);
    short_hex(digest)
}

/// Each value is preceded by a letter for its type, and each text by its length, so that no two values feed the same
/// bytes. Fields come in the order of their names.
fn feed(digest: &mut Sha256, value: &Value) {
    let mut text = |letter: &str, text: &str| {
        digest.update(letter);
        digest::feed(digest, text);
    };
    match value {
        Value::Null => digest.update("z"),
        Value::Bool(value) => digest.update(if *value { "t" } else { "f" }),
        Value::Number(number) => text("n", &number.to_string()),
        Value::String(string) => text("s", string),
        Value::Array(entries) => {
            digest.update("[");
            entries.iter().for_each(|entry| feed(digest, entry));
            digest.update("]");
        }
        Value::Object(fields) => {
            digest.update("{");
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                digest::feed(digest, name);
                feed(digest, value);
            }
            digest.update("}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[a-b]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-b]{0,2}", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn without_nulls(value: &Value) -> Value {
        match value {
            Value::Array(entries) => entries.iter().map(without_nulls).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(_, value)| !value.is_null());
                Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn fingerprints_are_equal_exactly_when_the_values_are_but_for_null_fields(a in value(), b in value()) {
            prop_assert_eq!(fingerprint(&a) == fingerprint(&b), without_nulls(&a) == without_nulls(&b));
            prop_assert_eq!(fingerprint(&a), fingerprint(&without_nulls(&a)));
        }
    }
}
