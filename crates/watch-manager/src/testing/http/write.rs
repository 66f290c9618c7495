//! Requests that change an object: optimistic locking, the status subresource, finalizers.

use serde_json::{Map, Value, json};

use super::path::{Resource, Write};
use super::{not_found, stamped};
use crate::source::Target;
use crate::testing::{FakeApi, gvk_of, key};

type Failure = (u16, String);

// === impl FakeApi ===

impl FakeApi {
    pub(super) fn write(&self, resource: &Resource, write: Write, body: &[u8]) -> Result<Value, Failure> {
        let (target, _) = self.target(resource)?;
        let body = || serde_json::from_slice::<Value>(body).map_err(|error| (400, error.to_string()));
        match write {
            Write::Create => self.create(&target, body()?),
            Write::Delete { name } => self.remove(resource, &target, &name),
            Write::Replace { name, status } => {
                self.change(resource, &target, &name, status, body()?, replaced)
            }
            Write::Patch { name, status } => {
                let body = body()?;
                if self.find(&target, &name).is_none() && body.get("apiVersion").is_some() {
                    return self.create(&target, with_name(body, &name));
                }
                self.change(resource, &target, &name, status, body, merged)
            }
        }
    }

    fn create(&self, target: &Target, mut object: Value) -> Result<Value, Failure> {
        if let (Some(namespace), Some(metadata)) =
            (&target.namespace, object.pointer_mut("/metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("namespace".to_owned(), (**namespace).into());
        }
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err((422, "metadata.name: Required value".to_owned()));
        }
        if self.find(target, &name).is_some() {
            return Err((409, format!("{} \"{name}\" already exists", target.resource.plural)));
        }
        Ok(self.store(target, object))
    }

    /// Deletes an object, or marks it if it has finalizers.
    fn remove(&self, resource: &Resource, target: &Target, name: &str) -> Result<Value, Failure> {
        let mut object = self.find(target, name).ok_or_else(|| not_found(resource, name))?;
        if has_finalizers(&object) {
            if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                metadata.entry("deletionTimestamp").or_insert_with(|| "2024-01-01T00:00:00Z".into());
            }
            return Ok(self.store(target, object));
        }
        self.delete(&gvk_of(&target.resource), target.namespace.as_deref(), name);
        Ok(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }

    fn change(
        &self,
        resource: &Resource,
        target: &Target,
        name: &str,
        status: bool,
        body: Value,
        make: fn(&Value, Value) -> Value,
    ) -> Result<Value, Failure> {
        let old = self.find(target, name).ok_or_else(|| not_found(resource, name))?;
        let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
        if version(&body).is_some_and(|wanted| wanted != "" && Some(wanted) != version(&old)) {
            return Err((409, format!("{} \"{name}\" was modified", target.resource.plural)));
        }
        let new = make(&old, body);
        let new = if status { with_status(old, &new) } else { new };
        if new.pointer("/metadata/deletionTimestamp").is_some() && !has_finalizers(&new) {
            self.delete(&gvk_of(&target.resource), target.namespace.as_deref(), name);
            return Ok(new);
        }
        Ok(self.store(target, new))
    }

    fn find(&self, target: &Target, name: &str) -> Option<Value> {
        let state = self.lock();
        let kind = state.kinds.get(&key(&gvk_of(&target.resource)))?;
        kind.get(target.namespace.as_deref(), name).map(|object| (*object).clone())
    }

    fn store(&self, target: &Target, object: Value) -> Value {
        let gvk = gvk_of(&target.resource);
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.apply(&gvk, object);
        let stored = self.find(target, &name).unwrap_or_default();
        stamped(&stored, &target.resource.api_version, &target.resource.kind)
    }
}

/// A replacement keeps the status of the old object, as the main resource does.
fn replaced(old: &Value, mut new: Value) -> Value {
    if let (Some(fields), Some(status)) = (new.as_object_mut(), old.get("status")) {
        fields.insert("status".to_owned(), status.clone());
    }
    new
}

/// A merge patch (RFC 7386).
fn merged(old: &Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut fields = old.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            let before = fields.get(&name).cloned().unwrap_or_else(|| Value::Object(Map::new()));
            fields.insert(name, merged(&before, value));
        }
    }
    Value::Object(fields)
}

/// The old object with the status of the new one.
fn with_status(mut old: Value, new: &Value) -> Value {
    if let Some(fields) = old.as_object_mut() {
        fields.insert("status".to_owned(), new.get("status").cloned().unwrap_or_default());
    }
    old
}

fn with_name(mut object: Value, name: &str) -> Value {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.entry("name").or_insert_with(|| name.into());
    }
    object
}

fn has_finalizers(object: &Value) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}
