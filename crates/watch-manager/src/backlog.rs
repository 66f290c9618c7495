//! What one registrar has still to receive: a snapshot of each kind it joins, then every change, with no
//! gap, no duplicate and nothing stale after new. Pure; `registrar` puts a lock and a bell around it.
//!
//! It is a set and not a log. An object is in it at most once, in its latest form, so a reader that never
//! reads costs at most the live objects plus the deletes it does not know of, and holds up nobody.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kube::core::GroupVersionKind;

use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::object::{ObjectKey, WatchedObject};
use crate::roster::{Epoch, Gvk, Replaced, sort_key};
use crate::store::Change;

/// The roster of one registrar and its undelivered events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backlog {
    lanes: HashMap<Gvk, Lane>,
    /// Oldest first. Every entry of a lane has exactly one token.
    order: BTreeMap<u64, Token>,
    next_token: u64,
    next_epoch: u64,
}

/// One kind of the roster.
#[derive(Debug, Clone)]
struct Lane {
    epoch: Epoch,
    status: GvkStatus,
    /// What the reader believes.
    status_told: GvkStatus,
    /// Whether the end of the snapshot was queued.
    synced: bool,
    objects: HashMap<Arc<ObjectKey>, Entry>,
    status_at: Option<u64>,
    synced_at: Option<u64>,
}

/// The latest state of an object that the reader has not seen.
#[derive(Debug, Clone)]
struct Entry {
    at: u64,
    /// Whether the reader believes that an object of this name exists.
    held: bool,
    /// What the reader holds and is gone. Implies `held`.
    gone: Option<Arc<WatchedObject>>,
    live: Option<Arc<WatchedObject>>,
}

#[derive(Debug, Clone)]
enum Token {
    Object(Gvk, Arc<ObjectKey>),
    Status(Gvk),
    Synced(Gvk),
}

// === impl Backlog: the registrar's side ===

impl Backlog {
    /// Whether the roster changed.
    pub(crate) fn want(&mut self, gvk: &Gvk) -> bool {
        if self.lanes.contains_key(gvk) {
            return false;
        }
        self.next_epoch = self.next_epoch.wrapping_add(1);
        self.lanes.insert(Arc::clone(gvk), Lane::new(Epoch(self.next_epoch)));
        true
    }

    /// Takes the kind off the roster and forgets its undelivered events. Whether the roster changed.
    pub(crate) fn unwant(&mut self, gvk: &GroupVersionKind) -> bool {
        let Some(lane) = self.lanes.remove(gvk) else {
            return false;
        };
        for token in lane.tokens() {
            self.order.remove(&token);
        }
        true
    }

    /// Makes `gvks` the roster.
    pub(crate) fn want_only(&mut self, gvks: impl IntoIterator<Item = GroupVersionKind>) -> Replaced {
        let desired: HashSet<GroupVersionKind> = gvks.into_iter().collect();
        let mut replaced = Replaced {
            removed: self
                .lanes
                .keys()
                .filter(|gvk| !desired.contains(&***gvk))
                .map(|gvk| (**gvk).clone())
                .collect(),
            ..Replaced::default()
        };
        for gvk in &replaced.removed {
            self.unwant(gvk);
        }
        for gvk in desired {
            if self.want(&Arc::new(gvk.clone())) {
                replaced.added.push(gvk);
            }
        }
        replaced.added.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        replaced.removed.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        replaced
    }

    /// The roster, with the epoch of each stay.
    pub(crate) fn wishes(&self) -> HashMap<Gvk, Epoch> {
        self.lanes.iter().map(|(gvk, lane)| (Arc::clone(gvk), lane.epoch)).collect()
    }

    pub(crate) fn status(&self, gvk: &GroupVersionKind) -> Option<&GvkStatus> {
        self.lanes.get(gvk).map(|lane| &lane.status)
    }

