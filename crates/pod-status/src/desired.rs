//! The wanted state of this run's report objects, in memory, and which of them still differ from it. No I/O.
//!
//! Calls change the wanted state; the writer asks for the next object to write and notes the result.
//! Whatever the interleaving, once every write has succeeded the stored state is the wanted one, and a call
//! that changes nothing causes no write.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use crate::bounds;
use crate::parent::ParentKey;
use crate::report::{Entry, Member, PodError, PodReport, REGISTRATION};

mod reduced;
mod shards;

use reduced::Reduced;
pub(crate) use shards::OwnReports;
use shards::{Halved, Shards};

/// A write that the writer is to carry out: the wanted content of one report object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    pub(crate) shard: u32,
    /// Nothing when the object is to be deleted.
    pub(crate) report: Option<PodReport>,
    /// The version of the desired state that this write stores.
    version: u64,
}

/// The result of a write that the API server has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The object is as wanted.
    Done,
    /// Another client has deleted the object since this run wrote it; nothing was written.
    Deleted,
}

/// The wanted state of all report objects of one run.
#[derive(Debug)]
pub(crate) struct DesiredReports {
    member: Member,
    entries: BTreeMap<ParentKey, Entry>,
    shards: Shards,
    /// Entries that are not stored as they were reported.
    reduced: Reduced,
    retired: Retired,
    /// Objects that are not known to be as wanted.
    dirty: BTreeMap<u32, Unstored>,
    /// Shards that exist in the API server, as far as this process knows.
    stored: BTreeSet<u32>,
    version: u64,
    registered: bool,
    withdrawn: bool,
}

/// The versions of the first and the last change of an object that are not stored.
#[derive(Clone, Copy, Debug)]
struct Unstored {
    first: u64,
    last: u64,
}

impl DesiredReports {
    /// Desired state without entries, whose registration is still to be written. `shard_bytes` is the size beyond which an
    /// object gets no more entries; the reports about `own` are stored by themselves.
    pub(crate) fn new(member: Member, shard_bytes: usize, own: OwnReports) -> Self {
        Self {
            member,
            entries: BTreeMap::new(),
            shards: Shards::new(shard_bytes, own),
            reduced: Reduced::default(),
            retired: Retired::default(),
            dirty: BTreeMap::from([(REGISTRATION, Unstored { first: 1, last: 1 })]),
            stored: BTreeSet::new(),
            version: 1,
            registered: false,
            withdrawn: false,
        }
    }

    /// Records the outcome of ingesting `generation` of `parent`. Returns whether anything changed.
    ///
    /// An outcome for an older generation of the same object is late and changes nothing, nor does one for
    /// an object that was removed. Outcomes for two objects of the same name are kept beside each other,
    /// because nothing shows which one is the predecessor: the aggregator picks the one that exists.
    pub(crate) fn ingested(
        &mut self,
        parent: &ParentKey,
        generation: i64,
        outcome: Result<(), Vec<PodError>>,
        detail: &impl Serialize,
    ) -> bool {
        let errors = match outcome {
            Ok(()) => Vec::new(),
            // Without an error the entry would be a success.
            Err(errors) if errors.is_empty() => vec![PodError::without_reason()],
            Err(errors) => PodError::bounded(errors),
        };
        let entry = Entry::new(parent.clone(), generation).errors(errors).detail(detail);
        let enforcing = self.entries.get(parent).and_then(|known| self.reduced.whole(known).enforcing);
        self.record(Entry { enforcing, ..entry })
    }

    /// Records which generation of `parent` is in force, if that is not the ingested one.
    pub(crate) fn enforcing(&mut self, parent: &ParentKey, generation: Option<i64>) -> bool {
        let Some(entry) = self.entries.get(parent).map(|known| self.reduced.whole(known).clone()) else {
            return false;
        };
        self.record(Entry { enforcing: generation, ..entry })
    }

