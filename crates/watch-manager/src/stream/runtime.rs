//! The events of one kind as those of `kube::runtime::watcher`.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;

use super::read;
use crate::error::OtherShape;
use crate::event::{EventKind, WatchEvent};
use crate::intents::Gvk;
use crate::object::{ObjectKey, WatchedObject};

/// The events of a registrar with one kind as `Init`, `InitApply`, `InitDone`, `Apply` and `Delete`: for a
/// `reflector`, a readiness tracker, or any consumer of `kube::runtime::watcher`.
///
/// `Init` comes once, first; `InitDone` after the last object of the snapshot. An object that is deleted in between
/// is deleted after `InitDone`, because consumers replace their state then. Changes of state are not passed on. An
/// object that does not have the shape of `K` is an error that names it, after which the stream goes on.
pub fn watcher_events<K: DeserializeOwned>(
    events: impl Stream<Item = WatchEvent>,
) -> impl Stream<Item = Result<Event<K>, OtherShape>> {
    let mut init = Some(HashMap::new());
    let rest = events.flat_map(move |event| stream::iter(convert(&mut init, &event.gvk, event.kind)));
    stream::iter([Ok(Event::Init)]).chain(rest)
}

/// Objects that were deleted while the snapshot is delivered; `None` after it.
type Deleted = Option<HashMap<ObjectKey, Arc<WatchedObject>>>;

fn convert<K: DeserializeOwned>(
    init: &mut Deleted,
    gvk: &Gvk,
    event: EventKind,
) -> Vec<Result<Event<K>, OtherShape>> {
    match (event, &mut *init) {
        (EventKind::Applied(object), Some(deleted)) => {
            deleted.remove(object.key());
            vec![read(gvk, &object, false).map(Event::InitApply)]
        }
        (EventKind::Deleted(object), Some(deleted)) => {
            deleted.insert(object.key().clone(), object);
            Vec::new()
        }
        (EventKind::Synced, Some(_)) => {
            let deleted = init.take().unwrap_or_default().into_values();
            let deleted = deleted.map(|object| read(gvk, &object, true).map(Event::Delete));
            std::iter::once(Ok(Event::InitDone)).chain(deleted).collect()
        }
        (EventKind::Applied(object), None) => vec![read(gvk, &object, false).map(Event::Apply)],
        (EventKind::Deleted(object), None) => vec![read(gvk, &object, true).map(Event::Delete)],
        (EventKind::Synced, None) | (EventKind::Status(_) | EventKind::Lagged, _) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::fixture::object;

    #[test]
    fn a_delete_before_the_end_of_the_snapshot_comes_after_it() {
        let kind = Arc::new(crate::GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let events = [
            EventKind::Applied(object(&kind, "a", 1, 1)),
            EventKind::Applied(object(&kind, "b", 2, 2)),
            EventKind::Deleted(object(&kind, "a", 1, 3)),
            EventKind::Synced,
            EventKind::Deleted(object(&kind, "b", 2, 4)),
        ];
        let events = events.map(|event| WatchEvent::new(kind.clone(), event));
        let seen =
            watcher_events::<ConfigMap>(stream::iter(events)).collect::<Vec<_>>().now_or_never().unwrap();
        let words: Vec<_> = seen
            .into_iter()
            .map(|event| match event.unwrap() {
                Event::Init => "init".to_owned(),
                Event::InitApply(map) => format!("init {}", map.metadata.name.unwrap()),
                Event::InitDone => "done".to_owned(),
                Event::Apply(map) => format!("apply {}", map.metadata.name.unwrap()),
                Event::Delete(map) => format!("delete {}", map.metadata.name.unwrap()),
            })
            .collect();
        assert_eq!(words, ["init", "init a", "init b", "done", "delete a", "delete b"]);
    }
}
