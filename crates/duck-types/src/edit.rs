//! From an edited duck to the state of the object that it asks for.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::diff::{DuckDiff, Identity};
use crate::error::DuckError;
use crate::projection::{get, project, remove, set};
use crate::target::{ATTEMPTS, Transfer};
use crate::view::from_projection;
use crate::{DuckPath, DuckType, Place};

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
        Some(original) => target(&observed, original, &after)?,
        None => confirmed(at_place(&place, observed.clone(), after.json.clone()), &after)?,
    };
    Ok(DuckDiff { duck: T::NAME, identity, observed, target, intent })
}

/// The JSON form of a view, and the view that this JSON form reads back as.
struct Written<T> {
    json: Value,
    view: Option<T>,
}

impl<T: DuckType + Serialize + PartialEq> Written<T> {
    fn of(duck: &T) -> Result<Self, DuckError> {
        let unwritable = |message: String| DuckError::Unwritable { duck: T::NAME, message };
        let json = serde_json::to_value(duck).map_err(|error| unwritable(error.to_string()))?;
        if json.is_null() {
            return Ok(Self { json, view: None });
        }
        let view: T = serde_json::from_value(json.clone())
            .map_err(|error| unwritable(format!("its JSON form does not read back: {error}")))?;
        Ok(Self { json: without_nulls(json, &view), view: Some(view) })
    }
}

/// The observed projection with the edit in it, from the first attempt that reads back as the edited view.
fn target<T: DuckType + Serialize + PartialEq>(
    observed: &Value,
    original: &T,
    after: &Written<T>,
) -> Result<Value, DuckError> {
    let place = T::PLACE;
    let before = Written::of(original)?.json;
    let nothing = Value::Null;
    let seen = match &place {
        Place::At(path) => get(observed, path).unwrap_or(&nothing),
        Place::Across(_) => observed,
    };
    let reads_otherwise = |value: &Value| {
        from_projection::<T>(&at_place(&place, observed.clone(), value.clone())).as_ref() != Ok(original)
    };
    // A member that holds a default makes no difference when it goes, but no reader takes this value for one.
    let nonsense = serde_json::json!([{"": [0.5, {}]}]);
    let is_read = |steps: &[String]| {
        let (mut without, mut other) = (seen.clone(), seen.clone());
        remove_at(&mut without, steps);
        if let Some(member) = member_at(&mut other, steps) {
            *member = nonsense.clone();
        }
        reads_otherwise(&without) || reads_otherwise(&other)
    };
    let mut result = Err(not_faithful(T::NAME));
    for care in ATTEMPTS {
        let transfer = Transfer { care, list_maps: T::LIST_MAPS, is_read: &is_read };
        let value = transfer.target(&before, &after.json, seen);
        result = confirmed(at_place(&place, observed.clone(), value), after);
        if result.is_ok() {
            break;
        }
    }
    result
}

fn confirmed<T: DuckType + PartialEq>(target: Value, after: &Written<T>) -> Result<Value, DuckError> {
    match (&after.view, from_projection::<T>(&target)) {
        (Some(edited), Ok(read)) if read == *edited => Ok(target),
        (None, Err(error)) if error.is_missing() => Ok(target),
        _ => Err(not_faithful(T::NAME)),
    }
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
/// All nulls are tried at once, and halves of them where that changes the view.
fn without_nulls<T: DuckType + PartialEq>(json: Value, view: &T) -> Value {
    let mut nulls = Vec::new();
    find_nulls(&json, &mut Vec::new(), &mut nulls);
    let same = |json: &Value| T::deserialize(json).is_ok_and(|read| read == *view);
    let mut json = json;
    let mut open = vec![nulls];
    while let Some(group) = open.pop() {
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

/// Removes a member of an object; the steps before it lead through objects and lists.
fn remove_at(value: &mut Value, steps: &[String]) {
    let Some((last, ancestors)) = steps.split_last() else { return };
    if let Some(Value::Object(fields)) = member_at(value, ancestors) {
        fields.remove(last);
    }
}

fn member_at<'a>(value: &'a mut Value, steps: &[String]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |current, step| match current {
        Value::Object(fields) => fields.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}
