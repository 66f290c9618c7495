//! One kind of the server in memory: its objects, and the log that its watches read. Versions come from the
//! server; this file knows no other kind, no time and no faults but those put into its log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::core::{ApiResource, GroupVersionKind, SelectorExt};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::Fault;
use crate::event::Verb;
use crate::interest::fields;
use crate::object::ObjectKey;
use crate::source::{Listed, Page, Served, SourceError, SourceEvent, WatchTarget};

pub(super) struct Kind {
    pub(super) resource: ApiResource,
    /// The served versions, the preferred one first.
    pub(super) versions: Vec<String>,
    pub(super) namespaced: bool,
    pub(super) missing: Option<Verb>,
    /// The only namespaces to which there is access; `None` for all.
    pub(super) allowed: Option<Vec<String>>,
    /// The objects to which there is access in any case.
    pub(super) allowed_names: Vec<String>,
    /// The version at which it was served: a kind that comes back is another one.
    born: u64,
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    /// The changes, by version.
    log: BTreeMap<u64, Entry>,
    /// Versions before this one have expired.
    compacted: u64,
    /// The last change that was forgotten: an open watch that has not sent it has expired too.
    forgotten: u64,
    /// Lists under way, by continue token.
    pages: HashMap<String, Pending>,
    /// Continue tokens so far: lists that are under way at the same time have different ones.
    tokens: u64,
    interruptions: u64,
    interruption: Option<Fault>,
}

#[derive(Clone)]
enum Entry {
    Change { old: Option<Arc<Value>>, new: Option<Arc<Value>>, last: Arc<Value> },
    Garbage,
}

/// The rest of a list, as it was when it began.
struct Pending {
    items: Vec<Arc<Value>>,
    version: u64,
}

/// The position of a watch.
#[derive(Debug, Clone)]
pub(super) struct Position {
    born: u64,
    seen: u64,
    interruptions: u64,
    target: WatchTarget,
}

pub(super) enum Next {
    Event(SourceEvent),
    Error(SourceError),
    Nothing,
    End,
}

// === impl Kind: written ===

impl Kind {
    pub(super) fn new(resource: ApiResource, missing: Option<Verb>, born: u64) -> Self {
        Self {
            versions: vec![resource.version.clone()],
            resource,
            namespaced: true,
            missing,
            allowed: None,
            allowed_names: Vec::new(),
            born,
            objects: BTreeMap::new(),
            log: BTreeMap::new(),
            compacted: born,
            forgotten: born,
            pages: HashMap::new(),
            tokens: 0,
            interruptions: 0,
            interruption: None,
        }
    }

    /// Creates or replaces an object; maintains `uid`, `resourceVersion` and `generation`, which counts the changes
    /// of everything but metadata and status.
    pub(super) fn apply(&mut self, mut object: Value, version: u64, fresh_uid: String) -> Arc<Value> {
        let key = key_of(&object);
        let old = self.objects.get(&key).map(Arc::clone);
        let text =
            |object: &Value, pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let uid = old.as_ref().and_then(|old| text(old, "/metadata/uid")).unwrap_or(fresh_uid);
        let generation = old.as_ref().map_or(1, |old| {
            let former = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
            if specification(old) == specification(&object) { former } else { former.saturating_add(1) }
        });
        set_metadata(&mut object, "uid", uid.into());
        set_metadata(&mut object, "generation", generation.into());
        set_metadata(&mut object, "resourceVersion", version.to_string().into());
        let new = Arc::new(object);
        self.objects.insert(key, Arc::clone(&new));
        let entry = Entry::Change { old, new: Some(Arc::clone(&new)), last: Arc::clone(&new) };
        self.log.insert(version, entry);
        new
    }

    pub(super) fn delete(&mut self, namespace: Option<&str>, name: &str, version: u64) -> Option<Arc<Value>> {
        let old = self.objects.remove(&ObjectKey::new(namespace, name))?;
        let mut last = (*old).clone();
        set_metadata(&mut last, "resourceVersion", version.to_string().into());
        let last = Arc::new(last);
        self.log.insert(version, Entry::Change { old: Some(old), new: None, last: Arc::clone(&last) });
        Some(last)
    }

    pub(super) fn garbage(&mut self, version: u64) {
        self.log.insert(version, Entry::Garbage);
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.compacted = version;
        self.pages.clear();
        let kept = self.log.split_off(&version);
        let gone = std::mem::replace(&mut self.log, kept);
        self.forgotten = gone.last_key_value().map_or(self.forgotten, |(version, _)| *version);
    }

    pub(super) fn interrupt(&mut self, fault: Option<Fault>) {
        self.interruptions = self.interruptions.saturating_add(1);
        self.interruption = fault;
    }
}

// === impl Kind: read ===

impl Kind {
    /// Returns true if requests for `resource` reach this kind.
    pub(super) fn is_at(&self, resource: &ApiResource) -> bool {
        self.resource.plural == resource.plural && self.versions.contains(&resource.version)
    }

