//! The rules of readiness: which sources and objects are waited for. No locks and no I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::{ErrorClass, GiveUpPolicy, Missing, OnError};
use crate::missing::MissingSemantics;
use crate::parent::{ParentKey, ParentRef};

/// Numbers a source. Numbers are not used again, so a handle of a source that is gone does nothing.
pub(super) type SourceId = u64;

#[derive(Debug)]
pub(super) struct Expectations {
    policy: GiveUpPolicy,
    sources: BTreeMap<SourceId, Source>,
    next_id: SourceId,
    sealed: bool,
    ready: bool,
    /// Sources of which a pod may lack objects are not waited for any more.
    gave_up: bool,
    /// Expectations that were given up by [`Expectations::give_up`], or before the tracker became ready.
    given_up: Vec<Missing>,
}

#[derive(Debug)]
struct Source {
    name: String,
    missing: MissingSemantics,
    /// The object to which the source belongs; nothing for a root.
    owner: Option<(SourceId, ParentKey)>,
    /// The contents of the list in progress.
    listing: Option<BTreeSet<ParentRef>>,
    populated: bool,
    unlistable: Option<(ErrorClass, String)>,
    pending: BTreeMap<ParentRef, Pending>,
    settled: BTreeMap<ParentRef, Outcome>,
    /// Outcomes of objects that were not expected when they came.
    early: BTreeMap<ParentRef, Outcome>,
    /// Uids of objects that are gone. A uid never comes back.
    gone: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Pending {
    uid: String,
    generation: i64,
    reason: Option<String>,
}

#[derive(Clone, Debug)]
struct Outcome {
    uid: String,
    generation: i64,
    /// The failure for which the object was given up; nothing when it was ingested.
    given_up: Option<String>,
}

impl Source {
    fn new(name: String, owner: Option<(SourceId, ParentKey)>) -> Self {
        Self {
            name,
            missing: MissingSemantics::default(),
            owner,
            listing: None,
            populated: false,
            unlistable: None,
            pending: BTreeMap::new(),
            settled: BTreeMap::new(),
            early: BTreeMap::new(),
            gone: BTreeSet::new(),
        }
    }

    fn expect(&mut self, object: &ParentKey, generation: i64) {
        let reference = &object.reference;
        if let Some(listing) = &mut self.listing {
            listing.insert(reference.clone());
        }
        let known = self
            .pending
            .get(reference)
            .map(|pending| &pending.uid)
            .or_else(|| self.settled.get(reference).map(|outcome| &outcome.uid));
        let is_known = known.is_some();
        // What was there at the start is expected as it was then; what appears later is not expected, but
        // may take the place of what was.
        if known == Some(&object.uid) || self.gone.contains(&object.uid) || (self.populated && !is_known) {
            return;
        }
        self.settled.remove(reference);
        let pending = Pending { uid: object.uid.clone(), generation, reason: None };
        self.pending.insert(reference.clone(), pending);
        if let Some(early) = self.early.remove(reference) {
            self.conclude(reference, early);
        }
    }

    /// Notes an outcome, which settles the expectation if it is about the same object and new enough.
    fn conclude(&mut self, reference: &ParentRef, outcome: Outcome) {
        match self.pending.get(reference) {
            Some(pending) if pending.uid == outcome.uid && pending.generation <= outcome.generation => {
                self.pending.remove(reference);
                self.settled.insert(reference.clone(), outcome);
            }
            // It may still be expected: by the first list, or as the successor of an expected object.
            pending => {
                let is_known = pending.is_some() || self.settled.contains_key(reference);
                let is_late = self
                    .early
                    .get(reference)
                    .is_some_and(|early| early.uid == outcome.uid && early.generation > outcome.generation);
                if (is_known || !self.populated) && !is_late {
                    self.early.insert(reference.clone(), outcome);
                }
            }
        }
    }

    fn list_ends(&mut self) {
        if let Some(listing) = self.listing.take() {
            self.pending.retain(|reference, _| listing.contains(reference));
            self.settled.retain(|reference, _| listing.contains(reference));
        }
        self.populated = true;
        self.unlistable = None;
        let (pending, settled) = (&self.pending, &self.settled);
        self.early.retain(|reference, _| pending.contains_key(reference) || settled.contains_key(reference));
    }

    fn expects(&self, object: &ParentKey) -> bool {
        let pending = self.pending.get(&object.reference).map(|pending| &pending.uid);
        let settled = || {
            self.settled
                .get(&object.reference)
                .filter(|outcome| outcome.given_up.is_none())
                .map(|outcome| &outcome.uid)
        };
        pending.or_else(settled) == Some(&object.uid)
    }
}

impl Expectations {
    pub(super) fn new(policy: GiveUpPolicy) -> Self {
        Self {
            policy,
            sources: BTreeMap::new(),
            next_id: 0,
            sealed: false,
            ready: false,
            gave_up: false,
            given_up: Vec::new(),
        }
    }

