//! Referential data: the objects of the kinds that SyncSets and the Config ask for. Which kinds those are is in
//! `sources`.

use constraint_framework::review::Document;
use constraint_framework::target::AdmissionTarget;
use pod_status::readiness::Failure;
use watch_manager::{EventKind, GvkStatus, WatchEvent, WatchedObject};

use super::Ingest;
use super::sources::{GvkKey, gvk_key};

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
                waiting.for_each(|source| source.list_fails(Failure::Transient, status.to_string()));
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

    pub(super) fn drop_object(&mut self, document: &Document) {
        // It was put there under the path it is removed from, so it has one.
        let _ = self.policies.remove_object(&AdmissionTarget, document);
        self.changed = true;
    }
}

fn name(object: &WatchedObject) -> (Option<String>, String) {
    (object.namespace().map(str::to_owned), object.name().to_owned())
}
