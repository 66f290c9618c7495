//! The sizes within which one entry of a report is kept. A report is not a log.

use serde::Serialize;
use serde_json::Value;

use crate::report::{Entry, PodError};

/// Longest message of an error, in bytes.
const MESSAGE_LIMIT: usize = 256;
/// Longest code and longest location of an error, in bytes.
const WORD_LIMIT: usize = 128;
/// Most errors of one entry.
const ERRORS_LIMIT: usize = 16;
/// Longest detail of one entry, as JSON, in bytes.
const DETAIL_LIMIT: usize = 4096;

/// The code of the error in place of what did not fit.
const TOO_LARGE: &str = "report_too_large";

/// `errors`, cut to 16 of them, with 256 bytes of message each.
pub(crate) fn errors(mut errors: Vec<PodError>) -> Vec<PodError> {
    errors.truncate(ERRORS_LIMIT);
    for error in &mut errors {
        cut(&mut error.message, MESSAGE_LIMIT);
        cut(&mut error.code, WORD_LIMIT);
        if let Some(location) = &mut error.location {
            cut(location, WORD_LIMIT);
        }
    }
    errors
}

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

/// What remains of an entry that the API server refuses even alone. It claims nothing any more.
pub(crate) fn smallest(entry: &Entry) -> Entry {
    let message = "the API server refuses the report of this pod as too large; shorten names and details";
    let error = PodError::new(TOO_LARGE, message);
    Entry { errors: vec![error], detail: Value::Null, enforcing: None, ..entry.clone() }
}

/// The length of `value` as JSON, in bytes.
pub(crate) fn length(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

fn cut(text: &mut String, limit: usize) {
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn errors_are_bounded(message in "\\PC{0,400}", location in "\\PC{0,400}", count in 0..40usize) {
            let error = PodError::new("code", message).at(location);
            let bounded = errors(vec![error; count]);
            prop_assert!(bounded.len() <= ERRORS_LIMIT);
            for error in bounded {
                prop_assert!(error.message.len() <= MESSAGE_LIMIT);
                prop_assert!(error.location.unwrap().len() <= WORD_LIMIT);
            }
        }
    }

    #[test]
    fn a_detail_is_an_object_of_bounded_size() {
        assert_eq!(detail(&json!({"enforced": true})), json!({"enforced": true}));
        assert_eq!(detail(&"text"), Value::Null);
        assert_eq!(detail(&json!({"enforced": true, "log": "x".repeat(5000)})), json!({"enforced": true}));
        let flags: serde_json::Map<_, _> = (0..1000).map(|n| (format!("flag{n}"), json!(true))).collect();
        assert_eq!(detail(&flags), Value::Null);
    }
}