    fn record(&mut self, mut entry: Entry) -> bool {
        if self.retired.contains(&entry.parent.uid) {
            return false;
        }
        if let Some(known) = self.entries.get(&entry.parent).map(|known| self.reduced.whole(known)) {
            entry.sequence = known.sequence;
            if *known == entry || known.generation > entry.generation {
                return false;
            }
        }
        self.reduced.forget(&entry.parent);
        entry.sequence = self.version.saturating_add(1);
        self.keep_two(&entry.parent);
        self.place(entry);
        true
    }

    /// Of other objects with this name, only the one that changed last is kept.
    fn keep_two(&mut self, parent: &ParentKey) {
        let first = ParentKey { uid: String::new(), ..parent.clone() };
        let namesakes = self.entries.range(first..).take_while(|(key, _)| key.reference == parent.reference);
        let mut others: Vec<(u64, ParentKey)> = namesakes
            .filter(|(key, _)| *key != parent)
            .map(|(key, entry)| (entry.sequence, key.clone()))
            .collect();
        others.sort();
        others.pop();
        for (_, key) in others {
            self.removed(&key);
        }
    }

    fn place(&mut self, entry: Entry) {
        let touched = self.shards.place(&entry.parent, bounds::length(&entry));
        self.entries.insert(entry.parent.clone(), entry);
        for shard in touched {
            self.touch(shard);
        }
    }

    /// Forgets `parent`, for good: late outcomes change nothing.
    pub(crate) fn removed(&mut self, parent: &ParentKey) -> bool {
        self.retired.insert(parent.uid.clone());
        self.entries.remove(parent);
        self.reduced.forget(parent);
        let Some(shard) = self.shards.remove(parent) else {
            return false;
        };
        self.touch(shard);
        true
    }

    /// Notes that the API server refuses an object as too large: half of it goes to other objects, and an
    /// entry that is refused alone is shortened, and then reduced to an error.
    pub(crate) fn too_large(&mut self, shard: u32) {
        let entries: Vec<Entry> = match self.shards.halve(shard) {
            Halved::Moved(keys) => keys.iter().filter_map(|key| self.entries.get(key)).cloned().collect(),
            Halved::Alone(key) => {
                self.entries.get(&key).map(|entry| self.reduced.next(entry)).into_iter().collect()
            }
        };
        self.place_again(entries);
        self.touch(shard);
    }

    /// Wants objects as large, and entries as long, as they were before the API server refused some of them.
    fn restore(&mut self) {
        self.shards.relax();
        let entries = self.reduced.restore();
        self.place_again(entries);
    }

    fn place_again(&mut self, entries: Vec<Entry>) {
        let sequence = self.version.saturating_add(1);
        for entry in entries {
            self.place(Entry { sequence, ..entry });
        }
    }

    /// Marks the registration for writing: the heartbeat is due.
    pub(crate) fn beat(&mut self) {
        self.touch(REGISTRATION);
    }

    /// Marks the registration for writing: this run does not serve any more.
    pub(crate) fn stop(&mut self) {
        self.member.stopped = true;
        self.touch(REGISTRATION);
    }

    /// Marks the registration for writing: this run is going to serve without something that exists.
    pub(crate) fn give_up(&mut self) {
        self.member.incomplete = true;
        self.touch(REGISTRATION);
    }

    /// Marks every object for deletion: this run reports no more.
    pub(crate) fn withdraw(&mut self) {
        self.withdrawn = true;
        for shard in self.stored.clone() {
            self.touch(shard);
        }
    }

