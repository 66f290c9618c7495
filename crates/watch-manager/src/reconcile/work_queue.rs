//! The objects that wait for a reconciliation: when each is due, and which are under way. Pure: the time goes in.
//! `reconcile` runs it.
//!
//! An object is under way at most once. A change that comes meanwhile makes it due again, and is never lost: the
//! reconciliation that follows gets the latest state. Worked example without debounce: `a1` is due and taken; `a2`
//! and `a3` come while it is under way; when it ends, `a` is due at once, with `a3`.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::ReconcileKey;
use crate::backoff::Backoff;
use crate::config::BackoffRange;

/// The queue of objects with states of type `S`.
#[derive(Debug)]
pub(super) struct WorkQueue<S> {
    debounce: Duration,
    retry: BackoffRange,
    entries: HashMap<ReconcileKey, Entry<S>>,
    /// The entries that wait, by the time at which they are due.
    due: BTreeSet<(Instant, u64)>,
    /// The keys of the entries that wait, by number.
    keys: HashMap<u64, ReconcileKey>,
    next_number: u64,
}

#[derive(Debug)]
struct Entry<S> {
    number: u64,
    state: S,
    /// The time when it is due; `None` while it is under way without a change.
    at: Option<Instant>,
    under_way: bool,
    backoff: Backoff,
}

// === impl WorkQueue ===

impl<S: Clone> WorkQueue<S> {
    pub(super) fn new(debounce: Duration, retry: BackoffRange) -> Self {
        let (entries, due, keys) = (HashMap::new(), BTreeSet::new(), HashMap::new());
        Self { debounce, retry, entries, due, keys, next_number: 0 }
    }

    /// The object changed, or was deleted.
    pub(super) fn change(&mut self, now: Instant, key: ReconcileKey, state: S) {
        let at = now.checked_add(self.debounce).unwrap_or(now);
        match self.entries.entry(key.clone()) {
            MapEntry::Occupied(mut entry) => entry.get_mut().state = state,
            MapEntry::Vacant(vacant) => {
                let (number, backoff) = (self.next_number, Backoff::new(self.retry, None));
                self.next_number = number.wrapping_add(1);
                vacant.insert(Entry { number, state, at: None, under_way: false, backoff });
            }
        }
        // A change ends the wait for a retry; later changes do not prolong that for the first.
        self.schedule(&key, at);
    }

    /// Takes an object that is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<(ReconcileKey, S)> {
        let (at, number) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.remove(&(at, number));
        let key = self.keys.remove(&number)?;
        let entry = self.entries.get_mut(&key)?;
        (entry.at, entry.under_way) = (None, true);
        let state = entry.state.clone();
        Some((key, state))
    }

    /// The time at which the next object is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The reconciliation of an object succeeded; it is due again after this time, if any.
    pub(super) fn succeed(&mut self, now: Instant, key: &ReconcileKey, again: Option<Duration>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.backoff.reset();
        self.finish(key, again.and_then(|delay| now.checked_add(delay)));
    }

    /// The reconciliation of an object failed; returns the delay before the next attempt.
    pub(super) fn fail(&mut self, now: Instant, key: &ReconcileKey) -> Duration {
        let Some(entry) = self.entries.get_mut(key) else { return Duration::ZERO };
        let delay = entry.backoff.next_delay();
        self.finish(key, now.checked_add(delay));
        delay
    }

    fn finish(&mut self, key: &ReconcileKey, again: Option<Instant>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.under_way = false;
        match entry.at.take().into_iter().chain(again).min() {
            Some(at) => self.schedule(key, at),
            None => {
                self.entries.remove(key);
            }
        }
    }

    /// Makes the object due at this time, or earlier if it was. An object under way becomes due when it is finished.
    fn schedule(&mut self, key: &ReconcileKey, at: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let former = entry.at;
        let at = former.map_or(at, |former| former.min(at));
        entry.at = Some(at);
        if entry.under_way {
            return;
        }
        if let Some(former) = former {
            self.due.remove(&(former, entry.number));
        }
        self.due.insert((at, entry.number));
        self.keys.insert(entry.number, key.clone());
    }
}

#[cfg(test)]
mod tests;
