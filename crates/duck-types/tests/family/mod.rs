//! A family of duck types with all collections that serde maps to a list, generated objects, and generated edits.
//!
//! Everything follows from one seed, so a failure is repeated with its seed alone.

mod random;
mod types;

use duck_types::{Duck, DuckDiff, DuckError, DuckPatch, DuckType, PatchPrecondition};
use kube::core::params::Patch;
use serde::Serialize;
use serde_json::{Value, json};

pub use random::Random;
pub use types::*;

/// A duck type of which values can be generated.
pub trait Member: DuckType + Serialize + PartialEq + std::fmt::Debug {
    /// Names of fields and their aliases.
    const ALIASES: &'static [(&'static str, &'static str)];

    fn generate(random: &mut Random) -> Self;
}

/// One case: an object that carries the duck, the edit, and what came of it.
pub struct Case<T> {
    pub object: Value,
    pub edited: T,
}

impl<T: Member> Case<T> {
    /// An object with unknown fields beside, above and inside the duck; nothing if the noise made it unreadable.
    pub fn generate(random: &mut Random) -> Option<Self> {
        let sample = serde_json::to_value(T::generate(random)).unwrap();
        let object = object_with::<T>(random, sample);
        let edited = if random.once_in(2) { T::generate(random) } else { Self::small_edit(random, &object)? };
        // serde cannot buffer numbers with `arbitrary_precision`: flattened and tagged types do not read back.
        serde_json::from_value::<T>(serde_json::to_value(&edited).unwrap())
            .ok()
            .filter(|read| *read == edited)?;
        duck::<T>(&object).view().ok().map(|_| Self { object, edited })
    }

    /// The duck of the object with one change in its JSON form, if that is readable.
    fn small_edit(random: &mut Random, object: &Value) -> Option<T> {
        let mut json = serde_json::to_value(duck::<T>(object).view().ok()?).ok()?;
        random.change(&mut json);
        serde_json::from_value(json).ok()
    }

    pub fn diff(&self) -> Result<DuckDiff, DuckError> {
        duck::<T>(&self.object).edit(|duck| *duck = copy(&self.edited))
    }
}

pub fn duck<T>(object: &Value) -> Duck<T> {
    serde_json::from_value(object.clone()).unwrap()
}

/// The members of the family are not all `Clone`; the JSON form carries all of each.
pub fn copy<T: Member>(value: &T) -> T {
    serde_json::from_value(serde_json::to_value(value).unwrap()).unwrap()
}

fn object_with<T: Member>(random: &mut Random, sample: Value) -> Value {
    let mut object = json!({
        "apiVersion": "ducks.test.webtroller.dev/v1", "kind": "Pond",
        "metadata": {"name": "pond", "namespace": "ns", "uid": "u1", "resourceVersion": "7"},
        "spec": {"beside": random.json(2)}, "status": {"beside": random.json(2)},
    });
    let place = T::PLACE;
    let several = place.paths().len() > 1;
    for path in place.paths() {
        let from = if several { sample.pointer(&path.to_string()).cloned() } else { Some(sample.clone()) };
        let Some(mut value) = from else { continue };
        random.disturb(&mut value, T::ALIASES);
        let mut at = &mut object;
        for segment in path.segments() {
            if !at.is_object() {
                *at = json!({});
            }
            at = at.as_object_mut().unwrap().entry(segment.into_owned()).or_insert(Value::Null);
        }
        *at = value;
    }
    object
}

/// Applies all patches, in order, as the API server does for JSON patches: each must pass its tests.
pub fn patched(object: &Value, patches: &[DuckPatch]) -> Result<Value, String> {
    let mut object = object.clone();
    for patch in patches {
        match &patch.patch {
            Patch::Json(patch) => {
                let mut patch = patch.clone();
                // The API server's test of null passes where there is nothing; RFC 6902 fails.
                patch.0.retain(|operation| {
                    let json = serde_json::to_value(operation).unwrap();
                    let absent = json["path"].as_str().is_some_and(|path| object.pointer(path).is_none());
                    !(json["op"] == "test" && json["value"].is_null() && absent)
                });
                json_patch::patch(&mut object, &patch).map_err(|error| error.to_string())?;
            }
            Patch::Merge(patch) => json_patch::merge(&mut object, &without_nulls_in_lists(patch)),
            other => return Err(format!("not simulated: {other:?}")),
        }
    }
    Ok(object)
}

/// The API server drops null members of the objects in a list of a merge patch; RFC 7386 keeps them.
fn without_nulls_in_lists(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), without_nulls_in_lists(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The object without what the duck's paths lead to. Objects on the way count only for what is left in them.
pub fn without_duck<T: DuckType>(object: &Value) -> Value {
    let mut object = object.clone();
    for path in T::PLACE.paths() {
        let segments: Vec<String> = path.segments().map(Into::into).collect();
        let (last, ancestors) = segments.split_last().unwrap();
        let parent = ancestors.iter().try_fold(&mut object, |at, name| at.get_mut(name));
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            parent.remove(last);
        }
    }
    strip(object)
}

