//! Watches of single objects of the operator, each by a manager of its own.
//!
//! The manager of the policies would watch the union of all that is asked for: where a `SyncSet` names CRDs, the watch of
//! the constraint CRDs would become one of all. And its watches are renewed every five minutes, these every minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use kube::core::{ApiResource, GroupVersionKind};
use watch_manager::{
    Config, EventKind, GvkStatus, Interest, KubeSource, ObjectKey, WatchEvent, WatchManager, WatchedObject,
};

/// The API server ends each watch after this time, which bounds how long a dead connection goes unnoticed.
const WATCH: Duration = Duration::from_secs(60);
/// A restarted API server refuses everything until it knows all rights, so a refusal is soon tried again.
const REFUSED: Duration = Duration::from_secs(30);
/// CRDs are large; more of them at once would only be kept as text for longer.
const PAGE: u32 = 50;

/// An event of such a watch.
#[derive(Debug)]
pub(crate) enum OwnEvent {
    /// All objects that exist: first of all, and again after each interruption. It also ends what a caller knows from the
    /// answers to its own writes alone.
    Listed(Vec<Arc<WatchedObject>>),
    /// The object is new or has changed.
    Changed(Arc<WatchedObject>),
    /// The object is gone, or has left the selection.
    Gone(Arc<WatchedObject>),
    /// The objects cannot be listed or watched, for this reason; it is tried again.
    Failed(String),
}

/// Starts watches. Clones share the answers of discovery.
#[derive(Clone)]
pub(crate) struct OwnWatches(KubeSource);

/// The state that the events so far amount to.
#[derive(Debug, Default)]
struct Fold {
    objects: BTreeMap<ObjectKey, Arc<WatchedObject>>,
    listed: bool,
    /// The watch was interrupted since the last complete list.
    interrupted: bool,
}

impl OwnWatches {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self(KubeSource::new(client))
    }

    /// A source for other watches that shares the answers, too.
    pub(crate) fn source(&self) -> KubeSource {
        self.0.clone()
    }

    /// The events, for ever. Polling them does the work.
    pub(crate) fn watch(&self, interest: Interest) -> BoxStream<'static, OwnEvent> {
        let mut config = Config::default();
        (config.watch_timeout, config.refused.max, config.page_size) = (WATCH, REFUSED, PAGE);
        config.watch_definitions = false;
        folded(WatchManager::builder_with_source(self.0.clone()).config(config).watch(interest))
    }
}

/// Changes that the events of one kind of an ordered registrar describe.
pub(crate) fn folded(
    events: impl Stream<Item = WatchEvent> + Send + 'static,
) -> BoxStream<'static, OwnEvent> {
    let mut fold = Fold::default();
    events.flat_map(move |event| stream::iter(fold.apply(event))).boxed()
}

impl Fold {
    fn apply(&mut self, event: WatchEvent) -> Option<OwnEvent> {
        match event.kind {
            EventKind::Applied(object) => {
                self.objects.insert(object.key().clone(), Arc::clone(&object));
                self.listed.then_some(OwnEvent::Changed(object))
            }
            EventKind::Deleted(object) => {
                self.objects.remove(object.key());
                self.listed.then_some(OwnEvent::Gone(object))
            }
            EventKind::Synced | EventKind::Lagged => Some(self.list()),
            EventKind::Status(GvkStatus::Ready) => self.interrupted.then(|| self.list()),
            EventKind::Status(GvkStatus::Listing) => None,
            EventKind::Status(status) => {
                self.interrupted = self.listed;
                Some(OwnEvent::Failed(status.to_string()))
            }
            _ => None,
        }
    }

    fn list(&mut self) -> OwnEvent {
        (self.listed, self.interrupted) = (true, false);
        OwnEvent::Listed(self.objects.values().cloned().collect())
    }
}

/// All CustomResourceDefinitions.
pub(crate) fn crds() -> Interest {
    Interest::new(crd_kind())
}

/// The resource of CustomResourceDefinitions.
pub(crate) fn crd_resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&crd_kind(), "customresourcedefinitions")
}

fn crd_kind() -> GroupVersionKind {
    GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(fold: &mut Fold, kinds: impl IntoIterator<Item = EventKind>) -> Vec<String> {
        let gvk = GroupVersionKind::gvk("", "v1", "Secret");
        let events = kinds.into_iter().map(|kind| WatchEvent::new(gvk.clone(), kind));
        let word = |event| match event {
            OwnEvent::Listed(objects) => {
                format!("all {:?}", objects.iter().map(|object| object.name()).collect::<Vec<_>>())
            }
            OwnEvent::Changed(object) => format!("changed {}", object.name()),
            OwnEvent::Gone(object) => format!("gone {}", object.name()),
            OwnEvent::Failed(reason) => reason,
        };
        events.filter_map(|event| fold.apply(event)).map(word).collect()
    }

    fn secret(name: &str) -> Arc<WatchedObject> {
        let gvk = GroupVersionKind::gvk("", "v1", "Secret");
        Arc::new(WatchedObject::from_value(&gvk, &json!({"metadata": {"name": name}})).unwrap())
    }

    #[test]
    fn what_exists_is_said_at_the_start_and_after_each_interruption() {
        let ready = || EventKind::Status(GvkStatus::Ready);
        let mut fold = Fold::default();
        let start = [
            EventKind::Status(GvkStatus::Listing),
            EventKind::Applied(secret("a")),
            EventKind::Synced,
            ready(),
        ];
        assert_eq!(words(&mut fold, start), [r#"all ["a"]"#]);
        let changes = [EventKind::Applied(secret("b")), EventKind::Deleted(secret("a"))];
        assert_eq!(words(&mut fold, changes), ["changed b", "gone a"]);
        let interruption = [EventKind::Status(GvkStatus::Pending), ready(), ready()];
        assert_eq!(words(&mut fold, interruption), ["not served yet", r#"all ["b"]"#]);
    }
}
