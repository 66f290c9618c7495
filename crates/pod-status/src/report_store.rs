//! The aggregator's copy of all report objects: who reports about which parent, and which parents are to be
//! looked at again. No I/O.
//!
//! Nothing here decides who is a member: a copy may lag behind, and a member that is missing from the count
//! would make a condition wrong. It only says what has been reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::parent::ParentRef;
use crate::report::{Entry, Member, PodReport};

#[derive(Debug)]
struct Object {
    uid: String,
    report: Arc<PodReport>,
}

/// An entry that is stored by itself, as the API server has it.
#[derive(Debug)]
pub(crate) struct StoredEntry {
    /// `collection/name`
    pub(crate) object: String,
    pub(crate) sequence: u64,
}

/// All report objects, with an index by parent.
#[derive(Debug, Default)]
pub(crate) struct ReportStore {
    objects: BTreeMap<String, Object>,
    index: BTreeMap<ParentRef, BTreeSet<String>>,
    dirty: BTreeSet<ParentRef>,
    /// The objects of the listings in progress, by collection.
    listed: BTreeMap<String, BTreeSet<String>>,
    /// The collections that have been listed.
    complete: BTreeSet<String>,
}

impl ReportStore {
    /// A listing of a collection begins: what it does not contain is gone.
    pub(crate) fn listing_begins(&mut self, collection: &str) {
        self.listed.insert(collection.to_owned(), BTreeSet::new());
    }

    /// The listing is complete.
    pub(crate) fn listing_ends(&mut self, collection: &str) {
        self.complete.insert(collection.to_owned());
        let Some(listed) = self.listed.remove(collection) else { return };
        let is_gone = |name: &&String| collection_of(name) == collection && !listed.contains(*name);
        let gone: Vec<String> = self.objects.keys().filter(is_gone).cloned().collect();
        for name in gone {
            self.remove(&name);
        }
    }

    /// The number of collections that have been listed.
    pub(crate) fn listed(&self) -> usize {
        self.complete.len()
    }

    /// The object `collection/name` exists, with this content. An unreadable content counts as an absent object: its pod is
    /// then waited for.
    pub(crate) fn apply(&mut self, name: &str, uid: String, report: Option<PodReport>) {
        if let Some(listed) = self.listed.get_mut(collection_of(name)) {
            listed.insert(name.to_owned());
        }
        let Some(mut report) = report else {
            return self.remove(name);
        };
        report.entries.sort_by(|a, b| a.parent.reference.cmp(&b.parent.reference));
        let changed = match self.objects.get(name) {
            Some(known) => difference(&known.report, &report),
            None => report.entries.iter().map(|entry| entry.parent.reference.clone()).collect(),
        };
        self.unlink(name);
        for entry in &report.entries {
            self.index.entry(entry.parent.reference.clone()).or_default().insert(name.to_owned());
        }
        self.objects.insert(name.to_owned(), Object { uid, report: Arc::new(report) });
        self.dirty.extend(changed);
    }

    /// An object does not exist any more.
    pub(crate) fn remove(&mut self, name: &str) {
        self.unlink(name);
        if let Some(object) = self.objects.remove(name) {
            self.dirty.extend(object.report.entries.iter().map(|entry| entry.parent.reference.clone()));
        }
    }

    /// Looks at `parent` again.
    pub(crate) fn touch(&mut self, parent: ParentRef) {
        self.dirty.insert(parent);
    }

    /// Looks again at `more` parents and at every one that an object has an entry for.
    pub(crate) fn touch_all(&mut self, more: impl IntoIterator<Item = ParentRef>) {
        self.dirty.extend(self.index.keys().cloned().chain(more));
    }

    /// Returns true if any parent is to be looked at.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The parents to look at; the caller touches again those it could not finish.
    pub(crate) fn take_dirty(&mut self) -> BTreeSet<ParentRef> {
        std::mem::take(&mut self.dirty)
    }

    /// The objects with entries about `parent`, as they are now.
    pub(crate) fn reports(&self, parent: &ParentRef) -> Vec<Arc<PodReport>> {
        let names = self.index.get(parent).into_iter().flatten();
        names.filter_map(|name| self.objects.get(name)).map(|object| object.report.clone()).collect()
    }

    /// The runs that have written objects, each once.
    pub(crate) fn runs(&self) -> BTreeSet<&Member> {
        self.objects.values().map(|object| &object.report.pod).collect()
    }

    /// Returns true if the run has said in its registration that it lacks something.
    pub(crate) fn says_incomplete(&self, run: &Member) -> bool {
        let registration =
            |object: &&Object| object.report.pod.incomplete && object.report.pod.is_same_run(run);
        self.objects.values().any(|object| registration(&object))
    }

    /// Returns true if the run's entry is known as it was stored, or a later one in its place.
    pub(crate) fn has_entry(&self, run: &Member, stored: &StoredEntry) -> bool {
        let object = self.objects.get(&stored.object).filter(|object| object.report.pod.is_same_run(run));
        let sequence = object.and_then(|object| object.report.entries.first()).map(|entry| entry.sequence);
        sequence >= Some(stored.sequence)
    }

    /// Names and uids of the objects that `run` has written.
    pub(crate) fn objects_of(&self, run: &Member) -> Vec<(String, String)> {
        self.objects
            .iter()
            .filter(|(_, object)| object.report.pod.is_same_run(run))
            .map(|(name, object)| (name.clone(), object.uid.clone()))
            .collect()
    }

    fn unlink(&mut self, name: &str) {
        let Some(object) = self.objects.get(name) else {
            return;
        };
        for entry in &object.report.entries {
            let parent = &entry.parent.reference;
            let Some(names) = self.index.get_mut(parent) else {
                continue;
            };
            names.remove(name);
            if names.is_empty() {
                self.index.remove(parent);
            }
        }
    }
}

/// The collection in `collection/name`.
fn collection_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

/// Everything that has been reported about `parent` in these objects of a [`ReportStore`].
pub(crate) fn about_parent<'a>(
    parent: &'a ParentRef,
    reports: &'a [Arc<PodReport>],
) -> impl Iterator<Item = (&'a Member, &'a Entry)> {
    reports
        .iter()
        .flat_map(move |report| about(parent, &report.entries).iter().map(move |entry| (&report.pod, entry)))
}

/// The entries about `parent`, in entries that are sorted by parent.
pub(crate) fn about<'a>(parent: &ParentRef, entries: &'a [Entry]) -> &'a [Entry] {
    let from = entries.partition_point(|entry| entry.parent.reference < *parent);
    let rest = entries.get(from..).unwrap_or_default();
    let until = rest.partition_point(|entry| entry.parent.reference == *parent);
    rest.get(..until).unwrap_or_default()
}

/// The parents about which the two contents of one object differ.
fn difference(old: &PodReport, new: &PodReport) -> BTreeSet<ParentRef> {
    let all = || old.entries.iter().chain(&new.entries).map(|entry| entry.parent.reference.clone());
    if !old.pod.is_same_run(&new.pod) || old.pod.operations != new.pod.operations {
        return all().collect();
    }
    all().filter(|parent| about(parent, &old.entries) != about(parent, &new.entries)).collect()
}

#[cfg(test)]
mod tests;