    /// Compares with what the API server holds: objects that are missing, differ or are left over from
    /// another run are marked for writing, and what was refused as too large is tried again. `found` maps shard numbers to
    /// contents; an unreadable content is nothing.
    pub(crate) fn verify(&mut self, found: &BTreeMap<u32, Option<PodReport>>) {
        let wanted = self.shards.numbers().chain([REGISTRATION]);
        let known: BTreeSet<u32> = self.stored.iter().chain(found.keys()).copied().chain(wanted).collect();
        self.stored = found.keys().copied().collect();
        for shard in known {
            if found.get(&shard).cloned().unwrap_or_default() != self.content(shard) {
                self.touch(shard);
            }
        }
        self.restore();
    }

    /// The objects that are not known to be as wanted, in the order in which they are to be written: the
    /// registration first, then the newest shards, so that an entry that moves is added before it is removed.
    pub(crate) fn dirty(&self) -> impl Iterator<Item = u32> {
        let registration = self.dirty.keys().copied().filter(|shard| *shard == REGISTRATION);
        registration.chain(self.dirty.keys().rev().copied().filter(|shard| *shard != REGISTRATION))
    }

    /// The write that makes one object as wanted. Each write of the registration has a heartbeat of its own: the permit counts
    /// from the last one that was answered, and the aggregator from the first that has the number. If one is carried out and
    /// its answer lost, and the next had the same number, the permit would outlast the aggregator's patience.
    pub(crate) fn write(&mut self, shard: u32) -> Write {
        if shard == REGISTRATION {
            self.member.heartbeat = self.member.heartbeat.map(|heartbeat| heartbeat.wrapping_add(1));
        }
        Write { shard, report: self.content(shard), version: self.version }
    }

    /// Notes that `write` has been carried out. A change since then keeps the object marked.
    pub(crate) fn written(&mut self, write: &Write) {
        match self.dirty.get_mut(&write.shard) {
            Some(unstored) if unstored.last > write.version => {
                unstored.first = unstored.first.max(write.version.saturating_add(1));
            }
            _ => {
                self.dirty.remove(&write.shard);
            }
        }
        if let Some(report) = &write.report {
            self.reduced.stored(&report.entries);
            self.stored.insert(write.shard);
        } else {
            self.stored.remove(&write.shard);
        }
        if write.shard == REGISTRATION {
            self.registered = write.report.is_some();
        }
    }

    /// Returns true if the API server holds the registration of this run.
    pub(crate) fn is_registered(&self) -> bool {
        self.registered
    }

    /// Counts the changes.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Every change up to this version is stored.
    pub(crate) fn stored_version(&self) -> u64 {
        let oldest = self.dirty.values().map(|unstored| unstored.first).min();
        oldest.map_or(self.version, |oldest| oldest.saturating_sub(1))
    }

    fn touch(&mut self, shard: u32) {
        self.version = self.version.saturating_add(1);
        let (first, last) = (self.version, self.version);
        self.dirty.entry(shard).or_insert(Unstored { first, last }).last = last;
    }

    /// The wanted content of one object; nothing if it should not exist.
    fn content(&self, shard: u32) -> Option<PodReport> {
        let keys = self.shards.keys(shard);
        let entries: Vec<Entry> = keys.filter_map(|key| self.entries.get(key)).cloned().collect();
        let wanted = !self.withdrawn && (shard == REGISTRATION || !entries.is_empty());
        wanted.then(|| PodReport { pod: self.pod(shard), shard, entries })
    }

    /// Heartbeats belong to the registration alone; they do not make the shards differ.
    fn pod(&self, shard: u32) -> Member {
        let mut pod = self.member.clone();
        if shard != REGISTRATION {
            (pod.heartbeat, pod.stopped, pod.incomplete) = (None, false, false);
        }
        pod
    }
}

/// Uids of objects that were removed, the last few thousand of them. A uid never comes back.
#[derive(Debug, Default)]
struct Retired {
    uids: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Retired {
    const LIMIT: usize = 4096;

    fn insert(&mut self, uid: String) {
        if self.uids.insert(uid.clone()) {
            self.order.push_back(uid);
        }
        if self.order.len() > Self::LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }

    fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}

#[cfg(test)]
mod tests;
