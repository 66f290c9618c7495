//! Indexing into values, as references do.

use crate::value::Value;

/// A way to find the value under a key: [`get`] or [`stored`].
pub(crate) type Lookup = for<'v> fn(&'v Value, &Value) -> Option<&'v Value>;

/// Returns the value under a key: of an object, an array or a set; anything else has none.
pub(crate) fn get<'a>(value: &'a Value, key: &Value) -> Option<&'a Value> {
    match value {
        Value::Object(pairs) => pairs.get(key),
        Value::Array(items) => items.get(position(key)?),
        Value::Set(items) => items.get(key),
        _ => None,
    }
}

/// Returns the value under a key of a document in OPA's store, whose paths are texts: a number is the name it is spelled, and
/// the digits of a place in an array are that place.
pub(crate) fn stored<'a>(value: &'a Value, key: &Value) -> Option<&'a Value> {
    get(value, key).or_else(|| match (value, key) {
        (Value::Object(pairs), Value::Number(number)) => pairs.get(&Value::from(&*number.text())),
        (Value::Array(items), Value::String(place)) => items.get(place.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns the place in an array a number names.
pub(crate) fn position(key: &Value) -> Option<usize> {
    match key {
        Value::Number(number) => usize::try_from(number.as_i64()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_indexed_its_own_way() {
        let array = Value::from(vec![Value::from("a"), Value::from("b")]);
        assert_eq!(get(&array, &1u64.into()), Some(&"b".into()));
        assert_eq!(get(&array, &1.0.into()), Some(&"b".into()));
        assert_eq!(get(&array, &(-1i64).into()), None);
        assert_eq!(get(&array, &"0".into()), None);
        let object = Value::from_json_str(r#"{"a": null}"#).unwrap();
        assert_eq!(get(&object, &"a".into()), Some(&Value::Null));
        assert_eq!(get(&Value::from("text"), &0u64.into()), None);
    }

    #[test]
    fn paths_of_the_store_are_texts() {
        let object = Value::from_json_str(r#"{"2": "a"}"#).unwrap();
        assert_eq!(stored(&object, &2u64.into()), Some(&"a".into()));
        assert_eq!(get(&object, &2u64.into()), None);
        let array = Value::from(vec![Value::from("a")]);
        assert_eq!(stored(&array, &"0".into()), Some(&"a".into()));
        assert_eq!(stored(&array, &"1".into()), None);
        assert_eq!(stored(&array, &"x".into()), None);
    }
}
