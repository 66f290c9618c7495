//! An open watch of the server in memory, and its misbehaviour.

use std::collections::VecDeque;
use std::time::Duration;

use futures::{Stream, stream};
use kube::core::GroupVersionKind;

use super::kind::{Next, Position};
use super::{FakeApi, Fault, key};
use crate::source::{SourceError, SourceEvent};

/// An API server sends a bookmark about every minute.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// An open watch. Dropping it closes the watch.
pub(super) struct Cursor {
    api: FakeApi,
    gvk: GroupVersionKind,
    position: Position,
    fault: Option<Fault>,
    /// Events that the fault holds back or adds.
    pending: VecDeque<SourceEvent>,
    sent: u32,
}

type Message = Result<SourceEvent, SourceError>;

// === impl Cursor ===

impl Cursor {
    pub(super) fn open(
        api: FakeApi,
        gvk: GroupVersionKind,
        position: Position,
        fault: Option<Fault>,
    ) -> Self {
        let mut state = api.lock();
        state.open_watches = state.open_watches.saturating_add(1);
        drop(state);
        Self { api, gvk, position, fault, pending: VecDeque::new(), sent: 0 }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Message> + Send {
        stream::unfold(self, async |mut cursor| {
            let message = cursor.next().await?;
            cursor.sent = cursor.sent.saturating_add(1);
            Some((message, cursor))
        })
    }

    /// The next message; `None` at the end.
    async fn next(&mut self) -> Option<Message> {
        match self.fault {
            Some(Fault::ClosedAtOnce) => return None,
            Some(Fault::ClosedAfter(count)) if self.sent >= count => return None,
            Some(Fault::ExpiredAtOnce) => return (self.sent == 0).then_some(Err(SourceError::Expired)),
            Some(Fault::Silent) => std::future::pending().await,
            Some(Fault::Truncated) if self.sent > 0 => {
                return Some(Err(SourceError::Unavailable("the body ends in the middle".to_owned())));
            }
            _ => {}
        }
        if let Some(event) = self.pending.pop_front() {
            return Some(Ok(event));
        }
        let event = match self.read().await? {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(self.misbehave(event)))
    }

    fn misbehave(&mut self, event: SourceEvent) -> SourceEvent {
        match self.fault {
            Some(Fault::Duplicates) => self.pending.push_back(event.clone()),
            Some(Fault::Reordered) => {
                if let Some(Next::Event(later)) = self.peek() {
                    self.pending.push_back(event);
                    return later;
                }
            }
            Some(Fault::Bookmarks(count)) => {
                self.pending.extend((1..count).map(|_| self.position.bookmark()));
                self.pending.push_back(event);
                return self.position.bookmark();
            }
            _ => {}
        }
        event
    }

    fn peek(&mut self) -> Option<Next> {
        let state = self.api.lock();
        Some(state.kinds.get(&key(&self.gvk))?.next(&mut self.position))
    }

    /// Waits for a change.
    async fn read(&mut self) -> Option<Message> {
        let mut tick = self.api.tick.subscribe();
        loop {
            match self.peek().unwrap_or(Next::End) {
                Next::Event(event) => return Some(Ok(event)),
                Next::Error(error) => return Some(Err(error)),
                Next::End => return None,
                Next::Nothing => tokio::select! {
                    changed = tick.changed() => changed.ok()?,
                    () = tokio::time::sleep(BOOKMARKS) => return Some(Ok(self.position.bookmark())),
                },
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = self.api.lock();
        state.open_watches = state.open_watches.saturating_sub(1);
    }
}
