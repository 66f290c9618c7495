//! `json.patch`. Source: OPA `topdown/json.go` and `internal/edittree`.
//!
//! Values are changed in place where they are not shared, and copied otherwise. Sets are patched too: their elements are
//! their own keys.

use std::sync::Arc;

use crate::value::{Array, Number, Object, Set, Value};

use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};

use super::path::parsed;

/// `json.patch(document, operations)`.
pub(in crate::builtin) fn patch(args: &[&Value]) -> Outcome {
    let answer = operand::array(args, 1).and_then(|operations| {
        let root = args.first().copied().cloned().ok_or(CallError::Failed)?;
        let mut document = Document { closed: !is_compound(&root), root };
        for operation in operations.iter() {
            let Value::Object(operation) = operation else {
                return Err(CallError::Failed);
            };
            document.apply(operation)?;
        }
        Ok(document.root)
    });
    answer.into()
}

/// The document that is patched. OPA's tree cannot be entered once its root was taken out, or was a single value to
/// begin with.
struct Document {
    root: Value,
    closed: bool,
}

/// Levels of a document; deeper ones are a risk to the stack of those who walk them.
const MOST_DEPTH: usize = 512;

fn height(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(height).max(),
        Value::Set(items) => items.iter().map(height).max(),
        Value::Object(pairs) => pairs.iter().map(|(key, value)| height(key).max(height(value))).max(),
        _ => return 0,
    };
    below.unwrap_or(0).saturating_add(1)
}

const fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_) | Value::Set(_))
}

impl Document {
    fn apply(&mut self, operation: &Object) -> Result<(), CallError> {
        let field = |name: &str| operation.get(&Value::from(name));
        let path = field("path").ok_or(CallError::Failed)?;
        let name = match field("op").ok_or(CallError::Failed)? {
            Value::String(name) => name,
            _ => return Err(CallError::Failed),
        };
        let path = parsed(path)?;
        let value = || field("value").cloned().ok_or(CallError::Failed);
        let from = || field("from").ok_or(CallError::Failed).and_then(parsed);
        match &**name {
            "add" => self.insert(&path, value()?),
            "remove" => self.remove(&path),
            "replace" => {
                self.remove(&path)?;
                self.insert(&path, value()?)
            }
            "move" => {
                let from = from()?;
                let part = self.find(&from)?;
                self.remove(&from)?;
                self.insert(&path, part)
            }
            "copy" => {
                let part = self.find(&from()?)?;
                self.insert(&path, part)
            }
            "test" if self.find(&path)? == value()? => Ok(()),
            // A test that fails, and an operation that there is not.
            _ => Err(CallError::Failed),
        }
    }

    fn enter(&self, path: &[Value]) -> Result<(), CallError> {
        if self.closed && !path.is_empty() { Err(CallError::Failed) } else { Ok(()) }
    }

    fn find(&self, path: &[Value]) -> Result<Value, CallError> {
        self.enter(path)?;
        find(&self.root, path).cloned()
    }

    fn insert(&mut self, path: &[Value], new: Value) -> Result<(), CallError> {
        self.enter(path)?;
        if path.len().saturating_add(height(&new)) > MOST_DEPTH {
            return Err(CallError::Excess);
        }
        insert(&mut self.root, path, new)
    }

    fn remove(&mut self, path: &[Value]) -> Result<(), CallError> {
        let from_list = matches!(self.root, Value::Array(_)) && path.len() == 1;
        if !from_list {
            self.enter(path)?;
        }
        self.closed |= path.is_empty();
        remove(&mut self.root, path)
    }
}

/// Returns the place in an array that a key names; `-` is behind the last.
fn place(key: &Value, length: usize) -> Result<usize, CallError> {
    let index = match key {
        Value::String(text) if **text == *"-" => Some(length),
        Value::String(text) if **text == *"0" || !text.starts_with('0') => {
            Number::spelled(text).as_i64().and_then(|index| usize::try_from(index).ok())
        }
        Value::Number(number) => number.as_i64().and_then(|index| usize::try_from(index).ok()),
        _ => None,
    };
    index.ok_or(CallError::Failed)
}

