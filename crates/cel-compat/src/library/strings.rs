//! Functions on strings, counted in characters as Kubernetes' string library counts them.

use std::sync::Arc;

use crate::value::Value;

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::Native;

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("startsWith", |meter, arguments| test(meter, arguments, |this, other| this.starts_with(other))),
    ("endsWith", |meter, arguments| test(meter, arguments, |this, other| this.ends_with(other))),
    ("contains", |meter, arguments| test(meter, arguments, |this, other| this.contains(other))),
    ("lowerAscii", |meter, arguments| change(meter, arguments, str::to_ascii_lowercase)),
    ("upperAscii", |meter, arguments| change(meter, arguments, str::to_ascii_uppercase)),
    ("trim", |meter, arguments| change(meter, arguments, |this| this.trim().to_owned())),
    ("charAt", char_at),
    ("split", split),
    ("replace", replace),
    ("substring", substring),
    ("join", join),
    // A key in the path of a JSON patch; expressions of mutations have it.
    ("jsonpatch.escapeKey", |meter, arguments| {
        change(meter, arguments, |key| key.replace('~', "~0").replace('/', "~1"))
    }),
];

fn test(meter: &Meter, arguments: &[Value], test: impl Fn(&str, &str) -> bool) -> Result<Value, EvalError> {
    let [Value::String(this), Value::String(other)] = arguments else {
        return Err(EvalError::no_overload());
    };
    meter.steps(this.len().checked_div(64).unwrap_or(0))?;
    Ok(Value::Bool(test(this, other)))
}

fn change(meter: &Meter, arguments: &[Value], change: impl Fn(&str) -> String) -> Result<Value, EvalError> {
    let [Value::String(this)] = arguments else {
        return Err(EvalError::no_overload());
    };
    meter.bytes(this.len())?;
    Ok(Value::string(change(this)))
}

/// A position in a string, which may be its end.
fn offset(this: &str, index: i64) -> Result<usize, EvalError> {
    let out_of_range = || EvalError::Failed(format!("index out of range: {index}"));
    let wanted = usize::try_from(index).map_err(|_| out_of_range())?;
    let ends = this.char_indices().map(|(at, _)| at).chain([this.len()]);
    ends.into_iter().nth(wanted).ok_or_else(out_of_range)
}

fn char_at(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let [Value::String(this), Value::Int(index)] = arguments else {
        return Err(EvalError::no_overload());
    };
    meter.steps(this.len().checked_div(8).unwrap_or(0))?;
    let at = offset(this, *index)?;
    let found = this.get(at..).and_then(|rest| rest.chars().next());
    Ok(Value::string(found.map_or_else(String::new, String::from)))
}

fn substring(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (this, start, end) = match arguments {
        [Value::String(this), Value::Int(start)] => (this, *start, None),
        [Value::String(this), Value::Int(start), Value::Int(end)] => (this, *start, Some(*end)),
        _ => return Err(EvalError::no_overload()),
    };
    meter.bytes(this.len())?;
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(EvalError::Failed(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let from = offset(this, start)?;
    let to = end.map_or(Ok(this.len()), |end| offset(this, end))?;
    Ok(Value::string(this.get(from..to).unwrap_or_default()))
}

fn split(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (this, separator, limit) = match arguments {
        [Value::String(this), Value::String(separator)] => (this, separator, -1),
        [Value::String(this), Value::String(separator), Value::Int(limit)] => (this, separator, *limit),
        _ => return Err(EvalError::no_overload()),
    };
    meter.elements(this.len())?;
    let limit = match limit {
        0 => return Ok(Value::List(Arc::default())),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let parts: Vec<_> = if separator.is_empty() {
        characters(this, limit)
    } else {
        this.splitn(limit, &**separator).map(Value::string).collect()
    };
    Ok(Value::List(Arc::new(parts)))
}

/// A string split between all its characters into at most `limit` parts.
fn characters(this: &str, limit: usize) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut rest = this;
    while let Some(first) = rest.chars().next() {
        if parts.len().saturating_add(1) >= limit {
            parts.push(Value::string(rest));
            break;
        }
        parts.push(Value::string(first.to_string()));
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    parts
}

fn replace(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (this, old, new, limit) = match arguments {
        [Value::String(this), Value::String(old), Value::String(new)] => (this, old, new, -1),
        [Value::String(this), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (this, old, new, *limit)
        }
        _ => return Err(EvalError::no_overload()),
    };
    // Each replacement adds at most the new string; an empty old one is found between all characters.
    let found = this.len().checked_div(old.len()).unwrap_or(this.len()).saturating_add(1);
    meter.bytes(this.len().saturating_add(found.saturating_mul(new.len())))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(Value::string(this.replacen(&**old, new, limit)))
}

fn join(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (list, separator) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(EvalError::no_overload()),
    };
    let mut parts = Vec::with_capacity(list.len());
    let mut length = 0_usize;
    for element in list.iter() {
        let Value::String(part) = element else {
            return Err(EvalError::failed("no such overload: join"));
        };
        length = length.saturating_add(part.len()).saturating_add(separator.len());
        parts.push(&**part);
    }
    meter.bytes(length)?;
    Ok(Value::string(parts.join(separator)))
}
