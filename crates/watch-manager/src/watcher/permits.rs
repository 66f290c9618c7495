//! Limits the requests in flight, such that requests that hang do not delay others.
//!
//! A request waits until others are answered. One that is not answered soon gives its place to the next in line, and
//! continues without a place. Most places go to the request that has waited longest, so that each has its turn. Some go to
//! the newest request and are given on sooner: a kind that is asked for beside any number of kinds whose requests hang waits
//! for one of these places, not for all kinds before it.
//!
//! "Soon" is derived from the answers: a server that answers others in 20 ms need not be waited for longer than [`LEAST_HOLD`],
//! while one that takes two seconds for everything is asked no more at once than there are places. Requests without a place
//! add up, so one that later requests have overtaken is given up while others wait. Worked example: 200 lists hang, and
//! discovery was answered at once. 16 places change hands every half second, so a list that is asked for with them has its turn
//! within seven seconds. When it is answered, those that hang have been overtaken, and are given up as they get 7.5 s old.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at, sleep};

/// The longest time for which a request that is not answered keeps its place, and for which an answer counts as
/// news about others.
const HOLD: Duration = Duration::from_secs(5);
/// It keeps it for so long while no request is answered: longer than where others are, because those that hang are given up at
/// their deadline only. In 30 s, a place is left by at most ten requests in the [`HOLD`] after the last answer, and by 13 after that.
const SILENT_HOLD: Duration = Duration::from_secs(2);
/// The shortest time for which it keeps it.
const LEAST_HOLD: Duration = Duration::from_millis(500);
/// It keeps it for so many times the usual time to an answer.
const USUAL: u32 = 8;
/// A request that was overtaken is given up after so many times this.
const GIVE_UP: u32 = 15;
/// The longest hold of places that go to the newest, and for those of suspects.
const SHORT_HOLD: Duration = Duration::from_secs(1);
/// One place in so many goes to the newest.
const NEWEST: usize = 8;
/// Places for watches whose last request timed out.
const SUSPECTS: usize = 4;

/// The places of a manager.
pub(crate) struct Permits {
    starts: Arc<PermitQueue>,
    watches: Arc<PermitQueue>,
    suspects: Arc<PermitQueue>,
}

/// The kind of a request. Each has its own places: a list of a new kind cannot delay the watch of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Discovery and lists.
    Start,
    /// Opening a watch.
    Watch,
    /// Any request of a watch whose last request timed out.
    Suspect,
}

/// The places of one class, and those who wait for one.
struct PermitQueue {
    state: Mutex<State>,
    longest_hold: Duration,
}

#[derive(Default)]
struct State {
    /// The last answer: when it came, and when the request was sent.
    answered: Option<(Instant, Instant)>,
    /// The time to an answer: at once that of a slower one, slowly that of faster ones.
    usual: Duration,
    free: usize,
    /// Free places that go to the newest.
    free_for_newest: usize,
    /// The oldest first.
    waiting: VecDeque<oneshot::Sender<Place>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Oldest,
    Newest,
}

/// A place that is taken. Dropping it gives it to the next.
struct Permit {
    queue: Arc<PermitQueue>,
    place: Place,
}

/// One that waits. Dropping it gives up the wait, and the place that may just have been granted.
struct Waiting {
    granted: oneshot::Receiver<Place>,
    queue: Arc<PermitQueue>,
}

// === impl Permits ===

impl Permits {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        let newest = if limit == 1 { 0 } else { limit.div_ceil(NEWEST) };
        Self {
            starts: PermitQueue::new(limit.saturating_sub(newest), newest, HOLD),
            watches: PermitQueue::new(limit.saturating_sub(newest), newest, HOLD),
            suspects: PermitQueue::new(SUSPECTS, 0, SHORT_HOLD),
        }
    }

    /// Waits for a place, then for the request; `None` if it was given up for others. `is_answer` accepts what shows how fast
    /// the server is.
    pub(crate) async fn run<T>(
        &self,
        class: Class,
        request: impl Future<Output = T>,
        is_answer: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let queue = match class {
            Class::Start => &self.starts,
            Class::Watch => &self.watches,
            Class::Suspect => &self.suspects,
        };
        let permit = queue.acquire().await;
        let (sent, hold) = (Instant::now(), permit.hold());
        let mut request = pin!(request);
        let answer = tokio::select! {
            answer = &mut request => Some(answer),
            () = sleep(hold) => {
                drop(permit);
                queue.outwait(request, sent, hold).await
            }
        };
        if answer.as_ref().is_some_and(is_answer) {
            queue.lock().on_answer(sent);
        }
        answer
    }
}

