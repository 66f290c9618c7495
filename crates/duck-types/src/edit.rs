//! From an edited duck to the state of the object that it asks for.

use std::cell::Cell;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::diff::{DuckDiff, Identity};
use crate::error::DuckError;
use crate::projection::{get, project, remove, set};
use crate::target::{ATTEMPTS, Transfer};
use crate::view::from_projection;
use crate::{DuckPath, DuckType, Place};

/// The values that a type reads again to answer questions about one edit.
const READ_AGAIN: usize = 1 << 22;

/// The questions to a type that are left. Each is a read of the whole duck, so there are few about a large one: an object
/// with very many members, which anyone may write, must not keep an edit busy for minutes.
struct Questions(Cell<usize>);

impl Questions {
    fn about(value: &Value) -> Self {
        Self(Cell::new(READ_AGAIN.checked_div(size(value)).unwrap_or_default().max(64)))
    }

    /// Takes one; false if none is left.
    fn take(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

/// The number of values, this one included.
fn size(value: &Value) -> usize {
    let below: usize = match value {
        Value::Object(fields) => fields.values().map(size).sum(),
        Value::Array(items) => items.iter().map(size).sum(),
        _ => 0,
    };
    below.saturating_add(1)
}

/// Compares `edited` with `original`, both views of `root`, and works out the difference for the object.
///
/// The result is read back: the typed view of the target equals the edited view, as far as its JSON form says.
pub(crate) fn diff<T: DuckType + Serialize + PartialEq>(
    identity: Identity,
    root: &Value,
    original: Option<&T>,
    edited: &T,
) -> Result<DuckDiff, DuckError> {
    let place = T::PLACE;
    let observed = project(T::NAME, place.paths(), root)?;
    let after = Written::of(edited)?;
    let intent = at_place(&place, Value::Object(Map::new()), after.json.clone());
    let target = match original {
        Some(original) if original == edited => observed.clone(),
        Some(original) => target(&observed, original, edited, &after)?,
        None => after.confirm(edited, at_place(&place, observed.clone(), after.json.clone()), true)?,
    };
    Ok(DuckDiff { duck: T::NAME, identity, observed, target, intent })
}

/// The JSON form of a view, and the view that this JSON form reads back as.
struct Written<T> {
    json: Value,
    view: Option<T>,
    /// The form reads back as the same value, apart from what no JSON form shows, such as a field with `#[serde(skip)]`.
    carries_all: bool,
}

impl<T: DuckType + Serialize + PartialEq> Written<T> {
    fn of(duck: &T) -> Result<Self, DuckError> {
        let unwritable = |message: String| DuckError::Unwritable { duck: T::NAME, message };
        let json = serde_json::to_value(duck).map_err(|error| unwritable(error.to_string()))?;
        if json.is_null() {
            return Ok(Self { json, view: None, carries_all: true });
        }
        let view: T = serde_json::from_value(json.clone())
            .map_err(|error| unwritable(format!("its JSON form does not read back: {error}")))?;
        let again = || serde_json::to_value(&view).ok();
        let carries_all =
            view == *duck || again().is_some_and(|again| without_order(again) == without_order(json.clone()));
        Ok(Self { json: without_nulls(json, &view), view: Some(view), carries_all })
    }

    /// Returns `target` if it reads as the edited duck. With `lossy`, what the JSON form does not show may differ.
    fn confirm(&self, edited: &T, target: Value, lossy: bool) -> Result<Value, DuckError> {
        let fits = match (&self.view, from_projection::<T>(&target)) {
            (_, Ok(read)) if read == *edited => true,
            (Some(view), Ok(read)) => lossy && self.carries_all && read == *view,
            (None, Err(error)) => error.is_missing(),
            _ => false,
        };
        if fits { Ok(target) } else { Err(not_faithful(T::NAME)) }
    }
}

/// Sorts all lists, because a hash set has another order each time it is read.
fn without_order(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(without_order).collect();
            items.sort_by_cached_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, without_order(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// The observed projection with the edit in it, from the first attempt that reads back as the edited view.
fn target<T: DuckType + Serialize + PartialEq>(
    observed: &Value,
    original: &T,
    edited: &T,
    after: &Written<T>,
) -> Result<Value, DuckError> {
    let place = T::PLACE;
    let before = Written::of(original)?;
    let nothing = Value::Null;
    let seen = match &place {
        Place::At(path) => get(observed, path).unwrap_or(&nothing),
        Place::Across(_) => observed,
    };
    let read = |value: Value| from_projection::<T>(&at_place(&place, observed.clone(), value));
    // A member that holds a default makes no difference when it goes, but no reader takes this value for one.
    let nonsense = serde_json::json!([{"": [0.5, {}]}]);
    let questions = Questions::about(seen);
    let is_read = |steps: &[String]| {
        if !questions.take() {
            return false;
        }
        let (mut without, mut other) = (seen.clone(), seen.clone());
        remove_at(&mut without, steps);
        if let Some(member) = member_at(&mut other, steps) {
            *member = nonsense.clone();
        }
        [without, other].into_iter().any(|value| read(value).as_ref() != Ok(original))
    };
    let view_without = |steps: &[String]| {
        if !questions.take() {
            return None;
        }
        let mut without = seen.clone();
        remove_at(&mut without, steps);
        serde_json::to_value(read(without).ok()?).ok()
    };
    // A type that loses values in writing would lose them silently: then only the edited duck itself will do.
    let lossy = before.carries_all && before.view.as_ref().is_none_or(|view| view == original);
    let mut result = Err(not_faithful(T::NAME));
    for care in ATTEMPTS {
        let (is_read, view_without) = (&is_read, &view_without);
        let transfer = Transfer { care, list_maps: T::LIST_MAPS, is_read, view_without };
        let value = transfer.target(&before.json, &after.json, seen);
        result = after.confirm(edited, at_place(&place, observed.clone(), value), lossy);
        if result.is_ok() {
            break;
        }
    }
    result
}

fn not_faithful(duck: &'static str) -> DuckError {
    let message = "no change of the fields that the type reads gives the edited value; fields outside of its \
                   paths, or a Serialize that does not mirror Deserialize, can be the cause";
    DuckError::Unwritable { duck, message: message.to_owned() }
}

/// Puts the JSON form of a view where it belongs. Objects on the way stay, also when the value is removed.
fn at_place(place: &Place, mut projection: Value, value: Value) -> Value {
    let mut put = |path: &DuckPath, value: Option<&Value>| match value {
        Some(value) => set(&mut projection, path, value.clone()),
        None => remove(&mut projection, path),
    };
    match place {
        Place::At(path) => put(path, Some(&value).filter(|value| !value.is_null())),
        Place::Across(paths) => paths.iter().for_each(|path| put(path, get(&value, path))),
    }
    projection
}

/// Leaves out the null members that make no difference to the view, such as a `None` without
/// `skip_serializing_if`. A null entry of a map, or of an untyped value, stays.
///
/// All nulls are tried at once, and halves of them where that changes the view. Those that are not tried stay.
fn without_nulls<T: DuckType + PartialEq>(json: Value, view: &T) -> Value {
    let mut nulls = Vec::new();
    find_nulls(&json, &mut Vec::new(), &mut nulls);
    let same = |json: &Value| T::deserialize(json).is_ok_and(|read| read == *view);
    let questions = Questions::about(&json);
    let mut json = json;
    let mut open = vec![nulls];
    while let Some(group) = open.pop().filter(|_| questions.take()) {
        let mut without = json.clone();
        group.iter().for_each(|steps| remove_at(&mut without, steps));
        if same(&without) {
            json = without;
        } else if let Some((first, second)) =
            group.split_at_checked(group.len().div_euclid(2)).filter(|(first, _)| !first.is_empty())
        {
            open.extend([first.to_vec(), second.to_vec()]);
        }
    }
    json
}

fn find_nulls(value: &Value, at: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                at.push(name.clone());
                if value.is_null() {
                    out.push(at.clone());
                }
                find_nulls(value, at, out);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                at.push(index.to_string());
                find_nulls(value, at, out);
                at.pop();
            }
        }
        _ => {}
    }
}

/// Removes a member of an object or an element of a list.
fn remove_at(value: &mut Value, steps: &[String]) {
    let Some((last, ancestors)) = steps.split_last() else { return };
    match (member_at(value, ancestors), last.parse::<usize>()) {
        (Some(Value::Object(fields)), _) => drop(fields.remove(last)),
        (Some(Value::Array(items)), Ok(index)) if index < items.len() => drop(items.remove(index)),
        _ => {}
    }
}

fn member_at<'a>(value: &'a mut Value, steps: &[String]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |current, step| match current {
        Value::Object(fields) => fields.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}
