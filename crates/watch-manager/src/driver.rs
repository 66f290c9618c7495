//! Runs everything: one future owns the dispatcher and the watches and takes one command at a time. Handles reach it
//! through `control` only. It spawns nothing, and dropping it drops every watch.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, abortable};
use futures::stream::{AbortHandle, Abortable, BoxStream, FuturesUnordered, SelectAll};
use futures::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::control::{Control, Requests};
use crate::definitions::Definitions;
use crate::dispatcher::{Command, Dispatcher, Effect, Incarnation, Step, WatchId};
use crate::intents::StoreKey;
use crate::interest::Selection;
use crate::object::{Decoder, Transform};
use crate::telemetry;
use crate::watcher::{Calls, Machine, Shared, Watcher};

/// Objects of a snapshot that a registrar is given before everything else has a turn. A page of a list has as many.
const PORTION: usize = 500;

type Steps = Abortable<BoxStream<'static, (WatchId, Incarnation, Step)>>;

/// The state of the driver.
pub(crate) struct Run {
    shared: Shared,
    transform: Option<Transform>,
    dispatcher: Dispatcher,
    watches: SelectAll<Steps>,
    running: HashMap<WatchId, Running>,
    /// Kinds that the last registrar has left, and whose linger time is over.
    left: HashMap<StoreKey, Incarnation>,
    /// Kinds whose linger time runs.
    lingering: FuturesUnordered<Abortable<BoxFuture<'static, (StoreKey, Incarnation)>>>,
    /// Ends the timer of a kind: the next one replaces it, so a kind has one however often it is left.
    timers: HashMap<StoreKey, AbortHandle>,
    definitions: Definitions,
    counted: telemetry::Kinds,
    /// Last, so that the watches are gone when the streams end.
    closing: Closing,
}

struct Running {
    stop: AbortHandle,
    calls: Arc<Calls>,
    /// The start; `None` after the first complete list.
    begun: Option<Instant>,
}

/// Closes the handles when the driver ends, and also when it is dropped, polled or not.
struct Closing {
    control: Arc<Control>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.control.close();
    }
}

// === impl Run ===

impl Run {
    pub(crate) fn new(control: Arc<Control>, shared: Shared, transform: Option<Transform>) -> Self {
        Self {
            dispatcher: Dispatcher::new(Arc::clone(control.stores()), PORTION),
            definitions: Definitions::new(shared.config.watch_definitions),
            counted: telemetry::Kinds::default(),
            shared,
            transform,
            watches: SelectAll::new(),
            running: HashMap::new(),
            left: HashMap::new(),
            lingering: FuturesUnordered::new(),
            timers: HashMap::new(),
            closing: Closing { control },
        }
    }

    pub(crate) async fn drive(mut self) {
        let control = Arc::clone(&self.closing.control);
        let definitions = Arc::clone(self.definitions.queue());
        loop {
            let replays = self.dispatcher.is_replaying();
            tokio::select! {
                // Requests first: what is removed need not be worked on.
                biased;
                () = control.notified() => {
                    let requests = control.take();
                    if requests.over {
                        return;
                    }
                    self.grant(requests);
                }
                Some(expired) = self.lingering.next() => if let Ok((store, token)) = expired {
                    self.timers.remove(&store);
                    self.left.insert(store, token);
                    self.release();
                },
                Some(event) = definitions.next() => {
                    if let Some(group) = Definitions::group(&event) {
                        self.hint(|watch| watch.gvk.group == group);
                    }
                }
                Some((watch, incarnation, step)) = self.watches.next() => self.on_step(watch, incarnation, step),
                () = std::future::ready(()), if replays => {}
            }
            if replays {
                self.command(Command::Replay);
            }
            // A long list must not keep other tasks of the runtime's thread waiting.
            tokio::task::consume_budget().await;
        }
    }

    fn grant(&mut self, requests: Requests) {
        for id in requests.dropped {
            self.command(Command::Drop(id));
        }
        for (id, queue) in requests.changed {
            self.command(Command::Assign(id, queue));
        }
        self.hint(|watch| requests.hints.contains(&*watch.gvk));
        if requests.flush {
            self.left.extend(self.dispatcher.idle());
        }
        self.release();
        let control = &self.closing.control;
        control.prune(|store| self.dispatcher.contains(store));
        self.counted.set(self.running.len(), || control.intended().len());
    }

    /// Ends the kinds that the last registrar has left. One that another registrar has asked for in the meantime goes on: a
    /// call of [`add`](crate::Registrar::add) that is not taken yet has returned its store.
    fn release(&mut self) {
        if self.left.is_empty() {
            return;
        }
        let control = Arc::clone(&self.closing.control);
        control.if_taken(|| {
            for (store, token) in std::mem::take(&mut self.left) {
                self.command(Command::Expire(store, token));
            }
        });
    }

