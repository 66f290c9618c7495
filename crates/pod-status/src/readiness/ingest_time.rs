//! The times from the event of a generation to its being in force, for the histogram
//! `pod_status_time_to_ingest_seconds`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::expectations::SourceId;
use crate::parent::{ParentKey, ParentRef};

type Place = (SourceId, ParentRef);

/// The newest generation of each object, and when it was received.
#[derive(Debug, Default)]
pub(super) struct IngestTimes {
    received: BTreeMap<Place, Received>,
    /// The objects of the lists in progress.
    listed: BTreeMap<SourceId, BTreeSet<ParentRef>>,
}

#[derive(Debug)]
struct Received {
    uid: String,
    generation: i64,
    /// Nothing once the generation is in force.
    since: Option<Instant>,
}

impl Received {
    fn covers(&self, object: &ParentKey, generation: i64) -> bool {
        self.uid == object.uid && self.generation >= generation
    }
}

impl IngestTimes {
    /// A generation was received. Repeated events do not restart its time.
    pub(super) fn received(&mut self, source: SourceId, object: &ParentKey, generation: i64, now: Instant) {
        if let Some(listed) = self.listed.get_mut(&source) {
            listed.insert(object.reference.clone());
        }
        let place = (source, object.reference.clone());
        if self.received.get(&place).is_none_or(|known| !known.covers(object, generation)) {
            let received = Received { uid: object.uid.clone(), generation, since: Some(now) };
            self.received.insert(place, received);
        }
    }

    /// A generation is in force. Returns the time that this took, once for each generation.
    pub(super) fn ingested(
        &mut self,
        source: SourceId,
        object: &ParentKey,
        generation: i64,
        now: Instant,
    ) -> Option<Duration> {
        let known = self.received.get_mut(&(source, object.reference.clone()))?;
        let is_it = known.uid == object.uid && known.generation <= generation;
        known.since.take_if(|_| is_it).map(|since| now.saturating_duration_since(since))
    }

    pub(super) fn removed(&mut self, source: SourceId, object: &ParentKey) {
        self.received.remove(&(source, object.reference.clone()));
    }

    pub(super) fn list_begins(&mut self, source: SourceId) {
        self.listed.insert(source, BTreeSet::new());
    }

    pub(super) fn list_ends(&mut self, source: SourceId) {
        if let Some(listed) = self.listed.remove(&source) {
            self.received.retain(|(known, object), _| *known != source || listed.contains(object));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(uid: &str) -> ParentKey {
        ParentKey::new(ParentRef::new("g", "K", "o"), uid)
    }

    #[test]
    fn each_generation_is_measured_once_from_its_first_event() {
        let start = Instant::now();
        let at = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        let taken = |seconds| Some(Duration::from_secs(seconds));
        let mut times = IngestTimes::default();
        assert_eq!(times.ingested(0, &object("u"), 1, at(0)), None, "it was not received");
        times.received(0, &object("u"), 1, at(0));
        times.received(0, &object("u"), 1, at(5));
        assert_eq!(times.ingested(0, &object("v"), 1, at(7)), None, "another object of the name");
        assert_eq!(times.ingested(1, &object("u"), 1, at(7)), None, "another source");
        assert_eq!(times.ingested(0, &object("u"), 1, at(7)), taken(7));
        assert_eq!(times.ingested(0, &object("u"), 1, at(8)), None, "once");
        times.received(0, &object("u"), 1, at(9));
        assert_eq!(times.ingested(0, &object("u"), 1, at(10)), None, "an event that changes nothing");

        times.received(0, &object("u"), 2, at(20));
        times.received(0, &object("u"), 3, at(30));
        assert_eq!(times.ingested(0, &object("u"), 2, at(31)), None, "it has been superseded");
        assert_eq!(times.ingested(0, &object("u"), 3, at(32)), taken(2));
        times.received(0, &object("w"), 1, at(40));
        assert_eq!(times.ingested(0, &object("w"), 1, at(41)), taken(1), "recreated");
    }

    #[test]
    fn objects_that_are_gone_are_forgotten() {
        let now = Instant::now();
        let mut times = IngestTimes::default();
        times.received(0, &object("u"), 1, now);
        times.removed(0, &object("u"));
        assert!(times.received.is_empty());
        times.received(0, &object("u"), 1, now);
        times.received(1, &object("u"), 1, now);
        times.list_begins(0);
        times.list_ends(0);
        assert_eq!(times.received.len(), 1, "that of the other source");
        times.list_begins(1);
        times.received(1, &object("u"), 1, now);
        times.list_ends(1);
        assert_eq!(times.received.len(), 1, "the list has it");
    }
}
