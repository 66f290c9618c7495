//! Functions on lists and sets, and those that texts have too: `size`, `indexOf`, `lastIndexOf`.

use std::cmp::Ordering;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::value::Value;

use super::super::compare::{is_same, order, sort_by};
use super::super::error::EvalError;
use super::super::meter::Meter;
use super::super::operator::add;
use super::super::types::Type;
use super::Native;

/// The longest list that `lists.range` makes; cel-go's bound.
const LONGEST_RANGE: i64 = 1_000_000;

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("size", size),
    ("indexOf", |meter, arguments| index_of(meter, arguments, false)),
    ("lastIndexOf", |meter, arguments| index_of(meter, arguments, true)),
    ("distinct", distinct),
    ("flatten", flatten),
    ("first", |_, arguments| Ok(Value::optional(list(arguments)?.first().cloned()))),
    ("last", |_, arguments| Ok(Value::optional(list(arguments)?.last().cloned()))),
    ("reverse", reverse),
    ("slice", slice),
    ("sort", sort),
    ("isSorted", is_sorted),
    ("min", |meter, arguments| extreme(meter, arguments, "min", Ordering::Less)),
    ("max", |meter, arguments| extreme(meter, arguments, "max", Ordering::Greater)),
    ("sum", sum_of(&Type::Int)),
    ("unwrapOpt", unwrap_all),
    ("optional.unwrap", unwrap_all),
    ("lists.range", range),
    ("sets.contains", |meter, arguments| sets(meter, arguments, contains_all)),
    ("sets.equivalent", |meter, arguments| {
        sets(meter, arguments, |meter, a, b| Ok(contains_all(meter, a, b)? && contains_all(meter, b, a)?))
    }),
    ("sets.intersects", |meter, arguments| sets(meter, arguments, intersects)),
];

/// The code of `sum` with this result: the sum of an empty list is the zero of the type that its elements are declared with.
pub(in super::super) const fn sum_of(result: &Type) -> Native {
    match result {
        Type::Double => |meter, arguments| sum(meter, arguments, Value::Float(0.0)),
        Type::Duration => |meter, arguments| sum(meter, arguments, Value::Duration(TimeDelta::zero())),
        Type::Uint => |meter, arguments| sum(meter, arguments, Value::Uint(0)),
        _ => |meter, arguments| sum(meter, arguments, Value::Int(0)),
    }
}

/// The list that is the first argument.
fn list(arguments: &[Value]) -> Result<&[Value], EvalError> {
    match arguments {
        [Value::List(list), ..] => Ok(list),
        _ => Err(EvalError::no_overload()),
    }
}

fn made(list: Vec<Value>) -> Value {
    Value::List(Arc::new(list))
}