    /// The kinds whose snapshot has not been queued completely.
    pub(crate) fn unsynced(&self) -> impl Iterator<Item = (&Gvk, &GvkStatus)> {
        self.lanes.iter().filter(|(_, lane)| !lane.synced).map(|(gvk, lane)| (gvk, &lane.status))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The next event, oldest first.
    pub(crate) fn pop(&mut self) -> Option<WatchEvent> {
        loop {
            let (at, token) = self.order.pop_first()?;
            let (gvk, kind) = match token {
                Token::Object(gvk, key) => {
                    let kind = self.pop_object(at, &gvk, &key);
                    (gvk, kind)
                }
                Token::Status(gvk) => {
                    let kind = self.lanes.get_mut(&gvk).map(|lane| {
                        lane.status_at = None;
                        lane.status_told = lane.status.clone();
                        EventKind::Status(lane.status.clone())
                    });
                    (gvk, kind)
                }
                Token::Synced(gvk) => {
                    let kind = self.lanes.get_mut(&gvk).map(|lane| {
                        lane.synced_at = None;
                        EventKind::Synced
                    });
                    (gvk, kind)
                }
            };
            if let Some(kind) = kind {
                return Some(WatchEvent { gvk: (*gvk).clone(), kind });
            }
        }
    }

    fn pop_object(&mut self, at: u64, gvk: &Gvk, key: &Arc<ObjectKey>) -> Option<EventKind> {
        let objects = &mut self.lanes.get_mut(gvk)?.objects;
        let entry = objects.get_mut(key)?;
        if let Some(gone) = entry.gone.take() {
            entry.held = false;
            if entry.live.is_some() {
                // The successor of the same name is next, and not behind what came later.
                self.order.insert(at, Token::Object(Arc::clone(gvk), Arc::clone(key)));
            } else {
                objects.remove(key);
            }
            return Some(EventKind::Deleted(gone));
        }
        objects.remove(key)?.live.map(EventKind::Applied)
    }
}

// === impl Backlog: the manager's side ===

impl Backlog {
    /// Queues a difference of the store. Dropped if the kind is not in the roster in this epoch, which is
    /// what keeps a removed kind silent.
    pub(crate) fn offer(&mut self, gvk: &Gvk, epoch: Epoch, change: &Change) {
        let Some(lane) = self.lanes.get_mut(gvk).filter(|lane| lane.epoch == epoch) else {
            return;
        };
        let key = change.key();
        let Some(entry) = lane.objects.get_mut(&key) else {
            let at = self.next_token;
            lane.objects.insert(Arc::clone(&key), Entry::first(at, change));
            self.push(Token::Object(Arc::clone(gvk), key));
            return;
        };
        entry.absorb(change);
        if entry.gone.is_none() && entry.live.is_none() {
            let at = entry.at;
            lane.objects.remove(&key);
            self.order.remove(&at);
        }
    }

    /// Queues the end of the snapshot, once.
    pub(crate) fn offer_synced(&mut self, gvk: &Gvk, epoch: Epoch) {
        let at = self.next_token;
        let Some(lane) = self.lanes.get_mut(gvk).filter(|lane| lane.epoch == epoch && !lane.synced) else {
            return;
        };
        lane.synced = true;
        lane.synced_at = Some(at);
        self.push(Token::Synced(Arc::clone(gvk)));
    }

    /// The kind is no longer served: the next complete list is a new snapshot.
    pub(crate) fn unsync(&mut self, gvk: &Gvk, epoch: Epoch) {
        let Some(lane) = self.lanes.get_mut(gvk).filter(|lane| lane.epoch == epoch) else {
            return;
        };
        lane.synced = false;
        if let Some(at) = lane.synced_at.take() {
            self.order.remove(&at);
        }
    }

    /// Queues a change of state, behind the objects that it is about. Only the latest is delivered, and
    /// none if the reader knows it already.
    pub(crate) fn offer_status(&mut self, gvk: &Gvk, epoch: Epoch, status: &GvkStatus) {
        let at = self.next_token;
        let Some(lane) = self.lanes.get_mut(gvk).filter(|lane| lane.epoch == epoch) else {
            return;
        };
        if lane.status == *status {
            return;
        }
        lane.status = status.clone();
        if let Some(former) = lane.status_at.take() {
            self.order.remove(&former);
        }
        if lane.status != lane.status_told {
            lane.status_at = Some(at);
            self.push(Token::Status(Arc::clone(gvk)));
        }
    }

    fn push(&mut self, token: Token) {
        self.order.insert(self.next_token, token);
        self.next_token = self.next_token.wrapping_add(1);
    }
}

// === impl Lane ===

impl Lane {
    fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            status: GvkStatus::Pending,
            status_told: GvkStatus::Pending,
            synced: false,
            objects: HashMap::new(),
            status_at: None,
            synced_at: None,
        }
    }

    fn tokens(&self) -> impl Iterator<Item = u64> {
        self.objects.values().map(|entry| entry.at).chain(self.status_at).chain(self.synced_at)
    }
}

// === impl Entry ===

impl Entry {
    /// The first change since the reader was up to date, so what the store held the reader holds.
    fn first(at: u64, change: &Change) -> Self {
        let (held, gone, live) = match change {
            Change::Added(new) => (false, None, Some(new)),
            Change::Updated(new) => (true, None, Some(new)),
            Change::Deleted(old) => (true, Some(old), None),
            Change::Replaced { old, new } => (true, Some(old), Some(new)),
        };
        Self { at, held, gone: gone.cloned(), live: live.cloned() }
    }

    fn absorb(&mut self, change: &Change) {
        match change {
            Change::Added(new) | Change::Updated(new) => self.live = Some(Arc::clone(new)),
            Change::Deleted(old) => self.end(old),
            Change::Replaced { old, new } => {
                self.end(old);
                self.live = Some(Arc::clone(new));
            }
        }
    }

    /// The reader is told only of the end of what it holds, and once.
    fn end(&mut self, old: &Arc<WatchedObject>) {
        self.live = None;
        if self.held && self.gone.is_none() {
            self.gone = Some(Arc::clone(old));
        }
    }
}

// === impl Change ===

impl Change {
    fn key(&self) -> Arc<ObjectKey> {
        match self {
            Self::Added(object) | Self::Updated(object) | Self::Deleted(object) => object.shared_key(),
            Self::Replaced { new, .. } => new.shared_key(),
        }
    }
}

#[cfg(test)]
mod tests;
