//! Joins the pure parts: the roster, one store per kind, one backlog per registrar. A command goes in,
//! changed stores and backlogs and the watches to start and stop come out. It performs no I/O and knows no
//! time, so that its tests can walk through every interleaving; `manager` runs it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::event::GvkStatus;
use crate::object::WatchedObject;
use crate::registrar::Mailbox;
use crate::roster::{Change as RosterChange, Epoch, Gvk, RegistrarId, Roster};
use crate::store::{Change, StoreHandle};

/// One run of a kind's watch. What arrives late from a stopped run is recognised by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Incarnation(pub(crate) u64);

#[derive(Debug, Default)]
pub(crate) struct Switchboard {
    roster: Roster,
    kinds: HashMap<Gvk, Kind>,
    mailboxes: HashMap<RegistrarId, Arc<Mailbox>>,
    incarnations: u64,
}

#[derive(Debug)]
struct Kind {
    incarnation: Incarnation,
    store: StoreHandle,
    /// In the order of their ids, which is the order in which they were made.
    joined: BTreeMap<RegistrarId, Epoch>,
}

/// Everything that can happen to the manager.
#[derive(Debug)]
pub(crate) enum Command {
    /// A registrar changed its roster.
    Wish(RegistrarId, Arc<Mailbox>),
    /// A registrar is gone.
    Drop(RegistrarId),
    /// The watch of a kind made a step.
    Step(Gvk, Incarnation, Step),
}

/// What the watch of one kind reports.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Status(GvkStatus),
    /// A list starts, or starts again.
    ListStarted,
    /// A page of the list.
    Listed(Vec<Arc<WatchedObject>>),
    ListDone,
    Applied(Arc<WatchedObject>),
    Deleted(Arc<WatchedObject>),
    /// The server sent something that is not a Kubernetes object.
    Undecodable,
    /// The kind is not served any more.
    Gone,
}

/// What the manager has to do to the outside.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Start(Gvk, Incarnation, StoreHandle),
    Stop(Gvk),
}

// === impl Switchboard ===

impl Switchboard {
    pub(crate) fn run(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Wish(id, mailbox) => {
                let wishes = mailbox.wishes();
                self.mailboxes.insert(id, mailbox);
                self.assign(id, wishes)
            }
            Command::Drop(id) => {
                let effects = self.assign(id, HashMap::new());
                self.mailboxes.remove(&id);
                effects
            }
            Command::Step(gvk, incarnation, step) => {
                self.step(&gvk, incarnation, step);
                Vec::new()
            }
        }
    }

    fn assign(&mut self, id: RegistrarId, wishes: HashMap<Gvk, Epoch>) -> Vec<Effect> {
        self.roster.assign(id, wishes).into_iter().filter_map(|change| self.carry_out(change)).collect()
    }

    fn carry_out(&mut self, change: RosterChange) -> Option<Effect> {
        match change {
            RosterChange::Leave(id, gvk) => {
                self.kinds.get_mut(&gvk)?.joined.remove(&id);
                None
            }
            RosterChange::Start(gvk) => {
                self.incarnations = self.incarnations.wrapping_add(1);
                let kind = Kind::new(Incarnation(self.incarnations));
                let effect = Effect::Start(Arc::clone(&gvk), kind.incarnation, kind.store.clone());
                self.kinds.insert(gvk, kind);
                Some(effect)
            }
            RosterChange::Join(id, gvk, epoch) => {
                let kind = self.kinds.get_mut(&gvk)?;
                kind.joined.insert(id, epoch);
                kind.replay(&gvk, self.mailboxes.get(&id)?, epoch);
                None
            }
            RosterChange::Stop(gvk) => {
                self.kinds.remove(&gvk)?.store.write().close();
                Some(Effect::Stop(gvk))
            }
        }
    }

    fn step(&mut self, gvk: &Gvk, incarnation: Incarnation, step: Step) {
        let Some(kind) = self.kinds.get_mut(gvk).filter(|kind| kind.incarnation == incarnation) else {
            return;
        };
        let news = kind.take_in(step);
        for (id, epoch) in &kind.joined {
            if let Some(mailbox) = self.mailboxes.get(id) {
                mailbox.deliver(|backlog| news.offer(backlog, gvk, *epoch));
            }
        }
    }
}

// === impl Kind ===

impl Kind {
    fn new(incarnation: Incarnation) -> Self {
        Self { incarnation, store: StoreHandle::new(), joined: BTreeMap::new() }
    }

    /// The state so far, for a registrar that joins. What follows reaches it like the others: the caller
    /// holds the switchboard, so nothing comes in between.
    fn replay(&self, gvk: &Gvk, mailbox: &Mailbox, epoch: Epoch) {
        let store = self.store.read();
        mailbox.deliver(|backlog| {
            for object in store.objects() {
                backlog.offer(gvk, epoch, &Change::Added(Arc::clone(object)));
            }
            if store.is_synced() {
                backlog.offer_synced(gvk, epoch);
            }
            backlog.offer_status(gvk, epoch, store.status());
        });
    }

    /// Brings the store up to date; says what that means for every joined registrar.
    fn take_in(&self, step: Step) -> News {
        let mut store = self.store.write();
        match step {
            Step::Status(status) => {
                store.set_status(status.clone());
                News { status: Some(status), ..News::default() }
            }
            Step::ListStarted => {
                store.begin_list();
                News::default()
            }
            Step::Listed(objects) => {
                News::of(objects.into_iter().filter_map(|object| store.apply(object)).collect())
            }
            Step::ListDone => News { synced: Some(true), ..News::of(store.finish_list()) },
            Step::Applied(object) => News::of(store.apply(object).into_iter().collect()),
            Step::Deleted(object) => News::of(store.delete(object).into_iter().collect()),
            Step::Undecodable => {
                store.count_undecodable();
                News::default()
            }
            Step::Gone => News { synced: Some(false), ..News::of(store.clear()) },
        }
    }
}

/// What one step means for a registrar.
#[derive(Debug, Default)]
struct News {
    changes: Vec<Change>,
    synced: Option<bool>,
    status: Option<GvkStatus>,
}

// === impl News ===

impl News {
    fn of(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// Changes first: the end of a snapshot follows its objects.
    fn offer(&self, backlog: &mut crate::replay::Backlog, gvk: &Gvk, epoch: Epoch) {
        for change in &self.changes {
            backlog.offer(gvk, epoch, change);
        }
        match self.synced {
            Some(true) => backlog.offer_synced(gvk, epoch),
            Some(false) => backlog.unsync(gvk, epoch),
            None => {}
        }
        if let Some(status) = &self.status {
            backlog.offer_status(gvk, epoch, status);
        }
    }
}

#[cfg(test)]
mod tests;