fn int(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn size(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    match arguments {
        [Value::String(text)] => {
            meter.steps(text.len().checked_div(64).unwrap_or(0))?;
            Ok(int(text.chars().count()))
        }
        [Value::Bytes(bytes)] => Ok(int(bytes.len())),
        [Value::List(list)] => Ok(int(list.len())),
        [Value::Map(map)] => Ok(int(map.len())),
        _ => Err(EvalError::no_overload()),
    }
}

fn index_of(meter: &Meter, arguments: &[Value], is_last: bool) -> Result<Value, EvalError> {
    match arguments {
        [Value::List(list), wanted] => {
            let mut found = None;
            for (index, element) in list.iter().enumerate() {
                if is_same(meter, element, wanted)? {
                    found = Some(index);
                    if !is_last {
                        break;
                    }
                }
            }
            Ok(found.map_or(Value::Int(-1), int))
        }
        [Value::String(this), Value::String(wanted)] => text_index(meter, this, wanted, None, is_last),
        [Value::String(this), Value::String(wanted), Value::Int(offset)] => {
            text_index(meter, this, wanted, Some(*offset), is_last)
        }
        _ => Err(EvalError::no_overload()),
    }
}

/// Returns where a text stands in another, from `offset` on or, for the last one, up to it; in characters.
fn text_index(
    meter: &Meter,
    this: &str,
    wanted: &str,
    offset: Option<i64>,
    is_last: bool,
) -> Result<Value, EvalError> {
    meter.steps(this.len().checked_div(8).unwrap_or(0))?;
    let length = this.chars().count();
    let default = if is_last { length } else { 0 };
    let offset = match offset {
        Some(offset) => {
            usize::try_from(offset).map_err(|_| EvalError::Failed(format!("index out of range: {offset}")))?
        }
        None => default,
    };
    if wanted.is_empty() {
        return Ok(int(offset.min(length)));
    }
    // cel-go finds nothing from an offset behind the end, in either direction.
    if offset > length {
        return Ok(Value::Int(-1));
    }
    let at = |index: usize| this.char_indices().nth(index).map_or(this.len(), |(at, _)| at);
    let found = if is_last {
        let end = at(offset).saturating_add(wanted.len()).min(this.len());
        // The end may fall inside a character, where no match can end either.
        let end = (end..=this.len()).find(|end| this.is_char_boundary(*end)).unwrap_or(this.len());
        this.get(..end).and_then(|part| part.rfind(wanted))
    } else {
        let start = at(offset);
        this.get(start..).and_then(|part| part.find(wanted)).map(|found| found.saturating_add(start))
    };
    let index = found.and_then(|found| this.get(..found)).map(|before| before.chars().count());
    Ok(index.map_or(Value::Int(-1), int))
}

fn distinct(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let mut kept: Vec<Value> = Vec::new();
    for element in list(arguments)? {
        if !has(meter, &kept, element)? {
            kept.push(element.clone());
        }
    }
    Ok(made(kept))
}

fn has(meter: &Meter, list: &[Value], wanted: &Value) -> Result<bool, EvalError> {
    for element in list {
        if is_same(meter, wanted, element)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn flatten(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let depth = match arguments {
        [_] => 1,
        [_, Value::Int(depth)] => *depth,
        _ => return Err(EvalError::no_overload()),
    };
    let depth = usize::try_from(depth).map_err(|_| EvalError::failed("level must be non-negative"))?;
    let mut flat = Vec::new();
    flatten_into(meter, list(arguments)?, depth, &mut flat)?;
    Ok(made(flat))
}

fn flatten_into(meter: &Meter, list: &[Value], depth: usize, flat: &mut Vec<Value>) -> Result<(), EvalError> {
    for element in list {
        meter.elements(1)?;
        match (element, depth.checked_sub(1)) {
            (Value::List(inner), Some(depth)) => flatten_into(meter, inner, depth, flat)?,
            _ => flat.push(element.clone()),
        }
    }
    Ok(())
}

fn reverse(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let list = list(arguments)?;
    meter.elements(list.len())?;
    Ok(made(list.iter().rev().cloned().collect()))
}

fn slice(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else {
        return Err(EvalError::no_overload());
    };
    let refused = |reason: &str| EvalError::Failed(format!("cannot slice({start}, {end}), {reason}"));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(refused("negative indexes not supported"));
    };
    if from > to {
        return Err(refused("start index must be less than or equal to end index"));
    }
    let part = list.get(from..to).ok_or_else(|| refused(&format!("list is length {}", list.len())))?;
    meter.elements(part.len())?;
    Ok(made(part.to_vec()))
}

fn sort(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let list = list(arguments)?;
    meter.elements(list.len())?;
    let mut sorted = list.to_vec();
    sort_by(meter, &mut sorted, |element| element, "list elements must have the same type")?;
    Ok(made(sorted))
}

fn is_sorted(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let list = list(arguments)?;
    meter.steps(list.len())?;
    for (a, b) in list.iter().zip(list.iter().skip(1)) {
        if order(meter, a, b)? == Ordering::Greater {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn extreme(meter: &Meter, arguments: &[Value], name: &str, wanted: Ordering) -> Result<Value, EvalError> {
    let mut rest = list(arguments)?.iter();
    let Some(mut found) = rest.next() else {
        return Err(EvalError::Failed(format!("{name} called on empty list")));
    };
    for element in rest {
        meter.step()?;
        if order(meter, element, found)? == wanted {
            found = element;
        }
    }
    Ok(found.clone())
}

fn sum(meter: &Meter, arguments: &[Value], of_nothing: Value) -> Result<Value, EvalError> {
    let mut rest = list(arguments)?.iter();
    let Some(first) = rest.next() else {
        return Ok(of_nothing);
    };
    let is_number = |value: &Value| {
        matches!(value, Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Duration(_))
    };
    let mut total = first.clone();
    if !is_number(first) {
        return Err(EvalError::no_overload());
    }
    for element in rest {
        meter.step()?;
        total = add(meter, total, element.clone())?;
    }
    Ok(total)
}

fn unwrap_all(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let list = list(arguments)?;
    meter.elements(list.len())?;
    let mut unwrapped = Vec::new();
    for element in list {
        let inner = element.as_optional().ok_or_else(|| EvalError::failed("value is not an optional"))?;
        unwrapped.extend(inner.cloned());
    }
    Ok(made(unwrapped))
}

fn range(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let [Value::Int(length)] = arguments else {
        return Err(EvalError::no_overload());
    };
    if *length < 0 {
        return Err(EvalError::Failed(format!("lists.range: size must be non-negative, got {length}")));
    }
    if *length > LONGEST_RANGE {
        let message = format!("lists.range: size {length} exceeds maximum allowed ({LONGEST_RANGE})");
        return Err(EvalError::Failed(message));
    }
    meter.elements(usize::try_from(*length).unwrap_or(usize::MAX))?;
    Ok(made((0..*length).map(Value::Int).collect()))
}

type SetTest = fn(&Meter, &[Value], &[Value]) -> Result<bool, EvalError>;

fn sets(meter: &Meter, arguments: &[Value], test: SetTest) -> Result<Value, EvalError> {
    match arguments {
        [Value::List(a), Value::List(b)] => test(meter, a, b).map(Value::Bool),
        _ => Err(EvalError::no_overload()),
    }
}

fn contains_all(meter: &Meter, list: &[Value], wanted: &[Value]) -> Result<bool, EvalError> {
    for element in wanted {
        if !has(meter, list, element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(meter: &Meter, a: &[Value], b: &[Value]) -> Result<bool, EvalError> {
    for element in a {
        if has(meter, b, element)? {
            return Ok(true);
        }
    }
    Ok(false)
}
