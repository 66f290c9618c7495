//! `json.filter` and `json.remove`: documents cut by paths into them. Source: OPA `topdown/json.go`.

use crate::value::{Array, Object, Set, Value};

use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};

/// `json.filter(x, paths)`: what is at or below the paths.
pub(in crate::builtin) fn filter(args: &[&Value]) -> Outcome {
    let kept = || {
        operand::object(args, 0)?;
        Ok::<_, CallError>(filtered(args.first().copied().unwrap_or(&Value::Null), &tree(&paths(args)?)))
    };
    kept().into()
}

/// `json.remove(x, paths)`: all but that.
pub(in crate::builtin) fn remove(args: &[&Value]) -> Outcome {
    let rest = || {
        operand::object(args, 0)?;
        let rest = removed(args.first().copied().unwrap_or(&Value::Null), Some(&tree(&paths(args)?)));
        Ok::<_, CallError>(rest.unwrap_or(Value::Undefined))
    };
    rest().into()
}

fn paths(args: &[&Value]) -> Result<Vec<Vec<Value>>, CallError> {
    match args.get(1).copied() {
        Some(Value::Array(paths)) => paths.iter().map(parsed).collect(),
        Some(Value::Set(paths)) => paths.iter().map(parsed).collect(),
        _ => Err(CallError::Failed),
    }
}

/// A JSON pointer, or an array of keys. Several slashes at the beginning are one.
pub(in crate::builtin) fn parsed(path: &Value) -> Result<Vec<Value>, CallError> {
    match path {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => {
            let key = |part| Value::from(unescaped(part));
            Ok(text.trim_start_matches('/').split('/').map(key).collect())
        }
        Value::Array(keys) => Ok(keys.to_vec()),
        _ => Err(CallError::Failed),
    }
}

/// Returns the key that a part of a JSON pointer stands for.
pub(in crate::builtin) fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Returns the paths in one object: null where one ends.
fn tree(paths: &[Vec<Value>]) -> Value {
    let mut root = Value::new_object();
    for path in paths {
        if let Some((last, above)) = path.split_last() {
            plant(&mut root, above, last);
        }
    }
    root
}

fn plant(node: &mut Value, above: &[Value], last: &Value) {
    // A path below the end of another adds nothing.
    let Ok(pairs) = node.as_object_mut() else { return };
    match above.split_first() {
        None => drop(pairs.insert(last.clone(), Value::Null)),
        Some((key, rest)) => {
            if let Some(child) = pairs.get_or_insert_with(key.clone(), Value::new_object) {
                plant(child, rest, last);
            }
        }
    }
}

fn filtered(value: &Value, tree: &Value) -> Value {
    let Value::Object(wanted) = tree else {
        return value.clone();
    };
    match value {
        Value::Array(items) => {
            let kept = items
                .iter()
                .enumerate()
                .filter_map(|(at, item)| Some(filtered(item, wanted.get(&index(at))?)));
            kept.collect::<Array>().into_value()
        }
        Value::Set(items) => {
            let kept = items.iter().filter_map(|item| Some(filtered(item, wanted.get(item)?)));
            kept.collect::<Set>().into_value()
        }
        Value::Object(pairs) if pairs.len() < wanted.len() => {
            let kept = pairs
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), filtered(value, wanted.get(key)?))));
            kept.collect::<Object>().into_value()
        }
        Value::Object(pairs) => {
            let kept =
                wanted.iter().filter_map(|(key, tree)| Some((key.clone(), filtered(pairs.get(key)?, tree))));
            kept.collect::<Object>().into_value()
        }
        scalar => scalar.clone(),
    }
}

/// Returns what is left of a value; nothing where a path ends.
fn removed(value: &Value, tree: Option<&Value>) -> Option<Value> {
    let unwanted = match tree {
        Some(Value::Object(unwanted)) => unwanted,
        Some(Value::Null) => return None,
        _ => return Some(value.clone()),
    };
    Some(match value {
        Value::Array(items) => {
            let rest =
                items.iter().enumerate().filter_map(|(at, item)| removed(item, unwanted.get(&index(at))));
            rest.collect::<Array>().into_value()
        }
        Value::Set(items) => {
            items.iter().filter_map(|item| removed(item, unwanted.get(item))).collect::<Set>().into_value()
        }
        Value::Object(pairs) => {
            let rest = pairs
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), removed(value, unwanted.get(key))?)));
            rest.collect::<Object>().into_value()
        }
        scalar => scalar.clone(),
    })
}

/// Returns the index of an array element as a path has it: as a string.
fn index(at: usize) -> Value {
    Value::from(at.to_string())
}
