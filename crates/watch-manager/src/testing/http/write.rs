//! Requests that change objects: optimistic locking, preconditions, dry runs, the status subresource, finalizers.

use serde_json::{Map, Value, json};

use super::path::{PatchForm, Resource, Write};
use super::{not_found, stamped, status_of};
use crate::source::{Page, WatchTarget};
use crate::testing::{FakeApi, gvk_of, key};

type Failure = (u16, String);

/// A write that is under way.
struct Request<'a> {
    resource: &'a Resource,
    target: WatchTarget,
    dry_run: bool,
}

// === impl FakeApi ===

impl FakeApi {
    pub(super) fn write(&self, resource: &Resource, write: Write, body: &[u8]) -> Result<Value, Failure> {
        let (target, _) = self.target(resource)?;
        let body = match body {
            [] => Value::Null,
            body => serde_json::from_slice(body).map_err(|error| (400, error.to_string()))?,
        };
        // A deletion has its options in the body.
        let dry_run = resource.dry_run || body.pointer("/dryRun/0").is_some_and(|stages| stages == "All");
        let request = Request { resource, target, dry_run };
        match write {
            Write::Create => self.create(&request, body),
            Write::Delete { name } => self.remove(&request, &name, &body),
            Write::DeleteCollection => self.remove_all(request),
            Write::Replace { name, status } => self.change(&request, &name, status, body, |_, new| Ok(new)),
            Write::Patch { name, status, form: PatchForm::Json } => {
                self.change(&request, &name, status, body, json_patched)
            }
            Write::Patch { name, status, form: PatchForm::Merge } => {
                if self.find(&request.target, &name).is_none() && body.get("apiVersion").is_some() {
                    return self.create(&request, with_name(body, &name));
                }
                self.change(&request, &name, status, body, |old, patch| Ok(merged(old, patch)))
            }
        }
    }

    fn create(&self, request: &Request<'_>, mut object: Value) -> Result<Value, Failure> {
        let target = &request.target;
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
        Ok(self.store(request, object))
    }

    /// Deletes an object, or marks it if it has finalizers.
    fn remove(&self, request: &Request<'_>, name: &str, options: &Value) -> Result<Value, Failure> {
        let target = &request.target;
        let mut object = self.find(target, name).ok_or_else(|| not_found(request.resource, name))?;
        for field in ["uid", "resourceVersion"] {
            let wanted = options.pointer("/preconditions").and_then(|wanted| wanted.get(field));
            let found = object.pointer("/metadata").and_then(|metadata| metadata.get(field));
            if wanted.is_some_and(|wanted| !wanted.is_null() && Some(wanted) != found) {
                return Err((
                    409,
                    format!("{} \"{name}\": the {field} in the precondition differs", target.resource.plural),
                ));
            }
        }
        if has_finalizers(&object) {
            if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                metadata.entry("deletionTimestamp").or_insert_with(|| "2024-01-01T00:00:00Z".into());
            }
            return Ok(self.store(request, object));
        }
        self.erase(request, name);
        Ok(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }

    /// Deletes all selected objects; returns them as a list.
    fn remove_all(&self, mut request: Request<'_>) -> Result<Value, Failure> {
        let version = self.lock().version;
        let listed = self
            .answer(&request.target.resource, |kind| kind.list(&request.target, &Page::default(), version));
        let listed = listed.map_err(status_of)?;
        let objects: Vec<Value> =
            listed.items.iter().filter_map(|object| serde_json::from_str(object.get()).ok()).collect();
        for object in &objects {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
            request.target.namespace = text("/metadata/namespace").map(Into::into);
            self.remove(&request, text("/metadata/name").unwrap_or_default(), &Value::Null)?;
        }
        let (version, kind) = (&request.target.resource.api_version, &request.target.resource.kind);
        Ok(json!({"apiVersion": version, "kind": format!("{kind}List"), "metadata": {}, "items": objects}))
    }

    fn change(
        &self,
        request: &Request<'_>,
        name: &str,
        status: bool,
        body: Value,
        make: fn(&Value, Value) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        let target = &request.target;
        let old = self.find(target, name).ok_or_else(|| not_found(request.resource, name))?;
        let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
        let before = version(&old);
        let new = make(&old, body)?;
        if version(&new).is_some_and(|wanted| wanted != "" && Some(wanted) != before) {
            return Err((409, format!("{} \"{name}\" was modified", target.resource.plural)));
        }
        let new = if status { with_status(old, &new) } else { without_status(&old, new) };
        if new.pointer("/metadata/deletionTimestamp").is_some() && !has_finalizers(&new) {
            self.erase(request, name);
            return Ok(new);
        }
        Ok(self.store(request, new))
    }

    fn find(&self, target: &WatchTarget, name: &str) -> Option<Value> {
        let state = self.lock();
        let kind = state.kinds.get(&key(&gvk_of(&target.resource)))?;
        kind.get(target.namespace.as_deref(), name).map(|object| (*object).clone())
    }

    /// Stores the object, unless it is a dry run; returns it as a client sees it.
    fn store(&self, request: &Request<'_>, object: Value) -> Value {
        let resource = &request.target.resource;
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let stored = if request.dry_run {
            object
        } else {
            self.apply(&gvk_of(resource), object);
            self.find(&request.target, &name).unwrap_or_default()
        };
        stamped(&stored, &resource.api_version, &resource.kind)
    }

    fn erase(&self, request: &Request<'_>, name: &str) {
        let target = &request.target;
        if !request.dry_run {
            self.delete(&gvk_of(&target.resource), target.namespace.as_deref(), name);
        }
    }
}

/// A JSON patch (RFC 6902).
fn json_patched(old: &Value, patch: Value) -> Result<Value, Failure> {
    let patch: json_patch::Patch =
        serde_json::from_value(patch).map_err(|error| (400, format!("not a JSON patch: {error}")))?;
    let mut new = old.clone();
    json_patch::patch(&mut new, &patch).map_err(|error| (422, error.to_string()))?;
    Ok(new)
}

/// The new object with the status of the old one: the main resource does not write it.
fn without_status(old: &Value, mut new: Value) -> Value {
    if let Some(fields) = new.as_object_mut() {
        match old.get("status") {
            Some(status) => drop(fields.insert("status".to_owned(), status.clone())),
            None => drop(fields.remove("status")),
        }
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
