//! The part of an object that some paths lead to, in the shape of the object.
//!
//! The projection of `{"spec": {"a": 1, "b": 2}, "status": {"c": 3}}` onto `/spec/a` and `/status/d` is
//! `{"spec": {"a": 1}, "status": {}}`: objects on the way are kept, because a patch need not create them,
//! and everything beside the paths is absent, so that no comparison of two projections can touch it.

use serde_json::{Map, Value};

use crate::DuckPath;
use crate::error::DuckError;
use crate::path::pointer;

/// The projection of `root` onto `paths`.
pub(crate) fn project(duck: &'static str, paths: &[DuckPath], root: &Value) -> Result<Value, DuckError> {
    let mut out = Map::new();
    for path in paths {
        let mut from = root;
        let mut to = &mut out;
        let segments: Vec<String> = path.segments().map(Into::into).collect();
        let Some((last, ancestors)) = segments.split_last() else { continue };
        let mut steps = 0_usize;
        let parent = loop {
            let Value::Object(fields) = from else {
                if from.is_null() {
                    break None;
                }
                return Err(DuckError::not_an_object(duck, pointer(segments.iter().take(steps)), from));
            };
            let Some(name) = ancestors.get(steps) else { break Some((fields, to)) };
            let Some(next) = fields.get(name) else { break None };
            steps = steps.saturating_add(1);
            if next.is_null() {
                to.entry(name).or_insert(Value::Null);
                break None;
            }
            let Some(below) = descend(to, name) else { break None };
            (from, to) = (next, below);
        };
        if let Some((fields, to)) = parent
            && let Some(value) = fields.get(last)
        {
            to.insert(last.clone(), value.clone());
        }
    }
    Ok(Value::Object(out))
}

fn descend<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    fields.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// The value at a path, which leads through objects only.
pub(crate) fn get<'a>(root: &'a Value, path: &DuckPath) -> Option<&'a Value> {
    path.segments().try_fold(root, |current, segment| current.as_object()?.get(&*segment))
}

/// Puts a value at a path, creating the objects on the way.
pub(crate) fn set(root: &mut Value, path: &DuckPath, value: Value) {
    let mut current = root;
    for segment in path.segments() {
        if !current.is_object() {
            *current = Value::Object(Map::new());
        }
        let Value::Object(fields) = current else { return };
        current = fields.entry(&*segment).or_insert(Value::Null);
    }
    *current = value;
}

/// Removes the value at a path, and nothing above it.
pub(crate) fn remove(root: &mut Value, path: &DuckPath) {
    let segments: Vec<String> = path.segments().map(Into::into).collect();
    let Some((last, ancestors)) = segments.split_last() else { return };
    let parent = ancestors.iter().try_fold(root, |current, name| current.as_object_mut()?.get_mut(name));
    if let Some(Value::Object(fields)) = parent {
        fields.remove(last);
    }
}