fn find<'v>(value: &'v Value, path: &[Value]) -> Result<&'v Value, CallError> {
    let Some((key, rest)) = path.split_first() else {
        return if matches!(value, Value::Undefined) { Err(CallError::Failed) } else { Ok(value) };
    };
    let child = match value {
        Value::Object(pairs) => pairs.get(key),
        Value::Array(items) => items.get(place(key, items.len())?),
        Value::Set(items) => items.iter().find(|item| *item == key),
        _ => None,
    };
    find(child.ok_or(CallError::Failed)?, rest)
}

fn insert(value: &mut Value, path: &[Value], new: Value) -> Result<(), CallError> {
    let Some((key, rest)) = path.split_first() else {
        *value = new;
        return Ok(());
    };
    if !rest.is_empty() {
        return within(value, key, |child| insert(child, rest, new));
    }
    match value {
        Value::Object(pairs) => {
            let pairs = Arc::make_mut(pairs);
            // The key is spelled as it was inserted last.
            pairs.remove(key);
            pairs.insert(key.clone(), new);
            Ok(())
        }
        Value::Array(items) => {
            let mut items = items.to_vec();
            let place = place(key, items.len())?;
            if place > items.len() {
                return Err(CallError::Failed);
            }
            items.insert(place, new);
            *value = Array::from(items).into_value();
            Ok(())
        }
        Value::Set(items) if *key == new => {
            let items = Arc::make_mut(items);
            items.insert(new);
            Ok(())
        }
        _ => Err(CallError::Failed),
    }
}

fn remove(value: &mut Value, path: &[Value]) -> Result<(), CallError> {
    let Some((key, rest)) = path.split_first() else {
        *value = Value::Undefined;
        return Ok(());
    };
    if !rest.is_empty() {
        return within(value, key, |child| remove(child, rest));
    }
    match value {
        Value::Object(pairs) => Arc::make_mut(pairs).remove(key).map(drop).ok_or(CallError::Failed),
        Value::Array(items) => {
            let mut items = items.to_vec();
            let place = place(key, items.len())?;
            if place >= items.len() {
                return Err(CallError::Failed);
            }
            items.remove(place);
            *value = Array::from(items).into_value();
            Ok(())
        }
        Value::Set(items) if items.iter().any(|item| item == key) => {
            *value = items.iter().filter(|item| *item != key).cloned().collect::<Set>().into_value();
            Ok(())
        }
        _ => Err(CallError::Failed),
    }
}

/// Changes the part under a key. An element of a set is taken out, changed, and put back.
fn within(
    value: &mut Value,
    key: &Value,
    change: impl FnOnce(&mut Value) -> Result<(), CallError>,
) -> Result<(), CallError> {
    let mut child = find(value, std::slice::from_ref(key))?.clone();
    change(&mut child)?;
    match value {
        Value::Object(pairs) => {
            let pairs = Arc::make_mut(pairs);
            let spelled = pairs.key(key).cloned().unwrap_or_else(|| key.clone());
            pairs.insert(spelled, child);
        }
        Value::Array(items) => {
            let place = place(key, items.len())?;
            let items =
                items.iter().enumerate().map(|(index, item)| if index == place { &child } else { item });
            *value = items.cloned().collect::<Array>().into_value();
        }
        Value::Set(items) => {
            let others = items.iter().filter(|item| *item != key).cloned();
            *value = others.chain([child]).collect::<Set>().into_value();
        }
        _ => return Err(CallError::Failed),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_does_not_nest_without_end() {
        let operations: Vec<Value> = (1..2_000)
            .map(|depth| format!(r#"{{"op": "add", "path": "{}", "value": {{}}}}"#, "/a".repeat(depth)))
            .map(|text| Value::from_json_str(&text).unwrap())
            .collect();
        let patched = patch(&[&Value::new_object(), &Value::from(operations)]);
        assert!(patched == Outcome::Error(CallError::Excess), "{patched:?}");
    }
}
