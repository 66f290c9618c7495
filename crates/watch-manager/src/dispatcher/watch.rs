//! One watch of a kind: its state, and what its steps change in the store.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Incarnation, Step};
use crate::event::GvkStatus;
use crate::interest::{Part, Selection};
use crate::object::ObjectKey;
use crate::store::{Change, Pass, Store, is_in};

/// One watch of the kind.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) incarnation: Incarnation,
    pub(super) selection: Selection,
    pub(super) status: GvkStatus,
    pub(super) attempts: u32,
    pass: Pass,
    /// A list of this incarnation is complete and none is under way.
    pub(super) complete: bool,
    /// The list that is under way has an object without a readable name: any that it lacks may be that one.
    unclear: bool,
    /// It covers more objects since its last list began, so what it reports until it lists again may be older than what
    /// is known.
    pub(super) outdated: bool,
    /// Set while it counts as ready, but lists what it has not followed since then.
    pub(super) followed_until: Option<Instant>,
}

/// The objects that a watch covers: those of its namespace, or all but those of namespaces with a watch of their own.
pub(super) struct Region<'a> {
    part: &'a Part,
    apart: Vec<Part>,
}

/// The consequences of one step.
#[derive(Debug, Default)]
pub(super) struct Update {
    pub(super) changes: Vec<Change>,
    pub(super) status: bool,
    /// A list is complete, or the kind is not served any more.
    pub(super) synced: Option<bool>,
}

// === impl Watch ===

impl Watch {
    /// A watch whose objects another one followed until the given time counts as ready.
    pub(super) fn new(
        incarnation: Incarnation,
        selection: Selection,
        followed_until: Option<Instant>,
    ) -> Self {
        Self {
            incarnation,
            selection,
            status: if followed_until.is_some() { GvkStatus::Ready } else { GvkStatus::Pending },
            attempts: 0,
            pass: Pass::default(),
            complete: false,
            unclear: false,
            outdated: false,
            followed_until,
        }
    }

    /// Brings the store and the state up to date.
    pub(super) fn step(
        &mut self,
        store: &mut Store,
        now: Instant,
        region: &Region<'_>,
        step: Step,
    ) -> Update {
        // These three are the watch's own conclusions; every other step is something that the server has sent.
        if !matches!(step, Step::Status(..) | Step::Gone | Step::ListStarted) {
            store.contact(now);
        }
        self.outdated &= !matches!(step, Step::ListStarted);
        if self.outdated && step.reports_objects() {
            return Update::default();
        }
        self.apply(store, region, step)
    }

    fn apply(&mut self, store: &mut Store, region: &Region<'_>, step: Step) -> Update {
        let meant = |key: &ObjectKey| region.contains(key);
        match step {
            Step::Status(status, attempts) => {
                self.attempts = attempts;
                // Until the first list is complete, it is ready only by what another watch followed.
                if status.is_ready() && self.complete {
                    self.followed_until = None;
                }
                self.status = status;
                Update { status: true, ..Update::default() }
            }
            Step::Contact => Update::default(),
            Step::ListStarted => {
                self.pass = store.begin_list();
                (self.complete, self.unclear) = (false, false);
                store.set_synced(false);
                Update::default()
            }
            Step::Listed(objects) => {
                let objects = objects.into_iter().filter(|object| meant(object.key()));
                let changes = objects.flat_map(|object| store.apply(object, self.pass));
                Update::of(changes.collect())
            }
            Step::ListDone => {
                self.complete = true;
                // An object whose name cannot be read may be any of those that the list lacks: none is taken for deleted.
                let gone = if self.unclear { Vec::new() } else { store.finish_list(meant, self.pass) };
                Update { synced: Some(true), ..Update::of(gone) }
            }
            Step::Applied(object) | Step::Deleted(object) if !meant(object.key()) => Update::default(),
            Step::Applied(object) => Update::of(store.apply(object, self.pass)),
            Step::Deleted(object) => Update::of(store.delete(object).into_iter().collect()),
            Step::Unreadable(remains) => {
                store.count_undecodable();
                self.unclear |= remains.key.is_none();
                // It exists, in a form that cannot be read, so what was known of it stays.
                let known = remains.key.as_ref().is_some_and(meant);
                Update::of(known.then(|| store.keep(&remains, self.pass)).flatten().into_iter().collect())
            }
            Step::UnreadableDeleted(remains) => {
                store.count_undecodable();
                let known = remains.key.as_ref().is_some_and(meant);
                Update::of(known.then(|| store.delete_unread(&remains)).flatten().into_iter().collect())
            }
            Step::Gone => {
                self.complete = false;
                Update { synced: Some(false), ..Update::of(store.clear(meant)) }
            }
        }
    }
}

// === impl Region ===

impl<'a> Region<'a> {
    pub(super) fn new(part: &'a Part, watches: &BTreeMap<Part, Watch>) -> Self {
        let apart = if part.is_none() {
            watches.keys().filter(|part| part.is_some()).cloned().collect()
        } else {
            Vec::new()
        };
        Self { part, apart }
    }

    fn contains(&self, key: &ObjectKey) -> bool {
        is_in(key, self.part) && !self.apart.iter().any(|part| is_in(key, part))
    }
}

// === impl Update ===

impl Update {
    fn of(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }
}
