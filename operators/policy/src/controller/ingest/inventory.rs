//! Referential data: the objects of the kinds that SyncSets and the Config ask for. Which kinds those are is in
//! `sources`.

use std::sync::Arc;
use std::time::Instant;

use constraint_framework::review::Document;
use constraint_framework::target::{AdmissionTarget, Target};
use pod_status::readiness::ErrorClass;
use watch_manager::{EventKind, GvkStatus, WatchEvent, WatchedObject};

use crate::config::{ExcludedNamespaces, Process};

use super::Ingest;
use super::gauges::count_sync;
use super::sources::{GvkKey, ObjectName, gvk_key};

impl Ingest {
    pub(super) fn on_inventory(&mut self, event: WatchEvent) {
        let key = gvk_key(&event.gvk);
        match event.kind {
            EventKind::Applied(object) => self.object_applied(key, &object),
            EventKind::Deleted(object) => self.object_gone(&key, &object),
            EventKind::Synced => self.kind_synced(&key),
            EventKind::Status(GvkStatus::Unwatchable { .. }) => self.kind_unwatchable(&key),
            EventKind::Status(status) if !status.is_ready() => {
                let waiting = self.sync.kinds.get(&key).into_iter().flat_map(|kind| &kind.waiting);
                waiting.for_each(|source| source.list_fails(ErrorClass::Transient, status.to_string()));
            }
            _ => {}
        }
    }

    /// An object on its way out is as good as gone: what replaces it must not clash with it.
    fn object_applied(&mut self, key: GvkKey, object: &WatchedObject) {
        if object.is_deleting() {
            return self.object_gone(&key, object);
        }
        let document = match Document::from_json_string(object.json().to_owned()) {
            Ok(document) => document,
            Err(error) => return self.object_unreadable(&key, object, &error.to_string()),
        };
        self.object_readable(&key, object);
        if self.offer(&document) {
            self.sync.kinds.entry(key).or_default().objects.insert(name(object), document);
        }
    }

    /// An object whose new version cannot be read leaves the inventory, and the constraints that refer to its kind say so,
    /// unless its Namespace is left out.
    fn object_unreadable(&mut self, key: &GvkKey, object: &WatchedObject, error: &str) {
        let (_, _, kind_name) = key;
        tracing::warn!(kind = kind_name, object = %object.key(), error, "an object cannot be read for the inventory");
        let name = name(object);
        let counts = !self.sync.leaves_out(key, &name);
        let kind = self.sync.kinds.entry(key.clone()).or_default();
        let (stored, is_news) = kind.set_unreadable(name);
        if counts {
            let reason = format!("{}: an object cannot be read: {error}", object.key());
            kind.waiting.iter().for_each(|source| source.list_fails(ErrorClass::Transient, reason.clone()));
        }
        if let Some(document) = stored {
            self.drop_object(&document);
        }
        if counts && is_news {
            self.report_sync();
        }
    }

    fn object_readable(&mut self, key: &GvkKey, object: &WatchedObject) {
        if self.sync.kinds.get_mut(key).is_some_and(|kind| kind.unreadable.remove(&name(object))) {
            self.report_sync();
        }
    }

    /// Puts an object in the inventory unless its Namespace is left out. Returns whether the inventory could hold it.
    fn offer(&mut self, document: &Document) -> bool {
        if self.sync.excluded.contains_object(Process::Sync, document) {
            return AdmissionTarget.inventory_path(document).is_ok();
        }
        let begun = Instant::now();
        let fits = self.policies.put_object(&AdmissionTarget, document.clone()).is_ok();
        count_sync(begun.elapsed());
        self.changed |= fits;
        fits
    }

    /// Leaves out other Namespaces than before: objects leave the inventory, and those that were left out come back.
    pub(super) fn exclude(&mut self, excluded: ExcludedNamespaces) {
        if *self.sync.excluded == excluded {
            return;
        }
        let before = std::mem::replace(&mut self.sync.excluded, Arc::new(excluded));
        self.changed = true;
        let objects: Vec<_> =
            self.sync.kinds.values().flat_map(|kind| kind.objects.values()).cloned().collect();
        for object in objects {
            let is_out = |excluded: &ExcludedNamespaces| excluded.contains_object(Process::Sync, &object);
            match (is_out(&before), is_out(&self.sync.excluded)) {
                (false, true) => self.drop_object(&object),
                (true, false) => drop(self.offer(&object)),
                _ => {}
            }
        }
    }

    fn object_gone(&mut self, key: &GvkKey, object: &WatchedObject) {
        self.object_readable(key, object);
        let stored = self.sync.kinds.get_mut(key).and_then(|kind| kind.objects.remove(&name(object)));
        if let Some(document) = stored {
            self.drop_object(&document);
        }
    }

    pub(super) fn drop_object(&mut self, document: &Document) {
        // It was put there under the path it is removed from, so it has one.
        let _ = self.policies.remove_object(&AdmissionTarget, document);
        self.changed = true;
    }
}

fn name(object: &WatchedObject) -> ObjectName {
    (object.namespace().map(str::to_owned), object.name().to_owned())
}