// === impl PermitQueue ===

impl PermitQueue {
    fn new(free: usize, free_for_newest: usize, longest_hold: Duration) -> Arc<Self> {
        let state = State { free, free_for_newest, ..State::default() };
        Arc::new(Self { state: Mutex::new(state), longest_hold })
    }

    /// Waits for a place. Cancel-safe, but the place in the line is lost.
    async fn acquire(self: &Arc<Self>) -> Permit {
        let granted = {
            let mut state = self.lock();
            if let Some(place) = state.take_free() {
                return Permit { queue: Arc::clone(self), place };
            }
            let (grant, granted) = oneshot::channel();
            state.waiting.push_back(grant);
            granted
        };
        let mut waiting = Waiting { granted, queue: Arc::clone(self) };
        // The other end is dropped only when it has granted a place.
        let place = (&mut waiting.granted).await.unwrap_or(Place::Oldest);
        Permit { queue: Arc::clone(self), place }
    }

    /// Waits for the answer to a request without a place; `None` if it is given up.
    async fn outwait<T>(
        &self,
        mut request: Pin<&mut impl Future<Output = T>>,
        sent: Instant,
        hold: Duration,
    ) -> Option<T> {
        let start = sent.checked_add(hold.saturating_mul(GIVE_UP)).unwrap_or(sent);
        let mut checks = interval_at(start, hold);
        loop {
            tokio::select! {
                answer = &mut request => return Some(answer),
                _ = checks.tick() => if self.lock().is_in_the_way(sent) {
                    return None;
                },
            }
        }
    }

    /// Gives a place to the next in line that still waits.
    fn release(&self, place: Place) {
        let mut state = self.lock();
        loop {
            let next = match place {
                Place::Oldest => state.waiting.pop_front(),
                Place::Newest => state.waiting.pop_back(),
            };
            match next.map(|next| next.send(place)) {
                Some(Ok(())) => return,
                Some(Err(_)) => {}
                None => return state.put_back(place),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn on_answer(&mut self, sent: Instant) {
        let latest = self.answered.map_or(sent, |(_, before)| before.max(sent));
        self.answered = Some((Instant::now(), latest));
        let usual = self.usual.saturating_sub(self.usual.checked_div(8).unwrap_or_default());
        self.usual = sent.elapsed().max(usual);
    }

    /// Returns how long a request that is sent now keeps its place.
    fn hold(&self) -> Duration {
        match self.answered {
            Some((at, _)) if at.elapsed() < HOLD => self.usual.saturating_mul(USUAL).clamp(LEAST_HOLD, HOLD),
            _ => SILENT_HOLD,
        }
    }

    /// Returns true if others wait, and one that was sent later than this was answered.
    fn is_in_the_way(&self, sent: Instant) -> bool {
        !self.waiting.is_empty() && self.answered.is_some_and(|(_, answered)| answered > sent)
    }

    fn take_free(&mut self) -> Option<Place> {
        let (free, place) = match self.free {
            0 => (&mut self.free_for_newest, Place::Newest),
            _ => (&mut self.free, Place::Oldest),
        };
        *free = free.checked_sub(1)?;
        Some(place)
    }

    fn put_back(&mut self, place: Place) {
        let free = match place {
            Place::Oldest => &mut self.free,
            Place::Newest => &mut self.free_for_newest,
        };
        *free = free.saturating_add(1);
    }
}

// === impl Permit ===

impl Permit {
    fn hold(&self) -> Duration {
        let longest = match self.place {
            Place::Oldest => self.queue.longest_hold,
            Place::Newest => SHORT_HOLD,
        };
        self.queue.lock().hold().min(longest)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.queue.release(self.place);
    }
}

// === impl Waiting ===

impl Drop for Waiting {
    fn drop(&mut self) {
        self.granted.close();
        match self.granted.try_recv() {
            Ok(place) => self.queue.release(place),
            Err(_) => self.queue.lock().waiting.retain(|waiting| !waiting.is_closed()),
        }
    }
}

#[cfg(test)]
mod tests;
