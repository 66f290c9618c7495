//! Reading: from the root of an object to its duck. Nothing is coerced, nothing is defaulted.

use serde::Deserialize;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::error::DuckError;
use crate::path::pointer;
use crate::{DuckPath, DuckType};

/// Reads the duck `T` out of `root`, which is a whole object or the `data` of a `DynamicObject`.
///
/// # Errors
///
/// [`DuckError::Absent`], [`DuckError::Null`] or [`DuckError::Mismatch`], with the pointer of the place.
pub fn view<T: DuckType>(root: &Value) -> Result<T, DuckError> {
    read(T::NAME, &T::path(), root)
}

/// Reads `V`, which may borrow from `root`, at the path of the duck `T`.
///
/// `V` is usually a smaller struct than `T`, with `&str` fields: nothing but what it names is copied.
///
/// # Errors
///
/// As [`view`].
pub fn view_ref<'a, T: DuckType, V: Deserialize<'a>>(root: &'a Value) -> Result<V, DuckError> {
    read(T::NAME, &T::path(), root)
}

fn read<'a, V: Deserialize<'a>>(
    duck: &'static str,
    path: &DuckPath,
    root: &'a Value,
) -> Result<V, DuckError> {
    let value = find(duck, path, root)?;
    serde_path_to_error::deserialize(value).map_err(|error| DuckError::Mismatch {
        duck,
        pointer: join(path, error.path()),
        message: error.inner().to_string(),
    })
}

/// Walks objects only: a segment `0` is a field of that name, never an array position.
pub(crate) fn find<'a>(duck: &'static str, path: &DuckPath, root: &'a Value) -> Result<&'a Value, DuckError> {
    let at = |steps: usize| pointer(path.segments().take(steps));
    let mut current = root;
    for (steps, segment) in path.segments().enumerate() {
        current = match current {
            Value::Object(fields) => fields.get(segment).ok_or_else(|| DuckError::Absent {
                duck,
                path: path.to_string(),
                at: at(steps),
            })?,
            // An object without further fields is a null `data` in kube's DynamicObject.
            Value::Null if steps == 0 => {
                return Err(DuckError::Absent { duck, path: path.to_string(), at: String::new() });
            }
            Value::Null => return Err(DuckError::Null { duck, at: at(steps) }),
            other => {
                let message = format!("expected an object, found {}", type_name(other));
                return Err(DuckError::Mismatch { duck, pointer: at(steps), message });
            }
        };
    }
    match current {
        Value::Null => Err(DuckError::Null { duck, at: path.to_string() }),
        found => Ok(found),
    }
}

fn join(path: &DuckPath, below: &serde_path_to_error::Path) -> String {
    let steps: Vec<String> = below
        .iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { variant } => Some(variant.clone()),
            Segment::Unknown => None,
        })
        .collect();
    pointer(path.segments().chain(steps.iter().map(String::as_str)))
}

/// The JSON name of the type of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
