//! Indexing into values, as references do.

use crate::value::Value;

/// The value under a key: of an object, an array or a set; anything else has none.
pub(crate) fn get<'a>(value: &'a Value, key: &Value) -> Option<&'a Value> {
    match value {
        Value::Object(pairs) => pairs.get(key),
        Value::Array(items) => items.get(position(key)?),
        Value::Set(items) => items.get(key),
        _ => None,
    }
}

/// The place in an array a number names.
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
}
