//! Adapters for streams of [`WatchEvent`]s: one kind of several, typed objects, keys, changes of a part, and (feature
//! `runtime`) kube-runtime's own events.
//!
//! They are for [`Registrar::events`](crate::Registrar::events). A registrar is cheap: one for each purpose is better
//! than one whose events are divided.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use serde::de::DeserializeOwned;

use crate::error::ObjectDecodeError;
use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::intents::Gvk;
use crate::object::ObjectKey;
use crate::{GroupVersionKind, WatchedObject};

#[cfg(feature = "runtime")]
pub(crate) mod runtime;

#[cfg(feature = "runtime")]
pub use self::runtime::watcher_events;

/// A [`WatchEvent`] whose objects are parsed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TypedEvent<K> {
    /// The object was created or modified.
    Applied(K),
    /// The object was deleted; its last known form.
    Deleted(K),
    /// Every object that existed when the kind was listed has been delivered.
    Synced,
    /// The watch changed state.
    Status(GvkStatus),
    /// The latest changes of each object follow, without those before.
    Lagged,
    /// The kind was removed and added again, or asked for in another scope: a new snapshot begins, and what is known of its
    /// objects from before is void.
    Restarted,
}

/// The epoch of each kind.
#[derive(Default)]
struct Epochs(HashMap<Gvk, u64>);

/// Adapters for streams of [`WatchEvent`]s.
pub trait WatchEventStreamExt: Stream<Item = WatchEvent> + Sized {
    /// Keeps the events of one kind and drops the others.
    fn of_kind(self, gvk: GroupVersionKind) -> impl Stream<Item = WatchEvent> {
        self.filter(move |event| std::future::ready(*event.gvk == gvk))
    }

    /// Reads the objects as `K`. An object that does not have the shape of `K` is an error that names it, after which the
    /// stream goes on.
    fn typed<K: DeserializeOwned>(self) -> impl Stream<Item = Result<TypedEvent<K>, ObjectDecodeError>> {
        let mut epochs = Epochs::default();
        self.flat_map(move |event| {
            let restarted = epochs.restarts(&event).then_some(Ok(TypedEvent::Restarted));
            stream::iter(restarted.into_iter().chain([typed(&event)]))
        })
    }

    /// Yields the kind and key of each object that changed or was deleted: the input of a work queue.
    fn keys(self) -> impl Stream<Item = (Gvk, ObjectKey)> {
        self.filter_map(|event| {
            let key = event.kind.object().map(|object| (event.gvk.clone(), object.key().clone()));
            std::future::ready(key)
        })
    }

    /// Drops changes that leave `part` as it was, for instance [`WatchedObject::generation`]. Keeps the part of each
    /// live object. A new snapshot is passed on whole.
    fn changed<P: PartialEq>(self, part: impl Fn(&WatchedObject) -> P) -> impl Stream<Item = WatchEvent> {
        let mut known: HashMap<(Gvk, ObjectKey), P> = HashMap::new();
        let mut epochs = Epochs::default();
        self.filter(move |event| {
            if epochs.restarts(event) {
                known.retain(|(gvk, _), _| *gvk != event.gvk);
            }
            let passes = match &event.kind {
                EventKind::Applied(object) => {
                    let part = part(object);
                    let key = (event.gvk.clone(), object.key().clone());
                    let same = known.get(&key) == Some(&part);
                    known.insert(key, part);
                    !same
                }
                EventKind::Deleted(object) => {
                    known.remove(&(event.gvk.clone(), object.key().clone()));
                    true
                }
                EventKind::Synced | EventKind::Status(_) | EventKind::Lagged => true,
            };
            std::future::ready(passes)
        })
    }
}

impl<S: Stream<Item = WatchEvent>> WatchEventStreamExt for S {}

// === impl Epochs ===

impl Epochs {
    /// Returns true if the event is the first of a new stay of a kind that had one before.
    fn restarts(&mut self, event: &WatchEvent) -> bool {
        let former = self.0.insert(Arc::clone(&event.gvk), event.epoch);
        former.is_some_and(|epoch| epoch != event.epoch)
    }
}

