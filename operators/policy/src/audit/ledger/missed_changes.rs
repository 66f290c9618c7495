//! Changes that the watch did not deliver and a verification finds: objects that are gone, objects that are unknown, and versions
//! that never came.
//!
//! A list alone proves nothing: the watch may be about to deliver the difference. So an object whose place in a list
//! differs from what is known is a *suspect*. After a while, in which the watch delivers whatever is on its way, it is
//! read. Only if it is as the list had it, and still not as it is known, has the watch missed something. Worked example:
//!
//! - a Pod is known at version 7, and the list does not have it. It was deleted a moment ago: the event comes, and the object
//!   is removed from the suspects;
//! - or no event comes, and a read finds no such Pod. Its violations are resolved, and one more is counted as drift.
//!
//! A read is as new as everything that arrived before it began, and takes its place in the order of arrival. So what it
//! found may replace what is known: an event that arrives after it is taken after it, and one that is older than the read
//! is followed by those that the read has seen already.

use std::collections::BTreeMap;

use super::{Judged, Ledger};
use crate::audit::place::{Kind, Place, Version};

/// The reason why an object is to be read. An object without a version does not exist, or is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::audit) struct Suspicion {
    known: Option<Version>,
    found: Option<Version>,
}

/// The suspects, in two ages, so that each waits for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspects {
    new: BTreeMap<Place, Suspicion>,
    old: BTreeMap<Place, Suspicion>,
}

impl Ledger {
    /// Takes the objects to read, at most so many: those that were suspect already at the last call, and about which the
    /// watch has said nothing since. To be called at intervals in which a watch delivers everything that is on its way.
    pub(in crate::audit) fn take_suspects(&mut self, most: usize) -> Vec<(Place, Suspicion)> {
        let mut due: Vec<_> = std::mem::take(&mut self.suspects.old).into_iter().collect();
        due.retain(|(place, suspicion)| self.version(place) == suspicion.known);
        let left = due.split_off(due.len().min(most));
        let new = std::mem::take(&mut self.suspects.new);
        self.suspects.old = left.into_iter().chain(new).collect();
        due
    }

    /// Returns true if there is anything to take, at this call or the next.
    #[cfg(test)]
    pub(super) fn has_suspects(&self) -> bool {
        !self.suspects.new.is_empty() || !self.suspects.old.is_empty()
    }

    /// A read found the object like this, or found none.
    pub(in crate::audit) fn examined(
        &mut self,
        place: &Place,
        suspicion: Suspicion,
        now: Option<(Version, Judged)>,
    ) {
        let found = now.as_ref().map(|(version, _)| *version);
        let is_settled = self.version(place) != suspicion.known || found == suspicion.known;
        if is_settled || !self.kinds.contains_key(&place.kind) {
            return;
        }
        if found != suspicion.found {
            // It has changed again, and its event may be on its way.
            self.suspects.new.insert(place.clone(), Suspicion { found, ..suspicion });
            return;
        }
        self.drift = self.drift.saturating_add(1);
        match now {
            Some((version, judged)) => self.observed(place, version, &judged),
            None => self.deleted(place),
        }
    }

    /// A list that verifies has the object at this version.
    pub(super) fn seen(&mut self, place: &Place, found: Version) {
        let known = self.version(place);
        let Some(book) = self.kinds.get_mut(&place.kind) else { return };
        if let Some(record) = book.objects.get_mut(place) {
            record.sweep = book.sweep;
        }
        if known != Some(found) {
            let suspicion = Suspicion { known, found: Some(found) };
            self.suspects.new.insert(place.clone(), suspicion);
        }
    }

    /// A list that verifies has ended: what it did not have is suspect.
    pub(super) fn suspect_unseen(&mut self, kind: &Kind) {
        let Some(book) = self.kinds.get(kind) else { return };
        let unseen = book.objects.iter().filter(|(_, record)| record.sweep != book.sweep);
        let suspect = |(place, record): (&Place, &super::Record)| {
            (place.clone(), Suspicion { known: Some(record.version), found: None })
        };
        self.suspects.new.extend(unseen.map(suspect));
    }
}
