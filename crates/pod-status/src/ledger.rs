//! What this pod wants to be stored, in memory, and which report objects still differ from it. No I/O.
//!
//! Calls change the wanted state; the writer asks for the next object to write and says what became of it.
//! Whatever the interleaving, once every write has succeeded the stored state is the wanted one, and a call
//! that changes nothing causes no write.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::parent::{ParentKey, ParentRef};
use crate::report::{Entry, Member, PodError, PodReport, REGISTRATION, bounded};

/// A write that the writer is to carry out: the wanted content of one report object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    pub(crate) shard: u32,
    /// Nothing when the object is to be deleted.
    pub(crate) report: Option<PodReport>,
    /// The state of the ledger that this write stores.
    version: u64,
}

/// The wanted state of all report objects of one run.
#[derive(Debug)]
pub(crate) struct Ledger {
    member: Member,
    shards: u32,
    entries: BTreeMap<u32, BTreeMap<ParentRef, Entry>>,
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

impl Ledger {
    /// An empty ledger whose registration is still to be written.
    pub(crate) fn new(member: Member, shards: u32) -> Self {
        Self {
            member,
            shards: shards.max(1),
            entries: BTreeMap::new(),
            dirty: BTreeMap::from([(REGISTRATION, Unstored { first: 1, last: 1 })]),
            stored: BTreeSet::new(),
            version: 1,
            registered: false,
            withdrawn: false,
        }
    }

    /// Records the outcome of ingesting `generation` of `parent`. Returns whether anything changed.
    ///
    /// An outcome for an older generation of the same object is late and changes nothing. An object with
    /// the same name and another uid replaces its predecessor.
    pub(crate) fn ingested(
        &mut self,
        parent: &ParentKey,
        generation: i64,
        outcome: Result<(), Vec<PodError>>,
        detail: Value,
    ) -> bool {
        let errors = bounded(outcome.err().unwrap_or_default());
        // The schema of a report refuses anything else, and with it all other entries of the shard.
        let detail = if detail.is_object() { detail } else { Value::Null };
        let entry = Entry { parent: parent.clone(), generation, errors, detail };
        let shard = self.shard_of(&parent.reference);
        let entries = self.entries.entry(shard).or_default();
        match entries.get(&parent.reference) {
            Some(known) if *known == entry => return false,
            Some(known) if known.parent.uid == parent.uid && known.generation > generation => return false,
            _ => {}
        }
        entries.insert(parent.reference.clone(), entry);
        self.touch(shard);
        true
    }

    /// Forgets `parent`, unless an object with another uid has taken its name since.
    pub(crate) fn removed(&mut self, parent: &ParentKey) -> bool {
        let shard = self.shard_of(&parent.reference);
        let entries = self.entries.entry(shard).or_default();
        if entries.get(&parent.reference).is_none_or(|known| known.parent.uid != parent.uid) {
            return false;
        }
        entries.remove(&parent.reference);
        self.touch(shard);
        true
    }

    /// Marks the registration for writing, with the next heartbeat.
    pub(crate) fn beat(&mut self) {
        self.member.heartbeat = Some(self.member.heartbeat.unwrap_or_default().wrapping_add(1));
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
    /// another run are marked for writing. `found` maps shard numbers to contents; an unreadable content
    /// is nothing.
    pub(crate) fn verify(&mut self, found: &BTreeMap<u32, Option<PodReport>>) {
        let known = self.stored.iter().chain(found.keys()).copied().collect::<BTreeSet<_>>();
        self.stored = found.keys().copied().collect();
        for shard in known {
            let wanted = self.content(shard);
            if found.get(&shard).cloned().unwrap_or_default() != wanted {
                self.touch(shard);
            }
        }
    }

    /// The objects that are not known to be as wanted, the registration before all others.
    pub(crate) fn dirty(&self) -> impl Iterator<Item = u32> {
        self.dirty.keys().copied()
    }

    /// The write that makes one object as wanted.
    pub(crate) fn write(&self, shard: u32) -> Write {
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
        if write.report.is_some() {
            self.stored.insert(write.shard);
        } else {
            self.stored.remove(&write.shard);
        }
        if write.shard == REGISTRATION {
            self.registered = write.report.is_some();
        }
    }

    /// Whether the API server holds the registration of this run.
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
        let entries: Vec<Entry> =
            self.entries.get(&shard).map(|entries| entries.values().cloned().collect()).unwrap_or_default();
        let wanted = !self.withdrawn && (shard == REGISTRATION || !entries.is_empty());
        wanted.then(|| PodReport { pod: self.pod(shard), shard, entries })
    }

    /// Heartbeats belong to the registration alone; they do not make the shards differ.
    fn pod(&self, shard: u32) -> Member {
        let mut pod = self.member.clone();
        if shard != REGISTRATION {
            pod.heartbeat = None;
        }
        pod
    }

    /// Shards are numbered from 1. The reference decides, not the uid: a recreated parent takes the place
    /// of its predecessor in one write.
    fn shard_of(&self, parent: &ParentRef) -> u32 {
        let mut hash = Sha256::new();
        for part in
            [&parent.group, &parent.kind, parent.namespace.as_deref().unwrap_or_default(), &parent.name]
        {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let number = digest.iter().take(4).fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        number.checked_rem(self.shards).unwrap_or_default().saturating_add(1)
    }
}

#[cfg(test)]
mod tests;
