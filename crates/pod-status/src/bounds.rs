//! The sizes within which one entry of a report is kept. A report is not a log.

use serde::Serialize;
use serde_json::Value;

/// Longest detail of one entry, as JSON, in bytes.
const DETAIL_LIMIT: usize = 4096;

/// `detail` as JSON. What is not an object would have the whole report refused, and is left out; an object of
/// more than 4 KiB too, and then keeps only its fields that are `true`, `false` or a number.
pub(crate) fn detail(detail: &impl Serialize) -> Value {
    let value = serde_json::to_value(detail).unwrap_or_default();
    match value {
        Value::Object(mut fields) => {
            if length(&fields) > DETAIL_LIMIT {
                tracing::warn!("the detail of a report is larger than {DETAIL_LIMIT} bytes and was cut");
                fields.retain(|_, field| field.is_boolean() || field.is_number());
            }
            if length(&fields) > DETAIL_LIMIT { Value::Null } else { Value::Object(fields) }
        }
        Value::Null => Value::Null,
        _ => {
            tracing::warn!("the detail of a report is not an object and was left out");
            Value::Null
        }
    }
}

/// The length of `value` as JSON, in bytes.
pub(crate) fn length(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

/// Cuts a string to `limit` bytes.
pub(crate) fn cut(text: &mut String, limit: usize) {
    if text.len() <= limit {
        return;
    }
    let room = limit.saturating_sub('…'.len_utf8());
    let at = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= room).last();
    text.truncate(at.unwrap_or_default());
    text.push('…');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_detail_is_an_object_of_bounded_size() {
        assert_eq!(detail(&json!({"enforced": true})), json!({"enforced": true}));
        assert_eq!(detail(&"text"), Value::Null);
        assert_eq!(detail(&json!({"enforced": true, "log": "x".repeat(5000)})), json!({"enforced": true}));
        let flags: serde_json::Map<_, _> = (0..1000).map(|n| (format!("flag{n}"), json!(true))).collect();
        assert_eq!(detail(&flags), Value::Null);
    }
}