    pub(super) fn source(&mut self, name: String) -> SourceId {
        self.add(Source::new(name, None))
    }

    fn add(&mut self, source: Source) -> SourceId {
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        if !self.ready {
            self.sources.insert(id, source);
        }
        id
    }

    pub(super) fn set_missing(&mut self, id: SourceId, missing: MissingSemantics) {
        if let Some(source) = self.sources.get_mut(&id) {
            source.missing = missing;
        }
    }

    pub(super) fn seal(&mut self) {
        self.sealed = true;
    }

    pub(super) fn child(&mut self, owner: SourceId, object: &ParentKey, name: String) -> SourceId {
        let owner = (owner, object.clone());
        let known = self
            .sources
            .iter()
            .find(|(_, source)| source.name == name && source.owner.as_ref() == Some(&owner))
            .map(|(id, _)| *id);
        known.unwrap_or_else(|| self.add(Source::new(name, Some(owner))))
    }

    pub(super) fn list_begins(&mut self, id: SourceId) {
        if let Some(source) = self.sources.get_mut(&id) {
            source.listing = Some(BTreeSet::new());
        }
    }

    pub(super) fn expect(&mut self, id: SourceId, object: &ParentKey, generation: i64) {
        if let Some(source) = self.sources.get_mut(&id) {
            source.expect(object, generation);
        }
    }

    pub(super) fn list_ends(&mut self, id: SourceId) {
        if let Some(source) = self.sources.get_mut(&id) {
            source.list_ends();
        }
        // Of many sources each belongs to one and has none of its own.
        let has_children =
            self.sources.values().any(|source| source.owner.as_ref().is_some_and(|(owner, _)| *owner == id));
        if has_children {
            self.drop_orphans();
        }
    }

    pub(super) fn list_fails(&mut self, id: SourceId, failure: ErrorClass, reason: String) {
        if let Some(source) = self.sources.get_mut(&id).filter(|source| !source.populated) {
            source.unlistable = Some((failure, reason));
        }
    }

    pub(super) fn observe(&mut self, id: SourceId, object: &ParentKey, generation: i64) {
        self.conclude(id, object, generation, None);
    }

    pub(super) fn fail(
        &mut self,
        id: SourceId,
        object: &ParentKey,
        generation: i64,
        failure: ErrorClass,
        reason: String,
    ) {
        let may_give_up = self.sources.get(&id).is_some_and(|source| source.missing.is_looser());
        if may_give_up && failure == ErrorClass::Permanent && self.policy.permanent == OnError::GiveUp {
            return self.conclude(id, object, generation, Some(reason));
        }
        let pending = self.sources.get_mut(&id).and_then(|source| source.pending.get_mut(&object.reference));
        if let Some(pending) = pending.filter(|pending| pending.uid == object.uid) {
            pending.reason = Some(reason);
        }
    }

    fn conclude(&mut self, id: SourceId, object: &ParentKey, generation: i64, given_up: Option<String>) {
        if let Some(source) = self.sources.get_mut(&id) {
            let outcome = Outcome { uid: object.uid.clone(), generation, given_up };
            source.conclude(&object.reference, outcome);
        }
    }

    pub(super) fn cancel(&mut self, id: SourceId, object: &ParentKey) {
        let Some(source) = self.sources.get_mut(&id) else {
            return;
        };
        if source.pending.get(&object.reference).is_some_and(|pending| pending.uid == object.uid) {
            source.pending.remove(&object.reference);
        }
        if source.settled.get(&object.reference).is_some_and(|outcome| outcome.uid == object.uid) {
            source.settled.remove(&object.reference);
        }
        if !source.populated {
            source.gone.insert(object.uid.clone());
        }
        self.sources.retain(|_, source| source.owner.as_ref() != Some(&(id, object.clone())));
        self.drop_orphans();
    }

    /// Removes the sources whose owner is gone. An owner whose first list is not complete may yet come.
    fn drop_orphans(&mut self) {
        loop {
            let is_orphan = |source: &Source| {
                source.owner.as_ref().is_some_and(|(id, object)| match self.sources.get(id) {
                    Some(owner) => owner.populated && !owner.expects(object),
                    None => true,
                })
            };
            let orphans: Vec<SourceId> =
                self.sources.iter().filter(|(_, source)| is_orphan(source)).map(|(id, _)| *id).collect();
            if orphans.is_empty() {
                return;
            }
            for id in orphans {
                self.sources.remove(&id);
            }
        }
    }

