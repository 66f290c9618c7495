//! Reading: from the root of an object to its duck. Nothing is coerced, nothing is defaulted.

use std::borrow::Cow;

use kube::core::DynamicObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::error::DuckError;
use crate::path::pointer;
use crate::projection::{get, project};
use crate::{DuckPath, DuckType, Place};

/// Reads the duck `T` out of `root`, which is a whole object or the `data` of a `DynamicObject`.
///
/// # Errors
///
/// [`DuckError::Absent`], [`DuckError::Null`] or [`DuckError::Mismatch`], with the pointer of the place.
pub fn view<T: DuckType>(root: &Value) -> Result<T, DuckError> {
    match T::PLACE {
        Place::At(path) => read(T::NAME, &path, root),
        Place::Across(paths) => across(T::NAME, paths, &project(T::NAME, paths, root)?),
    }
}

/// Reads `V`, which may borrow from `root`, at the path of the duck `T`.
///
/// `V` is usually a smaller struct than `T`, with `&str` fields: nothing but what it names is copied. For a
/// duck that spans several paths, `V` has the shape of the whole object.
///
/// # Errors
///
/// As [`view`].
pub fn view_ref<'a, T: DuckType, V: Deserialize<'a>>(root: &'a Value) -> Result<V, DuckError> {
    match T::PLACE {
        Place::At(path) => read(T::NAME, &path, root),
        Place::Across(_) => deserialize(T::NAME, None, root),
    }
}

/// The JSON that holds the duck of an object: its `data`, and its metadata where the duck lies there.
pub(crate) fn root<'a, T: DuckType>(object: &'a DynamicObject) -> Result<Cow<'a, Value>, DuckError> {
    let place = T::PLACE;
    if !place.paths().iter().any(|path| path.first() == "metadata") {
        return Ok(Cow::Borrowed(&object.data));
    }
    let unwritable = |error: serde_json::Error| DuckError::Unwritable {
        duck: T::NAME,
        message: format!("the metadata has no JSON form: {error}"),
    };
    let metadata = serde_json::to_value(&object.metadata).map_err(unwritable)?;
    let data: Vec<DuckPath> =
        place.paths().iter().filter(|path| path.first() != "metadata").cloned().collect();
    let mut root = project(T::NAME, &data, &object.data)?;
    if let Value::Object(fields) = &mut root {
        fields.insert("metadata".to_owned(), metadata);
    }
    Ok(Cow::Owned(root))
}

/// Reads `T` from a projection onto its paths. Several paths may all be absent, as far as the type allows.
pub(crate) fn from_projection<T: DuckType>(projection: &Value) -> Result<T, DuckError> {
    match T::PLACE {
        Place::At(path) => read(T::NAME, &path, projection),
        Place::Across(_) => deserialize(T::NAME, None, projection),
    }
}

fn across<T: DeserializeOwned>(
    duck: &'static str,
    paths: &[DuckPath],
    projection: &Value,
) -> Result<T, DuckError> {
    if paths.iter().all(|path| get(projection, path).is_none_or(Value::is_null)) {
        let Some(first) = paths.first() else { return deserialize(duck, None, projection) };
        find(duck, first, projection)?;
    }
    deserialize(duck, None, projection)
}

fn read<'a, V: Deserialize<'a>>(
    duck: &'static str,
    path: &DuckPath,
    root: &'a Value,
) -> Result<V, DuckError> {
    deserialize(duck, Some(path), find(duck, path, root)?)
}

fn deserialize<'a, V: Deserialize<'a>>(
    duck: &'static str,
    path: Option<&DuckPath>,
    value: &'a Value,
) -> Result<V, DuckError> {
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
            Value::Object(fields) => fields.get(&*segment).ok_or_else(|| DuckError::Absent {
                duck,
                path: path.to_string(),
                at: at(steps),
            })?,
            // An object without further fields is a null `data` in kube's DynamicObject.
            Value::Null if steps == 0 => {
                return Err(DuckError::Absent { duck, path: path.to_string(), at: String::new() });
            }
            Value::Null => return Err(DuckError::Null { duck, at: at(steps) }),
            other => return Err(DuckError::not_an_object(duck, at(steps), other)),
        };
    }
    match current {
        Value::Null => Err(DuckError::Null { duck, at: path.to_string() }),
        found => Ok(found),
    }
}

fn join(path: Option<&DuckPath>, below: &serde_path_to_error::Path) -> String {
    let steps = below.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(Cow::Owned(index.to_string())),
        Segment::Map { key } => Some(Cow::Borrowed(key.as_str())),
        Segment::Enum { variant } => Some(Cow::Borrowed(variant.as_str())),
        Segment::Unknown => None,
    });
    pointer(path.into_iter().flat_map(DuckPath::segments).chain(steps))
}

#[cfg(test)]
mod tests;
