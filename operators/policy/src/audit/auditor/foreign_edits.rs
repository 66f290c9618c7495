//! Notices what others do to the reports: an edit by hand, a deletion, or the late write of a pod that audited before.
//!
//! A request that a pod had sent before it froze may be carried out after the next pod has listed the reports. No
//! precondition stops a creation, so the versions that are seen are compared with those that this pod has written.
//!
//! ```text
//! stored      seen               written by another client?
//! version 7   applied 7 or 5     no: its own write, or an older one that is shown late
//! version 7   applied 9          yes
//! version 7   deleted 7          yes
//! nothing     applied 9          yes: no report belongs there
//! nothing     deleted 9          no: its own deletion
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use kube::core::Selector;
use tokio::time::Instant;
use watch_manager::{EventKind, Interest, Registrar, WatchEvent};

use crate::audit::reports::{Key, MANAGED_BY, Reach, ReportFormat, Stored, number};

/// The answer to a write comes within this time of its event, or the namespace is still being written.
const SETTLED: Duration = Duration::from_secs(2);
/// The time between two checks: the audit asks after each of its events.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Reports that another client keeps overwriting are listed at most this often.
const PAUSE: Duration = Duration::from_secs(10);

/// The parts of reports that are kept until it is known who wrote them.
pub(super) struct Strays {
    watches: Registrar,
    seen: BTreeMap<Key, Seen>,
    /// Nothing is looked at before.
    next: Option<Instant>,
}

/// The last event of a report.
struct Seen {
    change: Change,
    at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Applied(u128),
    Deleted(u128),
}

impl Strays {
    pub(super) fn new(watches: Registrar) -> Self {
        Self { watches, seen: BTreeMap::new(), next: None }
    }

    /// Watches the reports, whose kinds are served now.
    pub(super) fn watch(&self, format: ReportFormat) {
        let (label, value) = MANAGED_BY;
        let interest = |reach| {
            Interest::new(format.gvk(reach))
                .labels(Selector::from_iter([(label.to_owned(), value.to_owned())]))
                .metadata_only()
        };
        self.watches.replace(Reach::BOTH.map(interest));
    }

    /// Takes the next event; pending when the watch manager has ended. Cancel-safe.
    pub(super) async fn next(&mut self) {
        match self.watches.next().await {
            Some(event) => self.see(&event, Instant::now()),
            None => std::future::pending().await,
        }
    }

    fn see(&mut self, event: &WatchEvent, now: Instant) {
        let (object, change): (_, fn(u128) -> Change) = match &event.kind {
            EventKind::Applied(object) => (object, Change::Applied),
            EventKind::Deleted(object) => (object, Change::Deleted),
            _ => return,
        };
        let key = (object.namespace().unwrap_or_default().into(), object.name().to_owned());
        self.seen.insert(key, Seen { change: change(number(object.resource_version())), at: now });
    }

    /// Returns a report that another client has changed since it was `stored`. Those of a namespace that is being
    /// written are looked at later.
    pub(super) fn find(
        &mut self,
        stored: &BTreeMap<Key, Stored>,
        is_busy: impl Fn(&str) -> bool,
        now: Instant,
    ) -> Option<Key> {
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        let is_due = |key: &Key, seen: &Seen| now.duration_since(seen.at) >= SETTLED && !is_busy(&key.0);
        let seen = std::mem::take(&mut self.seen).into_iter();
        let (due, later): (BTreeMap<_, _>, _) = seen.partition(|(key, seen)| is_due(key, seen));
        self.seen = later;
        let foreign =
            |(key, seen): &(Key, Seen)| is_foreign(stored.get(key).map(Stored::version), seen.change);
        let found = due.into_iter().find(foreign).map(|(key, _)| key);
        self.next = now.checked_add(if found.is_some() { PAUSE } else { POLL_INTERVAL });
        found
    }
}

fn is_foreign(stored: Option<u128>, change: Change) -> bool {
    match (stored, change) {
        (Some(stored), Change::Applied(seen)) => seen > stored,
        (Some(stored), Change::Deleted(seen)) => seen >= stored,
        (None, Change::Applied(_)) => true,
        (None, Change::Deleted(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_somebody_elses_when_it_is_newer_than_the_known_one() {
        for (stored, change, expected) in [
            (Some(7), Change::Applied(7), false),
            (Some(7), Change::Applied(5), false),
            (Some(7), Change::Applied(9), true),
            (Some(7), Change::Deleted(7), true),
            (Some(7), Change::Deleted(5), false),
            (None, Change::Applied(9), true),
            (None, Change::Deleted(9), false),
        ] {
            assert_eq!(is_foreign(stored, change), expected, "{stored:?} {change:?}");
        }
    }
}