fn strip(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, strip(value)));
            Value::Object(fields.filter(|(_, value)| *value != json!({})).collect::<serde_json::Map<_, _>>())
        }
        other => other,
    }
}

/// The promises about one case. The error names the broken one.
pub fn check<T: Member>(case: &Case<T>) -> Result<(), String> {
    let fail = |what: &str, detail: String| Err(format!("{} {what}: {detail}\n{}", T::NAME, case.object));
    let noop = duck::<T>(&case.object).edit(|_| {}).map_err(|error| format!("no-op edit: {error}"))?;
    let same = duck::<T>(&case.object).edit(|duck| *duck = copy(duck)).map_err(|error| error.to_string())?;
    for diff in [noop, same] {
        if !diff.is_empty() || !diff.json(PatchPrecondition::Version).unwrap().is_empty() {
            return fail("a no-op edit is a patch", format!("{diff:?}"));
        }
    }
    if serde_json::to_value(duck::<T>(&case.object)).unwrap() != case.object {
        return fail("does not go through unchanged", String::new());
    }
    let diff = match case.diff() {
        Ok(diff) => diff,
        Err(error) => return fail("cannot be edited", format!("{error} to {:?}", case.edited)),
    };
    let mut all = vec![("json", diff.json(PatchPrecondition::Version).unwrap())];
    match diff.merge() {
        Ok(patches) => all.push(("merge", patches)),
        Err(error) if error.to_string().contains("cannot write the null") => {}
        Err(error) => return fail("has no merge patch", error.to_string()),
    }
    match diff.json(PatchPrecondition::Leaves) {
        Ok(patches) => all.push(("leaves", patches)),
        Err(DuckError::Untestable { .. }) => {}
        Err(error) => return fail("has no JSON patch", error.to_string()),
    }
    check_apply(case, &diff)?;
    for (kind, patches) in all {
        if let Some(test) = bad_test(&patches) {
            return fail(kind, format!("has a test that the API server cannot do: {test}"));
        }
        let mut newer = case.object.clone();
        newer["metadata"]["uid"] = json!("u2");
        if !patches.is_empty() && kind != "merge" && patched(&newer, &patches).is_ok() {
            return fail(kind, "another object is patched".to_owned());
        }
        newer = case.object.clone();
        newer["metadata"]["resourceVersion"] = json!("8");
        if !patches.is_empty() && kind == "json" && patched(&newer, &patches).is_ok() {
            return fail(kind, "a newer object is patched".to_owned());
        }
        let result = match patched(&case.object, &patches) {
            Ok(result) => result,
            Err(error) => return fail(kind, format!("{error}: {patches:?}")),
        };
        if let Err(error) = case.confirm(&case.object, &result) {
            return fail(kind, format!("{error}: {patches:?}"));
        }
        let lost = lost_unknown::<T>(&case.object, &result);
        if let Some(lost) = lost.or_else(|| moved_unknown::<T>(&case.object, &result)) {
            return fail(kind, format!("loses the unknown field {lost}: {patches:?}"));
        }
    }
    Ok(())
}

/// The API server compares numbers as text, and ends a request without an answer where a `test` holds a null.
fn bad_test(patches: &[DuckPatch]) -> Option<Value> {
    fn is_bad(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.is_f64(),
            Value::Array(items) => items.iter().any(|item| item.is_null() || is_bad(item)),
            Value::Object(fields) => fields.values().any(|field| field.is_null() || is_bad(field)),
            _ => false,
        }
    }
    let json = patches.iter().filter_map(|patch| match &patch.patch {
        Patch::Json(patch) => Some(serde_json::to_value(patch).unwrap()),
        _ => None,
    });
    let operations = json.flat_map(|patch| patch.as_array().unwrap().clone());
    operations.into_iter().find(|operation| operation["op"] == "test" && is_bad(&operation["value"]))
}

/// The bodies of an apply hold the identity and the whole edited duck, and nothing else (K5).
fn check_apply<T: Member>(case: &Case<T>, diff: &DuckDiff) -> Result<(), String> {
    let resource = kube::core::ApiResource {
        group: "ducks.test.webtroller.dev".into(),
        version: "v1".into(),
        api_version: "ducks.test.webtroller.dev/v1".into(),
        kind: "Pond".into(),
        plural: "ponds".into(),
    };
    let identity = json!({
        "apiVersion": "ducks.test.webtroller.dev/v1", "kind": "Pond",
        "metadata": {"name": "pond", "namespace": "ns", "uid": "u1"},
    });
    let mut all = identity.clone();
    for apply in diff.apply(&resource, "manager").unwrap() {
        let Patch::Apply(body) = apply.patch else { return Err("not an apply".to_owned()) };
        if apply.params.force || without_duck::<T>(&body) != identity {
            return Err(format!("{}: an apply holds more than the duck: {body}", T::NAME));
        }
        all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    }
    case.confirm(&identity, &all).map_err(|error| format!("apply: {error}"))
}

