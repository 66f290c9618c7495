//! One kind of the server in memory: its objects, and the log that its watches read. Versions come from the
//! server; this file knows no other kind, no time and no faults but those put into its log.

use std::collections::{BTreeMap, HashMap};

use kube::core::ApiResource;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::Fault;
use crate::event::Verb;
use crate::object::ObjectKey;
use crate::source::{Frame, Listed, Page, Served, SourceError};

pub(super) struct Kind {
    resource: ApiResource,
    missing: Option<Verb>,
    /// The version at which it was served: a kind that comes back is another one.
    born: u64,
    objects: BTreeMap<ObjectKey, Value>,
    /// What happened, by version.
    log: BTreeMap<u64, Frame>,
    /// Versions before this one have expired.
    compacted: u64,
    /// Lists under way, by continue token.
    pages: HashMap<String, Pending>,
    interruptions: u64,
    interruption: Option<Fault>,
}

/// The rest of a list, as it was when it began.
struct Pending {
    items: Vec<Value>,
    version: u64,
}

/// Where a watch stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServedKind {
    born: u64,
    seen: u64,
    interruptions: u64,
}

pub(super) enum Next {
    Frame(Frame),
    Error(SourceError),
    Nothing,
    End,
}

// === impl Kind ===

impl Kind {
    pub(super) fn new(resource: ApiResource, missing: Option<Verb>, born: u64) -> Self {
        Self {
            resource,
            missing,
            born,
            objects: BTreeMap::new(),
            log: BTreeMap::new(),
            compacted: born,
            pages: HashMap::new(),
            interruptions: 0,
            interruption: None,
        }
    }

    pub(super) fn is_at(&self, resource: &ApiResource) -> bool {
        self.resource == *resource
    }

    pub(super) fn served(&self) -> Served {
        Served { resource: self.resource.clone(), missing: self.missing }
    }

    pub(super) fn apply(&mut self, mut object: Value, version: u64, fresh_uid: String) {
        let key = key_of(&object);
        let uid = self.objects.get(&key).and_then(|old| old.pointer("/metadata/uid")).and_then(Value::as_str);
        let uid = uid.map_or(fresh_uid, ToOwned::to_owned);
        set_metadata(&mut object, "uid", uid);
        set_metadata(&mut object, "resourceVersion", version.to_string());
        self.log.insert(version, Frame::Applied(raw(&object)));
        self.objects.insert(key, object);
    }

    pub(super) fn delete(&mut self, namespace: Option<&str>, name: &str, version: u64) -> bool {
        let Some(mut object) = self.objects.remove(&ObjectKey::new(namespace, name)) else {
            return false;
        };
        set_metadata(&mut object, "resourceVersion", version.to_string());
        self.log.insert(version, Frame::Deleted(raw(&object)));
        true
    }

    pub(super) fn garbage(&mut self, version: u64) {
        self.log.insert(version, Frame::Applied(raw(&Value::from("not an object"))));
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.compacted = version;
        self.pages.clear();
    }

    pub(super) fn interrupt(&mut self, fault: Option<Fault>) {
        self.interruptions = self.interruptions.saturating_add(1);
        self.interruption = fault;
    }

    pub(super) fn list(&mut self, page: &Page, version: u64) -> Result<Listed, SourceError> {
        let mut pending = match &page.continue_token {
            Some(token) => self.pages.remove(token).ok_or(SourceError::Expired)?,
            None => Pending { items: self.objects.values().cloned().collect(), version },
        };
        let limit = page.limit.map_or(usize::MAX, |limit| limit as usize).min(pending.items.len());
        let rest = pending.items.split_off(limit);
        let items = pending.items.iter().map(raw).collect();
        let version = pending.version;
        let continue_token = (!rest.is_empty()).then(|| {
            let token = format!("{version}-{}", rest.len());
            self.pages.insert(token.clone(), Pending { items: rest, version });
            token
        });
        Ok(Listed { items, resource_version: version.to_string(), continue_token })
    }

    pub(super) fn watch(&self, version: &str) -> Result<ServedKind, SourceError> {
        let seen: u64 = version.parse().map_err(|_| SourceError::Unavailable("bad version".to_owned()))?;
        if seen < self.compacted {
            return Err(SourceError::Expired);
        }
        Ok(ServedKind { born: self.born, seen, interruptions: self.interruptions })
    }

    pub(super) fn next(&self, watch: &mut ServedKind) -> Next {
        if watch.born != self.born {
            return Next::End;
        }
        if watch.interruptions != self.interruptions {
            watch.interruptions = self.interruptions;
            return self.interruption.map_or(Next::End, |fault| Next::Error(fault.into()));
        }
        let after = (std::ops::Bound::Excluded(watch.seen), std::ops::Bound::Unbounded);
        match self.log.range(after).next() {
            Some((version, frame)) => {
                watch.seen = *version;
                Next::Frame(frame.clone())
            }
            None => Next::Nothing,
        }
    }
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    ObjectKey::new(text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
}

fn set_metadata(object: &mut Value, field: &str, value: String) {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), value.into());
    }
}

/// A tree of JSON always has a text.
fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}
