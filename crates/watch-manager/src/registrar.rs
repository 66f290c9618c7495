//! The handle of one consumer: which kinds it wants, and the events of them. Its calls change a roster and
//! return; `manager` carries out what follows. What is undelivered lies in `replay`'s backlog.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{Stream, StreamExt, stream};
use kube::core::GroupVersionKind;
use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::event::{GvkStatus, WatchEvent};
use crate::inbox::Inbox;
use crate::manager::Alive;
use crate::ready::Readiness;
use crate::replay::Backlog;
use crate::roster::{Epoch, Gvk, RegistrarId, Replaced};

/// One consumer's wishes and events. Dropping it takes all its kinds back, ends its streams and frees its
/// name.
///
/// It never fails on account of a kind: a kind that is not served, or that the client may not list, has a
/// [status](Self::status), and starts when that changes.
#[must_use = "a dropped registrar watches nothing"]
pub struct Registrar {
    id: RegistrarId,
    name: Arc<str>,
    mailbox: Arc<Mailbox>,
    inbox: Arc<Inbox>,
    _alive: Arc<Alive>,
}

/// A backlog that the driver fills and the consumer empties.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    bell: Notify,
    readiness: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    backlog: Backlog,
    /// Nothing will be added any more.
    finished: bool,
}

// === impl Registrar ===

impl Registrar {
    pub(crate) fn enrol(inbox: &Arc<Inbox>, alive: &Arc<Alive>, name: &str) -> Result<Self, Error> {
        let name: Arc<str> = name.into();
        let (id, mailbox) = inbox.enrol(&name)?;
        Ok(Self { id, name, mailbox, inbox: Arc::clone(inbox), _alive: Arc::clone(alive) })
    }

    /// The name it was made with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for a kind: all its objects, then every change. Whether it was not in the roster already.
    pub fn add(&self, gvk: GroupVersionKind) -> bool {
        let added = self.mailbox.lock().backlog.want(&Arc::new(gvk));
        if added {
            self.inbox.post(self.id);
        }
        added
    }

    /// Takes a kind back. When this returns, no event of it is delivered any more, not even one that was
    /// waiting; no deletes are made up for its objects. Whether it was in the roster.
    pub fn remove(&self, gvk: &GroupVersionKind) -> bool {
        let removed = self.mailbox.lock().backlog.unwant(gvk);
        if removed {
            self.mailbox.announce();
            self.inbox.post(self.id);
        }
        removed
    }

    /// Makes `gvks` the roster. A kind in both the old and the new one notices nothing.
    pub fn replace(&self, gvks: impl IntoIterator<Item = GroupVersionKind>) -> Replaced {
        let replaced = self.mailbox.lock().backlog.want_only(gvks);
        if replaced != Replaced::default() {
            self.mailbox.announce();
            self.inbox.post(self.id);
        }
        replaced
    }

    /// The state of a kind in the roster; `None` if it is not in it.
    pub fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.mailbox.lock().backlog.status(gvk).cloned()
    }

    /// Which kinds of the roster are not completely queued yet.
    pub fn readiness(&self) -> Readiness {
        self.mailbox.readiness()
    }

    /// Waits until `accept` approves, for instance [`Readiness::is_ready`]. Cancel-safe.
    ///
    /// # Errors
    /// [`Error::ShutDown`] when the driver ends before.
    pub async fn wait_until(&self, accept: impl Fn(&Readiness) -> bool) -> Result<Readiness, Error> {
        let mut changes = self.mailbox.readiness.subscribe();
        loop {
            let (readiness, finished) = {
                let state = self.mailbox.lock();
                (Readiness::of(&state.backlog), state.finished)
            };
            if accept(&readiness) {
                return Ok(readiness);
            }
            if finished || changes.changed().await.is_err() {
                return Err(Error::ShutDown);
            }
        }
    }

    /// The next event; `None` when the driver has ended and everything is delivered. Cancel-safe: an event
    /// is taken in the moment in which it is returned.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.mailbox.next().await
    }

    /// The events as a stream, which lives on its own, so that the roster can be changed beside it. It ends
    /// with the registrar. Several streams of a registrar share its events; each event goes to one.
    pub fn events(&self) -> impl Stream<Item = WatchEvent> + Send + Unpin + use<> {
        let events = stream::unfold(Arc::clone(&self.mailbox), async |mailbox| {
            let event = mailbox.next().await?;
            Some((event, mailbox))
        });
        events.boxed()
    }
}

impl Drop for Registrar {
    fn drop(&mut self) {
        self.mailbox.discard();
        self.inbox.leave(self.id, &self.name);
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar").field("name", &self.name).finish_non_exhaustive()
    }
}

// === impl Mailbox ===

impl Default for Mailbox {
    fn default() -> Self {
        Self { state: Mutex::default(), bell: Notify::new(), readiness: watch::Sender::new(()) }
    }
}

impl Mailbox {
    pub(crate) fn wishes(&self) -> std::collections::HashMap<Gvk, Epoch> {
        self.lock().backlog.wishes()
    }

    /// Changes the backlog and wakes the consumer.
    pub(crate) fn deliver(&self, fill: impl FnOnce(&mut Backlog)) {
        let mut state = self.lock();
        fill(&mut state.backlog);
        let waiting = !state.backlog.is_empty();
        drop(state);
        if waiting {
            self.bell.notify_one();
        }
        self.announce();
    }

    /// Nothing comes any more; what is here is still delivered.
    pub(crate) fn finish(&self) {
        self.lock().finished = true;
        self.bell.notify_one();
        self.announce();
    }

    /// Nothing comes any more, and nothing is delivered.
    fn discard(&self) {
        *self.lock() = State { backlog: Backlog::default(), finished: true };
        self.bell.notify_one();
        self.announce();
    }

    fn readiness(&self) -> Readiness {
        Readiness::of(&self.lock().backlog)
    }

    /// Somebody who waits for readiness has to look again.
    fn announce(&self) {
        if self.readiness.receiver_count() > 0 {
            self.readiness.send_replace(());
        }
    }

    async fn next(&self) -> Option<WatchEvent> {
        loop {
            match self.try_next() {
                Next::Event(event) => return Some(*event),
                Next::End => return None,
                Next::Wait => self.bell.notified().await,
            }
        }
    }

    fn try_next(&self) -> Next {
        let mut state = self.lock();
        let event = state.backlog.pop();
        // The bell holds one ring for all that wait: whoever takes it passes it on while there is more.
        let more = state.finished || !state.backlog.is_empty();
        let end = state.finished;
        drop(state);
        if more {
            self.bell.notify_one();
        }
        match event {
            Some(event) => Next::Event(Box::new(event)),
            None if end => Next::End,
            None => Next::Wait,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Next {
    Event(Box<WatchEvent>),
    Wait,
    End,
}
