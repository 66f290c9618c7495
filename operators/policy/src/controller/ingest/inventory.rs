//! Referential data: the objects of the kinds that SyncSets and the Config ask for.

use std::collections::{BTreeMap, BTreeSet};

use constraint_framework::review::Document;
use constraint_framework::target::AdmissionTarget;
use futures::FutureExt;
use kube::core::GroupVersionKind;
use pod_status::readiness::{Failure, ReadinessSource};
use watch_manager::{EventKind, WatchEvent, WatchedObject};

use crate::controller::sync::SyncSources;

use super::Ingest;
use super::templates::parent_key;

/// What is synced, for whom, and what of it lies in the inventory.
pub(super) struct Synced {
    source: ReadinessSource,
    sources: SyncSources,
    pending_lists: BTreeSet<String>,
    kinds: BTreeMap<GvkKey, Kind>,
}

/// A kind, and why it is not served, if it is not.
pub(super) type Look = (GroupVersionKind, Option<String>);
type GvkKey = (String, String, String);

#[derive(Default)]
struct Kind {
    waiting: Vec<ReadinessSource>,
    synced: bool,
    objects: BTreeMap<(Option<String>, String), Document>,
}

impl Synced {
    pub(super) fn new(source: ReadinessSource) -> Self {
        source.list_begins();
        let pending_lists = ["SyncSet", "Config"].map(str::to_owned).into();
        Self { source, sources: SyncSources::default(), pending_lists, kinds: BTreeMap::new() }
    }
}

fn gvk_key(gvk: &GroupVersionKind) -> GvkKey {
    (gvk.group.clone(), gvk.version.clone(), gvk.kind.clone())
}

impl Ingest {
    pub(super) fn on_sync(&mut self, event: WatchEvent) {
        match event.kind {
            EventKind::Applied(object) => self.sync_applied(&object),
            EventKind::Deleted(object) => {
                self.sync.sources.remove(&object);
                self.sync.source.cancel(&parent_key(&object));
                self.follow_sync();
            }
            EventKind::Synced => {
                self.sync.pending_lists.remove(&event.gvk.kind);
                if self.sync.pending_lists.is_empty() {
                    self.lists.push(self.sync.source.clone());
                }
            }
            _ => {}
        }
    }

    fn sync_applied(&mut self, object: &WatchedObject) {
        let key = parent_key(object);
        let generation = object.metadata().generation.unwrap_or_default();
        self.sync.source.expect(&key, generation);
        if let Err(reason) = self.sync.sources.put(object) {
            tracing::warn!(kind = key.reference.kind, name = key.reference.name, reason, "not understood");
        }
        self.follow_sync();
        for gvk in self.sync.sources.kinds() {
            let kind = self.sync.kinds.entry(gvk_key(&gvk)).or_default();
            if !kind.synced {
                let data = self.sync.source.child(&key, format!("objects of kind {}", gvk.kind));
                data.list_begins();
                kind.waiting.push(data);
                self.looks.push(look(self.client.clone(), gvk).boxed());
            }
        }
        self.sync.source.observe(&key, generation);
    }

    /// Watches what is asked for now. The objects of a kind that nobody asks for any more leave the inventory,
    /// and those of all other kinds stay as they are.
    fn follow_sync(&mut self) {
        let wanted = self.sync.sources.kinds();
        let keys: BTreeSet<_> = wanted.iter().map(gvk_key).collect();
        self.registrars.inventory.replace(wanted);
        let gone: Vec<_> = self.sync.kinds.keys().filter(|key| !keys.contains(*key)).cloned().collect();
        for key in gone {
            for object in self.sync.kinds.remove(&key).into_iter().flat_map(|kind| kind.objects.into_values())
            {
                self.drop_object(&object);
            }
        }
    }

    /// A kind that is not served keeps no pod from becoming ready; it is watched as soon as it is served.
    pub(super) fn on_look(&mut self, (gvk, missing): Look) {
        let Some(reason) = missing else { return };
        tracing::warn!(kind = gvk.kind, reason, "cannot be referred to");
        let waiting = self.sync.kinds.get(&gvk_key(&gvk)).into_iter().flat_map(|kind| &kind.waiting);
        waiting.for_each(|source| source.list_fails(Failure::Permanent, reason.clone()));
    }

    pub(super) fn on_inventory(&mut self, event: WatchEvent) {
        let key = gvk_key(&event.gvk);
        match event.kind {
            EventKind::Applied(object) => self.object_applied(key, &object),
            EventKind::Deleted(object) => self.object_gone(&key, &object),
            EventKind::Synced => {
                let kind = self.sync.kinds.entry(key).or_default();
                kind.synced = true;
                self.lists.append(&mut kind.waiting);
            }
            EventKind::Status(status) if status.is_stuck() => {
                let waiting = self.sync.kinds.get(&key).into_iter().flat_map(|kind| &kind.waiting);
                waiting.for_each(|source| source.list_fails(Failure::Permanent, status.to_string()));
            }
            _ => {}
        }
    }

    /// An object on its way out is as good as gone: what replaces it must not clash with it.
    fn object_applied(&mut self, key: GvkKey, object: &WatchedObject) {
        if object.metadata().deletion_timestamp.is_some() {
            return self.object_gone(&key, object);
        }
        let document = Document::from_text(object.json().to_owned());
        let Ok(document) = document else { return };
        if self.policies.put_object(&AdmissionTarget, document.clone()).is_ok() {
            self.sync.kinds.entry(key).or_default().objects.insert(name(object), document);
            self.changed = true;
        }
    }

    fn object_gone(&mut self, key: &GvkKey, object: &WatchedObject) {
        let stored = self.sync.kinds.get_mut(key).and_then(|kind| kind.objects.remove(&name(object)));
        if let Some(document) = stored {
            self.drop_object(&document);
        }
    }

    fn drop_object(&mut self, document: &Document) {
        // It was put there under the path it is removed from, so it has one.
        let _ = self.policies.remove_object(&AdmissionTarget, document);
        self.changed = true;
    }
}

/// Whether the API server serves a kind; why not, if it says so.
async fn look(client: kube::Client, gvk: GroupVersionKind) -> Look {
    let missing = kube::discovery::pinned_kind(&client, &gvk).await.err().map(|error| error.to_string());
    (gvk, missing)
}

fn name(object: &WatchedObject) -> (Option<String>, String) {
    (object.namespace().map(str::to_owned), object.name().to_owned())
}