/// The members called `unknown` at the top of the duck must survive every edit, unless the type knows all members.
fn lost_unknown<T: Member>(before: &Value, after: &Value) -> Option<String> {
    if serde_json::to_value(duck::<T>(before).view().ok()?).ok()?.get("unknown").is_some() {
        return None;
    }
    T::PLACE.paths().iter().map(|path| format!("{path}/unknown")).find(|pointer| {
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        let kept = after.pointer(parent).is_some_and(Value::is_object);
        kept && before.pointer(pointer).is_some() && after.pointer(pointer) != before.pointer(pointer)
    })
}

/// The member called `unknown` of a list element stays with the key of the element.
fn moved_unknown<T: DuckType>(before: &Value, after: &Value) -> Option<String> {
    let list = T::LIST_MAPS.first()?;
    let pointer = format!("{}{}", T::PLACE.paths().first()?, list.path);
    let by_key = |object: &Value| {
        let elements = object.pointer(&pointer)?.as_array()?.clone();
        let keyed =
            elements.iter().map(|element| Some((element.get(list.keys[0])?.to_string(), element.clone())));
        let found: std::collections::BTreeMap<_, _> = keyed.collect::<Option<_>>()?;
        (found.len() == elements.len()).then_some(found)
    };
    let (before, after) = (by_key(before)?, by_key(after)?);
    let moved = |(key, old): &(&String, &Value)| {
        after.get(*key).is_some_and(|new| new.get("unknown") != old.get("unknown"))
    };
    before.iter().find(moved).map(|(key, _)| format!("{pointer} of {key}"))
}

/// A case whose type is forgotten, for the API server.
pub trait AnyCase {
    fn object(&self) -> &Value;
    /// The patches of the edit for the object as it is stored; none for an edit that this kind cannot carry.
    fn patches(&self, stored: &Value, kind: usize) -> Result<Vec<DuckPatch>, String>;
    /// Compares the stored object with the edited view.
    fn confirm(&self, before: &Value, after: &Value) -> Result<(), String>;
}

impl<T: Member> AnyCase for Case<T> {
    fn object(&self) -> &Value {
        &self.object
    }

    fn patches(&self, stored: &Value, kind: usize) -> Result<Vec<DuckPatch>, String> {
        let diff = duck::<T>(stored).edit(|duck| *duck = copy(&self.edited));
        let diff = diff.map_err(|error| format!("{}: {error}", T::NAME))?;
        let patches = match kind % 3 {
            0 => diff.json(PatchPrecondition::Version),
            1 => diff.json(PatchPrecondition::Leaves).or_else(|_| diff.json(PatchPrecondition::Version)),
            _ => diff.merge().or_else(|_| diff.json(PatchPrecondition::Version)),
        };
        patches.map_err(|error| error.to_string())
    }

    fn confirm(&self, before: &Value, after: &Value) -> Result<(), String> {
        let view = duck::<T>(after).view();
        let gone = view.as_ref().is_err_and(DuckError::is_missing) && is_nothing(&self.edited);
        if !gone && view.as_ref() != Ok(&self.edited) {
            return Err(format!("{}: {view:?} is not {:?}", T::NAME, self.edited));
        }
        if without_duck::<T>(before) != without_duck::<T>(after) {
            return Err(format!("{}: {after} differs from {before} outside of the duck", T::NAME));
        }
        Ok(())
    }
}

/// Returns true if none of several paths holds anything, which reads as absent.
fn is_nothing<T: Member>(edited: &T) -> bool {
    let json = serde_json::to_value(edited).unwrap();
    let places = T::PLACE;
    places.paths().len() > 1
        && places.paths().iter().all(|path| json.pointer(&path.to_string()).is_none_or(Value::is_null))
}

type Generate = fn(&mut Random) -> Option<Box<dyn AnyCase>>;
type Check = fn(&mut Random) -> Result<bool, String>;

macro_rules! tables {
    ($($name:ident)+) => {
        const CHECKS: &[Check] = &[$(check_member::<$name>),+];
        const GENERATORS: &[Generate] = &[$(generate_member::<$name>),+];
    };
}
members!(tables);

fn check_member<T: Member>(random: &mut Random) -> Result<bool, String> {
    let Some(case) = Case::<T>::generate(random) else { return Ok(false) };
    check(&case).map(|()| true)
}

fn generate_member<T: Member + 'static>(random: &mut Random) -> Option<Box<dyn AnyCase>> {
    Some(Box::new(Case::<T>::generate(random)?))
}

/// Generates and checks the case of a seed. False if the seed has no readable object.
pub fn check_seed(seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let member = random.below(CHECKS.len());
    CHECKS[member](&mut random).map_err(|error| format!("seed {seed}: {error}"))
}

/// Generates the case of a seed for the API server, if it has a readable object.
pub fn case(seed: u64) -> Option<Box<dyn AnyCase>> {
    let mut random = Random::new(seed);
    let member = random.below(GENERATORS.len());
    GENERATORS[member](&mut random)
}
