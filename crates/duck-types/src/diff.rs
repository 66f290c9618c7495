//! Writing: what changed between two states of a duck, as patches that cannot touch anything else.
//!
//! The two states of the *duck* are compared, never the two states of the object, so fields the type does
//! not know can appear in no patch. Members that are `null` count as left out.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation};
use kube::core::params::PatchParams;
use kube::core::{ApiResource, DynamicObject};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::DuckError;
use crate::{DuckPath, DuckType, Endpoint};

/// A change of one duck of one object. Made by [`crate::Duck::edit`].
#[derive(Clone, Debug, PartialEq)]
pub struct DuckDiff {
    path: DuckPath,
    object: DynamicObject,
    before: Value,
    after: Value,
}

/// A server-side apply that states the whole intent of one field manager for one duck.
#[derive(Clone, Debug)]
pub struct ServerSideApply {
    /// The object's name, for the URL.
    pub name: String,
    /// Where to send it.
    pub endpoint: Endpoint,
    /// The field manager. Not forced: a field owned by another manager is a conflict (409), which names it.
    pub params: PatchParams,
    /// Identity and duck, nothing else.
    pub body: Value,
}

impl DuckDiff {
    pub(crate) fn between<T: DuckType>(
        object: &DynamicObject,
        before: Value,
        after: Value,
    ) -> Result<Self, DuckError> {
        Ok(Self { path: T::path(), object: object.clone(), before, after })
    }

    /// Whether the edit changed nothing, so that there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// Which endpoint accepts this change.
    pub fn endpoint(&self) -> Endpoint {
        self.path.endpoint()
    }

    /// The edited duck as a server-side apply by `manager` (at most 128 characters).
    ///
    /// The body holds *all* of the duck, because an apply is the manager's whole intent: the API server
    /// removes what the manager applied before and leaves out now. Hence one manager per duck and purpose.
    ///
    /// # Errors
    ///
    /// [`DuckError::Anonymous`] for an object without a name.
    pub fn apply(&self, resource: &ApiResource, manager: &str) -> Result<ServerSideApply, DuckError> {
        let name = self.object.metadata.name.clone().ok_or(DuckError::Anonymous { field: "name" })?;
        let mut metadata = Map::from_iter([("name".to_owned(), json!(name))]);
        if let Some(namespace) = &self.object.metadata.namespace {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        let mut body = Map::from_iter([
            ("apiVersion".to_owned(), json!(resource.api_version)),
            ("kind".to_owned(), json!(resource.kind)),
            ("metadata".to_owned(), Value::Object(metadata)),
        ]);
        let segments: Vec<&str> = self.path.segments().collect();
        if let Some((first, below)) = segments.split_first() {
            body.insert((*first).to_owned(), wrap(below, self.after.clone()));
        }
        let params = PatchParams::apply(manager);
        Ok(ServerSideApply { name, endpoint: self.endpoint(), params, body: Value::Object(body) })
    }

    /// The change as a JSON patch, empty if nothing changed.
    ///
    /// It first tests the uid and the resourceVersion that were read: when the object has been written
    /// since, the API server refuses the whole patch (422), and the caller reads again.
    /// Fields that the type does not know survive, also in the elements of a list that stay.
    ///
    /// # Errors
    ///
    /// [`DuckError::Anonymous`] for an object without uid or resourceVersion.
    pub fn json(&self) -> Result<Patch, DuckError> {
        if self.is_empty() {
            return Ok(Patch(Vec::new()));
        }
        let metadata = &self.object.metadata;
        let uid = metadata.uid.clone().ok_or(DuckError::Anonymous { field: "uid" })?;
        let version =
            metadata.resource_version.clone().ok_or(DuckError::Anonymous { field: "resourceVersion" })?;
        let mut operations =
            vec![test(["metadata", "uid"], uid), test(["metadata", "resourceVersion"], version)];
        self.descend(&self.object.data, &mut operations);
        Ok(Patch(operations))
    }

    /// Walks down to the duck; where the observed object ends early, everything missing is one `add`.
    fn descend(&self, observed: &Value, out: &mut Vec<PatchOperation>) {
        let mut observed = observed;
        let mut at = Pointer::default();
        let segments: Vec<&str> = self.path.segments().collect();
        for (steps, segment) in segments.iter().enumerate() {
            at.0.push((*segment).to_owned());
            match observed.get(segment) {
                Some(found @ Value::Object(_)) => observed = found,
                Some(found) if steps.saturating_add(1) == segments.len() && !found.is_null() => {
                    observed = found
                }
                _ => {
                    let below = segments.get(steps.saturating_add(1)..).unwrap_or_default();
                    out.push(at.add(wrap(below, self.after.clone())));
                    return;
                }
            }
        }
        difference(&self.before, &self.after, observed, &mut at, out);
    }
}

/// A place in the object, while it is being compared.
#[derive(Default)]
struct Pointer(Vec<String>);

impl Pointer {
    fn at(&mut self, step: impl Into<String>, visit: impl FnOnce(&mut Self)) {
        self.0.push(step.into());
        visit(self);
        self.0.pop();
    }