fn typed<K: DeserializeOwned>(event: &WatchEvent) -> Result<TypedEvent<K>, ObjectDecodeError> {
    Ok(match &event.kind {
        EventKind::Applied(object) => TypedEvent::Applied(read(&event.gvk, object, false)?),
        EventKind::Deleted(object) => TypedEvent::Deleted(read(&event.gvk, object, true)?),
        EventKind::Synced => TypedEvent::Synced,
        EventKind::Status(status) => TypedEvent::Status(status.clone()),
        EventKind::Lagged => TypedEvent::Lagged,
    })
}

/// The object as a `K`.
fn read<K: DeserializeOwned>(
    gvk: &Gvk,
    object: &WatchedObject,
    deleted: bool,
) -> Result<K, ObjectDecodeError> {
    let other =
        |source| ObjectDecodeError { gvk: Arc::clone(gvk), key: object.key().clone(), deleted, source };
    object.parse().map_err(other)
}

impl EventKind {
    /// Returns the object of the event, if it is about one.
    pub fn object(&self) -> Option<&Arc<WatchedObject>> {
        match self {
            Self::Applied(object) | Self::Deleted(object) => Some(object),
            Self::Synced | Self::Status(_) | Self::Lagged => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    fn applied(kind: &str, name: &str, generation: u64) -> WatchEvent {
        let gvk = crate::fixture::gvk(kind);
        let json = json!({"metadata": {"name": name, "generation": generation}});
        let object = Arc::new(WatchedObject::from_value(&gvk, &json).unwrap());
        WatchEvent::new(gvk, EventKind::Applied(object))
    }

    fn names(events: impl Stream<Item = WatchEvent>) -> Vec<String> {
        let name = |event: WatchEvent| event.kind.object().unwrap().name().to_owned();
        events.map(name).collect::<Vec<_>>().now_or_never().unwrap()
    }

    #[test]
    fn one_kind_of_several() {
        let events = stream::iter([applied("A", "a", 1), applied("B", "b", 1)]);
        assert_eq!(names(events.of_kind((*crate::fixture::gvk("B")).clone())), ["b"]);
    }

    #[test]
    fn changes_of_a_part() {
        let events = stream::iter([applied("A", "a", 1), applied("A", "a", 1), applied("A", "a", 2)]);
        assert_eq!(names(events.changed(WatchedObject::generation)).len(), 2);
    }

    #[test]
    fn typed_objects_and_errors() {
        #[derive(serde::Deserialize)]
        struct Lamp {
            watts: u32,
        }
        let event = |json| {
            let gvk = crate::fixture::gvk("Lamp");
            let object = WatchedObject::from_value(&gvk, &json).unwrap();
            WatchEvent::new(gvk, EventKind::Applied(Arc::new(object)))
        };
        let mut deleted = event(json!({"metadata": {"name": "a"}, "watts": "none"}));
        if let EventKind::Applied(object) = deleted.kind {
            deleted.kind = EventKind::Deleted(object);
        }
        let events = stream::iter([
            event(json!({"metadata": {"name": "a"}, "watts": 3})),
            event(json!({"metadata": {"name": "b"}})),
            deleted,
            WatchEvent::new(crate::fixture::gvk("Lamp"), EventKind::Synced),
        ]);
        let typed: Vec<_> = events.typed::<Lamp>().collect().now_or_never().unwrap();
        let [Ok(TypedEvent::Applied(Lamp { watts: 3 })), Err(b), Err(a), Ok(TypedEvent::Synced)] = &typed[..]
        else {
            panic!("other events")
        };
        assert_eq!((b.key.name(), b.deleted, a.key.name(), a.deleted), ("b", false, "a", true));
        assert_eq!(b.to_string(), "the Lamp b does not have the shape of the type that it is read as");
        assert!(b.source.to_string().starts_with("missing field `watts`"), "{}", b.source);
    }
}
