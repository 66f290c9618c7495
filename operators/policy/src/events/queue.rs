//! Events that wait to be stored: each name once, with the number of its occurrences.
//!
//! At the end of a process the queue is closed: what waits is still stored, and nothing more is taken.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Event;
use tokio::sync::Notify;

/// Events that wait. More are dropped, and counted.
const WAITING: usize = 1000;

/// The Events of a process that wait to be stored. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct EventQueue(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Names, oldest first.
    order: VecDeque<String>,
    events: HashMap<String, Event>,
    /// Occurrences of the Event that is being stored.
    taken: i32,
    closed: bool,
}

impl EventQueue {
    /// Adds an Event, or counts it with the one of its name that waits already.
    pub(super) fn push(&self, event: Event) {
        let component = component(&event);
        let is_taken = self.waiting().add(event);
        match is_taken {
            true => self.0.added.notify_one(),
            false => count(component, "dropped", 1),
        }
    }

    /// Takes the oldest, and waits while there is none; `None` once the queue is closed and empty. Cancel-safe.
    pub(super) async fn next(&self) -> Option<Event> {
        loop {
            let (taken, closed) = self.waiting().take();
            match taken {
                None if !closed => self.0.added.notified().await,
                taken => return taken,
            }
        }
    }

    /// Takes no more Events: those that come are dropped, and counted.
    pub fn close(&self) {
        self.waiting().closed = true;
        self.0.added.notify_one();
    }

    /// Logs how many Events a process that ends has not stored.
    pub fn abandon(&self) {
        let left = self.waiting().left();
        if left > 0 {
            tracing::warn!(left, "Events about violations are not stored: there was no time for them");
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Every state in between is one that can be gone on from.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, event: Event) -> bool {
        let name = event.metadata.name.clone().unwrap_or_default();
        if let Some(waiting) = self.events.get_mut(&name).filter(|_| !self.closed) {
            *waiting = after(waiting, event);
            return true;
        }
        if self.closed || self.events.len() >= WAITING {
            return false;
        }
        self.order.push_back(name.clone());
        self.events.insert(name, event);
        true
    }

    /// The oldest, and whether no more will come.
    fn take(&mut self) -> (Option<Event>, bool) {
        let name = self.order.pop_front();
        let event = name.and_then(|name| self.events.remove(&name));
        self.taken = event.as_ref().map_or(0, occurrences);
        (event, self.closed)
    }

    /// Occurrences that are not stored.
    fn left(&self) -> i32 {
        self.events.values().map(occurrences).fold(self.taken, i32::saturating_add)
    }
}

/// The later one, which has begun when the earlier one did.
fn after(earlier: &Event, later: Event) -> Event {
    Event {
        first_timestamp: earlier.first_timestamp.clone(),
        count: Some(occurrences(earlier).saturating_add(occurrences(&later))),
        ..later
    }
}

/// The occurrences that an Event stands for.
pub(super) fn occurrences(event: &Event) -> i32 {
    event.count.unwrap_or(1)
}

/// The part of the operator that made an Event.
pub(super) fn component(event: &Event) -> String {
    event.source.as_ref().and_then(|source| source.component.clone()).unwrap_or_default()
}

/// Counts what became of occurrences.
pub(super) fn count(component: String, result: &'static str, occurrences: i32) {
    let occurrences = u64::try_from(occurrences).unwrap_or_default();
    metrics::counter!("webtroller_events_total", "component" => component, "result" => result)
        .increment(occurrences);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str) -> Event {
        let mut event = Event { count: Some(1), ..Event::default() };
        event.metadata.name = Some(name.to_owned());
        event
    }

    #[tokio::test]
    async fn an_event_that_waits_is_counted_and_not_multiplied() {
        let queue = EventQueue::default();
        for name in ["a", "b", "a", "a"] {
            queue.push(event(name));
        }
        let taken = [queue.next().await, queue.next().await].map(Option::unwrap);
        let counts = taken.map(|event| (event.metadata.name.unwrap(), event.count.unwrap()));
        assert_eq!(counts, [("a".to_owned(), 3), ("b".to_owned(), 1)]);
    }

    #[tokio::test]
    async fn a_full_queue_drops_new_names_and_still_counts_those_that_wait() {
        let queue = EventQueue::default();
        (0..WAITING).for_each(|number| queue.push(event(&number.to_string())));
        queue.push(event("one too many"));
        queue.push(event("0"));
        let mut taken = Vec::new();
        for _ in 0..WAITING {
            taken.push(queue.next().await.unwrap());
        }
        assert_eq!(taken[0].count, Some(2));
        assert!(taken.iter().all(|event| event.metadata.name.as_deref() != Some("one too many")));
        assert!(queue.waiting().take().0.is_none());
    }

    #[tokio::test]
    async fn a_queue_that_is_closed_gives_what_waits_and_takes_no_more() {
        let queue = EventQueue::default();
        queue.push(event("a"));
        queue.push(event("b"));
        queue.close();
        queue.push(event("a"));
        queue.push(event("c"));
        assert_eq!(queue.next().await.unwrap().count, Some(1));
        assert_eq!(queue.waiting().left(), 2, "one waits, and one is being stored");
        assert!(queue.next().await.is_some() && queue.next().await.is_none());
        assert_eq!(queue.waiting().left(), 0);
    }
}
