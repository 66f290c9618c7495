//! Runs the watch of one kind: performs the requests that `machine` asks for, under deadlines and permits, and
//! hands out its steps. `manager` polls it and drops it to stop it.

mod machine;
mod pace;
mod permits;
mod phase;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

pub(crate) use self::machine::Machine;
pub(crate) use self::permits::{Class, Permits};
#[cfg(test)]
pub(crate) use self::phase::Action;
#[cfg(not(test))]
use self::phase::Action;
use crate::config::Config;
use crate::dispatcher::{Step, WatchId};
use crate::event::Verb;
use crate::source::{Listed, Served, Source, SourceError, SourceEvent, SourceEvents};
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

/// Calls to one watch.
#[derive(Default)]
pub(crate) struct Calls {
    /// The kind may be served now.
    pub(crate) hint: Notify,
    /// Notified when what it covers has grown: list again.
    pub(crate) start_over: Notify,
}

pub(crate) struct Watcher {
    shared: Shared,
    id: WatchId,
    machine: Machine,
    calls: Arc<Calls>,
    /// The request that waits for a place or an answer.
    asking: Option<BoxFuture<'static, Asked>>,
    /// The discovery beside the open watch.
    looking: Option<BoxFuture<'static, Asked>>,
    events: Option<SourceEvents>,
    /// The time when the open watch counts as dead, unless a message comes.
    silent_at: Instant,
    /// The last request was not answered in time.
    timed_out: bool,
    /// The place of this watch among those that return when the server is back, between 0 and 1.
    spread: f64,
}

/// The end of a request.
struct Asked {
    reply: Reply,
    timed_out: bool,
}

enum Reply {
    Discovered(Result<Served, SourceError>),
    Listed(Result<Listed, SourceError>),
    Connected(Result<SourceEvents, SourceError>),
}

// === impl Watcher ===

impl Watcher {
    pub(crate) fn new(shared: Shared, id: WatchId, machine: Machine, calls: Arc<Calls>, spread: f64) -> Self {
        let silent_at = Instant::now();
        let (asking, looking, events) = (None, None, None);
        Self { shared, id, machine, calls, asking, looking, events, silent_at, timed_out: false, spread }
    }

