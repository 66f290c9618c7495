//! The events of one kind as those of `kube::runtime::watcher`.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;

use super::read;
use crate::error::ObjectDecodeError;
use crate::event::{EventKind, WatchEvent};
use crate::object::{ObjectKey, WatchedObject};

/// Returns the events of a registrar with one kind as `Init`, `InitApply`, `InitDone`, `Apply` and `Delete`: for a
/// `reflector`, a readiness tracker, or any consumer of `kube::runtime::watcher`.
///
/// Changes of state are not passed on.
///
/// # Guarantees
/// - `Init` comes first, and again when the kind is removed and added, asked for in another scope, or replaced by another:
///   its objects follow, and what the consumer held besides is gone.
/// - `InitDone` comes after the last object of the snapshot. An object that is deleted in between is deleted after
///   `InitDone`, because consumers replace their state then.
///
/// # Errors
/// [`ObjectDecodeError`] names an object that does not have the shape of `K`. The stream goes on after it.
pub fn watcher_events<K: DeserializeOwned>(
    events: impl Stream<Item = WatchEvent>,
) -> impl Stream<Item = Result<Event<K>, ObjectDecodeError>> {
    let mut translator = Translator::default();
    let rest = events.flat_map(move |event| {
        let gvk = Arc::clone(&event.gvk);
        let events = translator.translate(event).into_iter();
        stream::iter(events.map(move |event| parse(event, |object, deleted| read(&gvk, object, deleted))))
    });
    stream::iter([Ok(Event::Init)]).chain(rest)
}

/// Makes kube-runtime's events of a registrar's. The first `Init` is the caller's.
#[derive(Default)]
pub(crate) struct Translator {
    /// The epoch of the kind; `None` before its first event.
    epoch: Option<u64>,
    phase: Phase,
}

enum Phase {
    /// The snapshot is delivered; these objects were deleted meanwhile.
    Init(HashMap<ObjectKey, Arc<WatchedObject>>),
    Done,
}

impl Default for Phase {
    fn default() -> Self {
        Self::Init(HashMap::new())
    }
}

// === impl Translator ===

impl Translator {
    pub(crate) fn translate(&mut self, event: WatchEvent) -> Vec<Event<Arc<WatchedObject>>> {
        let restarts = self.epoch.replace(event.epoch).is_some_and(|epoch| epoch != event.epoch);
        let mut events = Vec::new();
        if restarts {
            self.phase = Phase::default();
            events.push(Event::Init);
        }
        match (event.kind, &mut self.phase) {
            (EventKind::Applied(object), Phase::Init(deleted)) => {
                deleted.remove(object.key());
                events.push(Event::InitApply(object));
            }
            (EventKind::Deleted(object), Phase::Init(deleted)) => {
                deleted.insert(object.key().clone(), object);
            }
            (EventKind::Synced, Phase::Init(deleted)) => {
                events.push(Event::InitDone);
                events.extend(deleted.drain().map(|(_, object)| Event::Delete(object)));
                self.phase = Phase::Done;
            }
            (EventKind::Applied(object), Phase::Done) => events.push(Event::Apply(object)),
            (EventKind::Deleted(object), Phase::Done) => events.push(Event::Delete(object)),
            (EventKind::Synced, Phase::Done) | (EventKind::Status(_) | EventKind::Lagged, _) => {}
        }
        events
    }
}

/// The event with its object read; `true` stands for a deleted one.
pub(crate) fn parse<T, K, E>(
    event: Event<Arc<T>>,
    read: impl FnOnce(&Arc<T>, bool) -> Result<K, E>,
) -> Result<Event<K>, E> {
    Ok(match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(read(&object, false)?),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(read(&object, false)?),
        Event::Delete(object) => Event::Delete(read(&object, true)?),
    })
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