    fn path(&self) -> PointerBuf {
        PointerBuf::from_tokens(self.0.iter().map(String::as_str))
    }

    /// In an object `add` replaces a member that exists (RFC 6902, 4.1), and unlike `replace` does not depend
    /// on it. In a list it inserts.
    fn add(&self, value: Value) -> PatchOperation {
        PatchOperation::Add(AddOperation { path: self.path(), value })
    }

    fn replace(&self, value: Value) -> PatchOperation {
        PatchOperation::Replace(ReplaceOperation { path: self.path(), value })
    }

    fn remove(&self) -> PatchOperation {
        PatchOperation::Remove(RemoveOperation { path: self.path() })
    }
}

/// Appends the operations that turn `before` into `after`, two states of the duck, in an object where
/// `observed` stands at `at`. What exists is replaced; that keeps a list element from being inserted again.
fn difference(
    before: &Value,
    after: &Value,
    observed: &Value,
    at: &mut Pointer,
    out: &mut Vec<PatchOperation>,
) {
    match (before, after, observed) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new), Value::Object(seen)) => members(old, new, seen, at, out),
        (Value::Array(old), Value::Array(new), Value::Array(seen)) if old.len() == seen.len() => {
            elements(old, new, seen, at, out);
        }
        _ => out.push(at.replace(after.clone())),
    }
}

type Members = Map<String, Value>;

fn members(old: &Members, new: &Members, seen: &Members, at: &mut Pointer, out: &mut Vec<PatchOperation>) {
    for name in old.keys().filter(|name| !new.contains_key(*name) && seen.contains_key(*name)) {
        at.at(name, |at| out.push(at.remove()));
    }
    for (name, value) in new {
        at.at(name, |at| match (old.get(name), seen.get(name)) {
            (Some(old), Some(seen)) => difference(old, value, seen, at, out),
            // A default that the type fills in is not a change of the object.
            (Some(old), None) if old == value => {}
            _ => out.push(at.add(value.clone())),
        });
    }
}

/// Keeps the elements that are equal at the front and at the back, with the fields in them that the type
/// does not know, and changes those between. Positions are safe because the patch tests the version.
fn elements(old: &[Value], new: &[Value], seen: &[Value], at: &mut Pointer, out: &mut Vec<PatchOperation>) {
    let front = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let between = |list: &[Value]| list.len().saturating_sub(front);
    let longest = between(old).min(between(new));
    let back =
        old.iter().rev().zip(new.iter().rev()).take(longest).take_while(|(old, new)| old == new).count();
    let end = |list: &[Value]| list.len().saturating_sub(back);
    let both = end(old).min(end(new));
    for (index, ((old, new), seen)) in old.iter().zip(new).zip(seen).enumerate().take(both).skip(front) {
        at.at(index.to_string(), |at| difference(old, new, seen, at, out));
    }
    for index in (both..end(old)).rev() {
        at.at(index.to_string(), |at| out.push(at.remove()));
    }
    for (index, value) in new.iter().enumerate().take(end(new)).skip(both) {
        at.at(index.to_string(), |at| out.push(at.add(value.clone())));
    }
}

/// The JSON form of a duck, with null members left out at every depth.
pub(crate) fn to_json<T: Serialize>(duck: &'static str, value: &T) -> Result<Value, DuckError> {
    let value = serde_json::to_value(value)
        .map_err(|error| DuckError::Unwritable { duck, message: error.to_string() })?;
    Ok(without_nulls(value))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}

fn wrap(segments: &[&str], value: Value) -> Value {
    segments.iter().rev().fold(value, |below, name| json!({ *name: below }))
}

fn test<'a>(at: impl IntoIterator<Item = &'a str>, value: String) -> PatchOperation {
    PatchOperation::Test(TestOperation { path: PointerBuf::from_tokens(at), value: Value::String(value) })
}
