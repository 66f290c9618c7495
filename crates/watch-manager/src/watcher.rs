//! Runs the watch of one kind: performs the requests that `machine` asks for, under deadlines and permits, and
//! hands out its steps. `manager` polls it and drops it to stop it.

mod machine;
mod pace;
mod permits;
mod phase;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub(crate) use self::machine::Machine;
pub(crate) use self::permits::{Class, Permits};
#[cfg(test)]
pub(crate) use self::phase::Action;
#[cfg(not(test))]
use self::phase::Action;
use crate::config::Config;
use crate::dispatcher::{Step, WatchId};
use crate::event::Verb;
use crate::source::{Source, SourceError, SourceEvents};
use crate::telemetry::{self, End};

/// The parts that all watches of a manager share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) config: Arc<Config>,
    pub(crate) permits: Arc<Permits>,
    /// Notified when a failing watch has recovered.
    pub(crate) recovered: Arc<Notify>,
}

pub(crate) struct Watcher {
    shared: Shared,
    id: WatchId,
    machine: Machine,
    /// Notified when the kind may be served now.
    hint: Arc<Notify>,
    events: Option<SourceEvents>,
    /// When the open watch counts as dead, unless a message comes.
    silent_at: Instant,
    /// The last request was not answered in time.
    timed_out: bool,
    /// The place of this watch among those that return when the server is back, between 0 and 1.
    spread: f64,
}

// === impl Watcher ===

impl Watcher {
    pub(crate) fn new(shared: Shared, id: WatchId, machine: Machine, hint: Arc<Notify>, spread: f64) -> Self {
        Self { shared, id, machine, hint, events: None, silent_at: Instant::now(), timed_out: false, spread }
    }

    /// The next step. Endless; not cancel-safe, so the stream around it is dropped as a whole.
    pub(crate) async fn step(&mut self) -> Step {
        loop {
            if self.machine.take_recovered() {
                self.shared.recovered.notify_waiters();
            }
            if let Some(step) = self.machine.take_step() {
                return step;
            }
            // Answers that are there at once must not keep other watches waiting.
            tokio::task::consume_budget().await;
            self.advance().await;
        }
    }

    async fn advance(&mut self) {
        let source = Arc::clone(&self.shared.source);
        match self.machine.next_action(now()) {
            Action::Sleep(delay) => self.sleep(delay).await,
            Action::Discover(freshness) => {
                let gvk = Arc::clone(&self.id.gvk);
                let answer = self.request(Verb::Discover, source.resolve(&gvk, freshness)).await;
                self.machine.on_discovered(now(), answer);
            }
            Action::List(target, page) => {
                let answer = self.request(Verb::List, source.list(&target, &page)).await;
                self.machine.on_listed(now(), answer);
            }
            Action::Connect(target, version) => {
                let open = source.watch(&target, &version, self.shared.config.watch_timeout);
                let answer = self.request(Verb::Watch, open).await;
                self.silent_at = self.silence();
                self.machine.on_connected(now(), answer.map(|events| self.events = Some(events)));
            }
            Action::Read => self.read().await,
        }
    }

    async fn read(&mut self) {
        let Some(events) = &mut self.events else { return self.machine.on_silence(now()) };
        tokio::select! {
            biased;
            message = timeout_at(self.silent_at, events.next()) => match message {
                Ok(message) => {
                    self.silent_at = self.silence();
                    if let Some(end) = End::of(message.as_ref()) {
                        telemetry::ended(&self.id.gvk, end);
                    }
                    self.machine.on_message(now(), message);
                }
                Err(_) => {
                    telemetry::ended(&self.id.gvk, End::Silent);
                    self.machine.on_silence(now());
                }
            },
            () = self.hint.notified() => self.machine.on_hint(now()),
        }
        if !self.machine.is_following() {
            self.events = None;
        }
    }

    fn silence(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.shared.config.idle_timeout).unwrap_or(now)
    }

    async fn sleep(&mut self, delay: Duration) {
        tokio::select! {
            () = sleep(delay) => {}
            () = self.hint.notified() => self.machine.on_hint(now()),
            () = self.shared.recovered.notified() => self.machine.on_recovery(now(), self.spread),
        }
    }

    /// Performs a request under a permit and a deadline. A watch whose last request timed out uses the permits for
    /// suspects, so that kinds whose requests hang do not delay the others.
    async fn request<T>(
        &mut self,
        verb: Verb,
        answer: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let class = match verb {
            _ if self.timed_out => Class::Suspect,
            Verb::Watch => Class::Watch,
            Verb::Discover | Verb::List => Class::Start,
        };
        let limit = self.shared.config.request_timeout;
        let answer = self.shared.permits.run(class, timeout(limit, answer)).await;
        self.timed_out = answer.is_err();
        let answer = answer.unwrap_or_else(|_| {
            let message = format!("no answer to {verb} within {} s: check the connection", limit.as_secs());
            Err(SourceError::Unavailable(message))
        });
        telemetry::request(&self.id.gvk, verb, answer.as_ref().err());
        answer
    }
}

/// The time as the machine knows it; virtual under a paused clock.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}