    /// The next step. Endless; not cancel-safe, so the stream around it is dropped as a whole.
    pub(crate) async fn step(&mut self) -> Step {
        loop {
            // Before a step is handed out: those from before the call are void.
            if self.calls.start_over.notified().now_or_never().is_some() {
                self.start_over();
            }
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

    /// Starts over: what is asked and followed now is void too.
    fn start_over(&mut self) {
        self.machine.start_over();
        (self.asking, self.events) = (None, None);
    }

    async fn advance(&mut self) {
        if self.asking.is_some() {
            return self.wait_for_answer().await;
        }
        match self.machine.next_action(now()) {
            Action::Sleep(delay) => self.sleep(delay).await,
            Action::Read => self.read().await,
            request => {
                (self.events, self.looking) = (None, None);
                self.asking = self.ask(request);
            }
        }
    }

    async fn wait_for_answer(&mut self) {
        let Some(asking) = &mut self.asking else { return };
        tokio::select! {
            biased;
            asked = asking => {
                self.asking = None;
                self.timed_out = asked.timed_out;
                self.on_reply(asked.reply);
            }
            () = self.calls.start_over.notified() => self.start_over(),
            () = at(self.machine.late_at()) => self.machine.on_late(),
        }
    }

    fn on_reply(&mut self, reply: Reply) {
        match reply {
            Reply::Discovered(answer) => self.machine.on_discovered(now(), answer),
            Reply::Listed(answer) => self.machine.on_listed(now(), answer),
            Reply::Connected(answer) => {
                self.silent_at = self.silence();
                self.machine.on_connected(now(), answer.map(|events| self.events = Some(events)));
            }
        }
    }

    async fn read(&mut self) {
        let Some(events) = &mut self.events else { return self.machine.on_silence(now()) };
        tokio::select! {
            biased;
            // A watch that always has a message must not hide these.
            () = self.calls.hint.notified() => self.machine.on_hint(now()),
            () = self.calls.start_over.notified() => self.start_over(),
            asked = answer(&mut self.looking) => {
                self.looking = None;
                if let Reply::Discovered(answer) = asked.reply {
                    self.machine.on_looked(answer);
                }
            }
            () = at(self.machine.look_at(now())) => {
                let look = self.machine.begin_look(now());
                self.looking = look.and_then(|freshness| self.ask(Action::Discover(freshness)));
            }
            message = events.next() => self.on_message(message),
            () = sleep_until(self.silent_at) => {
                telemetry::ended(&self.id.gvk, End::Silent);
                self.machine.on_silence(now());
            }
        }
    }

    fn on_message(&mut self, message: Option<Result<SourceEvent, SourceError>>) {
        self.silent_at = self.silence();
        if let Some(end) = End::of(message.as_ref()) {
            telemetry::ended(&self.id.gvk, end);
        }
        self.machine.on_message(now(), message);
    }

    fn silence(&self) -> Instant {
        let now = Instant::now();
        let (idle, _) = self.shared.config.idle_and_watch_timeout(&self.id.gvk);
        now.checked_add(idle).unwrap_or(now)
    }

    async fn sleep(&mut self, delay: Duration) {
        tokio::select! {
            () = sleep(delay) => {}
            () = self.calls.hint.notified() => self.machine.on_hint(now()),
            () = self.calls.start_over.notified() => self.start_over(),
            () = self.shared.recovered.notified() => self.machine.on_recovery(now(), self.spread),
            () = at(self.machine.late_at()) => self.machine.on_late(),
        }
    }
}

// === impl Watcher: requests ===

impl Watcher {
    /// Returns the request of an action; `None` for an action without a request.
    fn ask(&self, action: Action) -> Option<BoxFuture<'static, Asked>> {
        let source = Arc::clone(&self.shared.source);
        match action {
            Action::Sleep(_) | Action::Read => None,
            Action::Discover(freshness) => {
                let gvk = Arc::clone(&self.id.gvk);
                let answer = async move { source.resolve(&gvk, freshness).await };
                Some(self.request(Verb::Discover, answer, Reply::Discovered))
            }
            Action::List(target, page) => {
                let answer = async move { source.list(&target, &page).await };
                Some(self.request(Verb::List, answer, Reply::Listed))
            }
            Action::Connect(target, version) => {
                let (_, timeout) = self.shared.config.idle_and_watch_timeout(&self.id.gvk);
                let answer = async move { source.watch(&target, &version, timeout).await };
                Some(self.request(Verb::Watch, answer, Reply::Connected))
            }
        }
    }

    /// Performs a request when it has a place; its deadline begins then. A watch whose last request timed out uses the
    /// places for suspects, so that kinds whose requests hang do not delay the others.
    fn request<T: Send + 'static>(
        &self,
        verb: Verb,
        answer: impl Future<Output = Result<T, SourceError>> + Send + 'static,
        reply: fn(Result<T, SourceError>) -> Reply,
    ) -> BoxFuture<'static, Asked> {
        let class = match verb {
            _ if self.timed_out => Class::Suspect,
            Verb::Watch => Class::Watch,
            Verb::Discover | Verb::List => Class::Start,
        };
        let limit = self.shared.config.request_timeout;
        let (permits, gvk) = (Arc::clone(&self.shared.permits), Arc::clone(&self.id.gvk));
        let asked = async move {
            // In the place: the clock of a timeout starts when it is made.
            let request = async { timeout(limit, answer).await };
            let answer = permits.run(class, request, |answer| matches!(answer, Ok(Ok(_)))).await;
            let timed_out = !matches!(answer, Some(Ok(_)));
            let answer = match answer {
                Some(Ok(answer)) => answer,
                Some(Err(_)) => Err(unanswered(verb, &format!("within {} s", limit.as_secs()))),
                None => Err(unanswered(verb, "while later requests were answered")),
            };
            telemetry::request(&gvk, verb, answer.as_ref().err());
            Asked { reply: reply(answer), timed_out }
        };
        asked.boxed()
    }
}

fn unanswered(verb: Verb, when: &str) -> SourceError {
    SourceError::Unavailable(format!("no answer to {verb} {when}: check the connection"))
}

/// The answer to a request, if there is one.
async fn answer(request: &mut Option<BoxFuture<'static, Asked>>) -> Asked {
    match request {
        Some(request) => request.await,
        None => std::future::pending().await,
    }
}

/// Waits for a time, or for ever.
async fn at(time: Option<std::time::Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// The time as the machine knows it; virtual under a paused clock.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}
