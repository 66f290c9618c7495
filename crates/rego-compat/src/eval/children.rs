//! The entries of collections, in OPA's order.

use std::borrow::Cow;

use crate::error::EvalError;
use crate::value::Value;

use super::Flow;

/// A callback for each key and value in a collection.
pub(super) type Visit<'t> = &'t mut dyn FnMut(Cow<'_, Value>, &Value) -> Result<Flow, EvalError>;

/// Visits the keys and values of a collection in OPA's order; anything else has none.
pub(super) fn children(value: &Value, visit: Visit<'_>) -> Result<Flow, EvalError> {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if visit(Cow::Owned(Value::from(index)), item)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        Value::Object(pairs) => {
            for (key, item) in pairs.iter() {
                if visit(Cow::Borrowed(key), item)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        Value::Set(items) => {
            for item in items.iter() {
                if visit(Cow::Borrowed(item), item)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        _ => {}
    }
    Ok(Flow::Continue)
}