    fn on_step(&mut self, watch: WatchId, incarnation: Incarnation, step: Step) {
        if step.is_unreadable() {
            telemetry::undecodable(&watch.gvk);
        }
        if matches!(step, Step::ListDone)
            && let Some(running) = self.running.get_mut(&watch)
        {
            telemetry::listed(&watch.gvk, running.begun.take().map(|begun| begun.elapsed()));
        }
        if let Some(command) = self.definitions.on_step(&watch.gvk, &step) {
            self.command(command);
        }
        let changes = !matches!(step, Step::Status(..) | Step::Contact | Step::ListStarted);
        let command = Command::Step(watch, incarnation, step);
        match changes {
            true => telemetry::fan_out(|| self.command(command)),
            false => self.command(command),
        }
    }

    /// Discovers the kinds that `is_meant` accepts at once.
    fn hint(&self, is_meant: impl Fn(&WatchId) -> bool) {
        for (_, running) in self.running.iter().filter(|(watch, _)| is_meant(watch)) {
            running.calls.hint.notify_one();
        }
    }

    fn command(&mut self, command: Command) {
        for effect in self.dispatcher.run(Instant::now().into_std(), command) {
            match effect {
                Effect::Start { id, incarnation, selection, followed_until } => {
                    self.start(id, incarnation, selection, followed_until);
                }
                Effect::Stop(watch) => {
                    if let Some(running) = self.running.remove(&watch) {
                        running.stop.abort();
                        telemetry::stopped(&watch.gvk);
                    }
                }
                Effect::StartOver(watch) => {
                    if let Some(running) = self.running.get(&watch) {
                        running.calls.start_over.notify_one();
                    }
                }
                Effect::Linger(store, token) => self.linger(store, token),
            }
        }
    }

    fn linger(&mut self, store: StoreKey, token: Incarnation) {
        if self.shared.config.linger.is_zero() {
            self.left.insert(store, token);
            return;
        }
        let (expired, stop) = {
            let store = store.clone();
            abortable(sleep(self.shared.config.linger).map(move |()| (store, token)).boxed())
        };
        self.lingering.push(expired);
        if let Some(former) = self.timers.insert(store, stop) {
            former.abort();
        }
    }

    fn start(
        &mut self,
        watch: WatchId,
        incarnation: Incarnation,
        selection: Selection,
        followed_until: Option<std::time::Instant>,
    ) {
        telemetry::started(&watch.gvk);
        let (config, calls) = (Arc::clone(&self.shared.config), Arc::<Calls>::default());
        let decoder = Decoder::new(Arc::clone(&watch.gvk), &config, self.transform.clone());
        let mut machine = Machine::new(config, decoder, watch.part.clone(), selection);
        if let Some(since) = followed_until {
            machine.begin_ready(since);
        }
        let watcher = Watcher::new(
            self.shared.clone(),
            watch.clone(),
            machine,
            Arc::clone(&calls),
            incarnation.spread(),
        );
        let gvk = &watch.gvk;
        let span = tracing::info_span!("watch", group = %gvk.group, version = %gvk.version, kind = %gvk.kind,
            fields = watch.fields.as_deref(),
            namespace = watch.part.as_deref(), incarnation = incarnation.0);
        let id = watch.clone();
        let steps = stream::unfold(watcher, move |mut watcher| {
            let (id, span) = (id.clone(), span.clone());
            let step = async move {
                let step = watcher.step().await;
                Some(((id, incarnation, step), watcher))
            };
            step.instrument(span)
        });
        let (steps, stop) = stream::abortable(steps.boxed());
        self.watches.push(steps);
        self.running.insert(watch, Running { stop, calls, begun: Some(Instant::now()) });
    }
}

// === impl Incarnation ===

impl Incarnation {
    /// The place among the watches that return when the server is back, between 0 and 1.
    fn spread(self) -> f64 {
        f64::from(u32::try_from(self.0 % 97).unwrap_or_default()) / 97.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Notify;

    use super::*;
    use crate::config::Config;
    use crate::fixture::gvk;
    use crate::intents::RegistrarId;
    use crate::interest::Scope;
    use crate::queue::EventQueue;
    use crate::testing::FakeApi;
    use crate::watcher::Permits;

    /// A registrar that comes and goes all the time leaves nothing behind.
    #[tokio::test(start_paused = true)]
    async fn a_kind_has_one_linger_timer_however_often_it_is_left() {
        let config = Config { linger: Duration::from_secs(3_600), ..Config::default() };
        let shared = Shared {
            source: Arc::new(FakeApi::new()),
            permits: Arc::new(Permits::new(1)),
            config: Arc::new(config),
            recovered: Arc::new(Notify::new()),
        };
        let (mut run, queue) = (Run::new(Arc::default(), shared, None), Arc::<EventQueue>::default());
        for _ in 0..1_000 {
            queue.change(|backlog| backlog.want(&gvk("A"), &Scope::default()));
            run.command(Command::Assign(RegistrarId(1), Arc::clone(&queue)));
            queue.change(|backlog| backlog.unwant(&gvk("A")));
            run.command(Command::Assign(RegistrarId(1), Arc::clone(&queue)));
        }
        while run.lingering.next().now_or_never().flatten().is_some() {}
        assert_eq!((run.lingering.len(), run.timers.len(), run.running.len()), (1, 1, 1));
    }
}