    /// Becomes ready if nothing is missing. Returns whether it did so now.
    pub(super) fn settle(&mut self) -> bool {
        let settled = !self.ready && self.is_settled();
        if settled {
            self.given_up = self.given_up();
            self.ready = true;
            self.sources.clear();
        }
        settled
    }

    /// As an empty [`Expectations::explain`], without building the explanation on every event.
    fn is_settled(&self) -> bool {
        let is_waiting = |source: &Source| {
            !self.is_waived(source) && (!source.pending.is_empty() || self.awaits_list(source))
        };
        self.sealed && !self.sources.values().any(|source| is_waiting(source) && self.is_relevant(source))
    }

    fn is_waived(&self, source: &Source) -> bool {
        self.gave_up && source.missing.is_looser()
    }

    fn awaits_list(&self, source: &Source) -> bool {
        !source.populated && !self.is_list_given_up(source)
    }

    fn is_list_given_up(&self, source: &Source) -> bool {
        let is_permanent = matches!(source.unlistable, Some((ErrorClass::Permanent, _)));
        let may_give_up = source.missing.is_looser() && self.policy.unlistable == OnError::GiveUp;
        !source.populated && is_permanent && may_give_up
    }

    pub(super) fn explain(&self) -> Vec<Missing> {
        if self.ready { Vec::new() } else { self.missing().collect() }
    }

    pub(super) fn give_up(&mut self) -> Vec<Missing> {
        let is_given_up = |source: &&Source| source.missing.is_looser() && self.is_relevant(source);
        let given_up: Vec<&Source> = self.sources.values().filter(is_given_up).collect();
        let missing: Vec<Missing> = given_up.iter().flat_map(|source| self.missing_in(source)).collect();
        // With what was given up before.
        self.given_up = self.given_up().into_iter().chain(missing.iter().cloned()).collect();
        self.gave_up = true;
        missing
    }

    /// The expectations that do not block although they are not met.
    pub(super) fn given_up(&self) -> Vec<Missing> {
        let is_present = |source: &&Source| !self.is_waived(source) && self.is_relevant(source);
        let relevant = self.sources.values().filter(is_present);
        let present = relevant.flat_map(|source| {
            let list = self.is_list_given_up(source).then(|| self.missing_list(source));
            let objects = source.settled.iter().filter_map(|(reference, outcome)| {
                let reason = Some(outcome.given_up.clone()?);
                let object = ParentKey { reference: reference.clone(), uid: outcome.uid.clone() };
                let (source, generation) = (self.path(source), outcome.generation);
                Some(Missing::Object { source, object, generation, reason })
            });
            list.into_iter().chain(objects.collect::<Vec<_>>())
        });
        self.given_up.iter().cloned().chain(present).collect()
    }

    fn missing(&self) -> impl Iterator<Item = Missing> {
        let seal = (!self.sealed).then_some(Missing::Seal);
        let sources = self.sources.values().filter(|source| self.is_relevant(source));
        seal.into_iter().chain(sources.flat_map(|source| self.missing_in(source)))
    }

    /// Returns true if the object that the source belongs to, and those above it, are expected.
    fn is_relevant(&self, source: &Source) -> bool {
        source.owner.as_ref().is_none_or(|(id, object)| {
            self.sources.get(id).is_some_and(|owner| owner.expects(object) && self.is_relevant(owner))
        })
    }

    fn missing_in(&self, source: &Source) -> impl Iterator<Item = Missing> {
        let list = (!self.is_waived(source) && self.awaits_list(source)).then(|| self.missing_list(source));
        let pending = source.pending.iter().filter(|_| !self.is_waived(source));
        let objects = pending.map(|(reference, pending)| Missing::Object {
            source: self.path(source),
            object: ParentKey { reference: reference.clone(), uid: pending.uid.clone() },
            generation: pending.generation,
            reason: pending.reason.clone(),
        });
        list.into_iter().chain(objects.collect::<Vec<_>>())
    }

    fn missing_list(&self, source: &Source) -> Missing {
        let reason = source.unlistable.as_ref().map(|(_, reason)| reason.clone());
        Missing::List { source: self.path(source), reason }
    }

    fn path(&self, source: &Source) -> String {
        match source.owner.as_ref().and_then(|(id, object)| Some((self.sources.get(id)?, object))) {
            Some((owner, object)) => {
                format!("{}/{}/{}", self.path(owner), object.reference.name, source.name)
            }
            None => source.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