    /// Returns how `gvk` is served; `None` if its version is not.
    pub(super) fn served(&self, gvk: &GroupVersionKind) -> Option<Served> {
        let version = match gvk.version.as_str() {
            "" => self.versions.first()?,
            version => self.versions.iter().find(|served| *served == version)?,
        };
        let gvk = GroupVersionKind::gvk(&gvk.group, version, &gvk.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &self.resource.plural);
        Some(Served { missing: self.missing, ..Served::new(resource, self.namespaced) })
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<Value>> {
        self.objects.get(&ObjectKey::new(namespace, name)).map(Arc::clone)
    }

    pub(super) fn list(
        &mut self,
        target: &WatchTarget,
        page: &Page,
        version: u64,
    ) -> Result<Listed, SourceError> {
        self.check_access(target)?;
        let mut pending = match &page.continue_token {
            Some(token) => self.pages.remove(token).ok_or(SourceError::Expired)?,
            None => {
                let items = self.objects.values().filter(|object| is_selected(target, object)).cloned();
                Pending { items: items.collect(), version }
            }
        };
        let limit = page
            .limit
            .filter(|limit| *limit > 0)
            .map_or(usize::MAX, |limit| limit as usize)
            .min(pending.items.len());
        let rest = pending.items.split_off(limit);
        let items = pending.items.iter().map(|object| sent(target, object)).collect();
        let version = pending.version;
        let continue_token = (!rest.is_empty()).then(|| {
            self.tokens = self.tokens.saturating_add(1);
            let token = format!("{version}-{}", self.tokens);
            self.pages.insert(token.clone(), Pending { items: rest, version });
            token
        });
        Ok(Listed { items, resource_version: version.to_string(), continue_token })
    }

    fn check_access(&self, target: &WatchTarget) -> Result<(), SourceError> {
        let namespace = target.namespace.as_deref();
        if namespace.is_some() && !self.namespaced {
            return Err(SourceError::NotServed);
        }
        let is_allowed = |allowed: &Vec<String>| allowed.iter().any(|it| Some(it.as_str()) == namespace);
        let selector = target.selection.fields.as_deref().unwrap_or_default();
        let mut names =
            fields::requirements(selector).filter(|(field, equal, _)| *field == "metadata.name" && *equal);
        let is_named = names.any(|(_, _, name)| self.allowed_names.contains(&name));
        match is_named || self.allowed.as_ref().is_none_or(is_allowed) {
            true => Ok(()),
            false => Err(SourceError::Forbidden("no access, by order of the test".to_owned())),
        }
    }

    pub(super) fn watch(&self, target: &WatchTarget, version: &str) -> Result<Position, SourceError> {
        self.check_access(target)?;
        // As a server answers 400.
        let seen: u64 = version.parse().map_err(|_| SourceError::Rejected("bad version".to_owned()))?;
        if seen < self.compacted {
            return Err(SourceError::Expired);
        }
        let interruptions = self.interruptions;
        Ok(Position { born: self.born, seen, interruptions, target: target.clone() })
    }

    pub(super) fn next(&self, watch: &mut Position) -> Next {
        if watch.born != self.born {
            return Next::End;
        }
        if watch.interruptions != self.interruptions {
            watch.interruptions = self.interruptions;
            return self.interruption.map_or(Next::End, |fault| Next::Error(fault.into()));
        }
        if watch.seen < self.forgotten {
            watch.seen = self.forgotten;
            return Next::Error(SourceError::Expired);
        }
        let after = (std::ops::Bound::Excluded(watch.seen), std::ops::Bound::Unbounded);
        for (version, entry) in self.log.range(after) {
            watch.seen = *version;
            if let Some(event) = watch.event(entry) {
                return Next::Event(event);
            }
        }
        Next::Nothing
    }
}

// === impl Position ===

impl Position {
    pub(super) fn bookmark(&self) -> SourceEvent {
        SourceEvent::Bookmark(self.seen.to_string())
    }

    /// The event of a change for this watch: an object that leaves the selection is deleted.
    fn event(&self, entry: &Entry) -> Option<SourceEvent> {
        let Entry::Change { old, new, last } = entry else {
            return Some(SourceEvent::Applied(raw(&Value::from("not an object"))));
        };
        let selects = |object: &Option<Arc<Value>>| {
            object.as_ref().is_some_and(|object| is_selected(&self.target, object))
        };
        match (selects(old), selects(new)) {
            (_, true) => Some(SourceEvent::Applied(sent(&self.target, last))),
            (true, false) => Some(SourceEvent::Deleted(sent(&self.target, last))),
            (false, false) => None,
        }
    }
}

fn is_selected(target: &WatchTarget, object: &Value) -> bool {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let in_namespace =
        target.namespace.as_deref().is_none_or(|namespace| text("/metadata/namespace") == Some(namespace));
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    let selector = target.selection.fields.as_deref().unwrap_or_default();
    in_namespace
        && target.selection.labels.matches(&labels)
        && fields::requirements(selector).all(|(path, is_equal, value)| {
            let field = text(&format!("/{}", path.replace('.', "/"))).unwrap_or_default();
            (field == value) == is_equal
        })
}

/// The object as it is sent: complete, or its metadata.
fn sent(target: &WatchTarget, object: &Value) -> Box<RawValue> {
    if !target.selection.metadata_only {
        return raw(object);
    }
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    raw(&json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}))
}

/// The part of an object whose changes count as a new generation.
fn specification(object: &Value) -> Option<serde_json::Map<String, Value>> {
    let mut fields = object.as_object()?.clone();
    for field in ["metadata", "status", "apiVersion", "kind"] {
        fields.remove(field);
    }
    Some(fields)
}

pub(super) fn key_of(object: &Value) -> ObjectKey {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    ObjectKey::new(text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
}

fn set_metadata(object: &mut Value, field: &str, value: Value) {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), value);
    }
}

/// A tree of JSON always has a text.
fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}
