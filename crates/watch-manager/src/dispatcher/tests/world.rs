//! The world that the tests walk through: registrars that come and go, readers that are slow, kinds whose server
//! answers, fails, and changes at every point. Each action checks what it may and may not cause.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use super::server::{NAMES, Objects, Server, sees};
use crate::backlog::{Backlog, Wanted};
use crate::config::Config;
use crate::dispatcher::{Command, Dispatcher, Effect, Incarnation, Step, WatchId};
use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::fixture::gvk;
use crate::intents::{Gvk, RegistrarId, StoreKey};
use crate::interest::{Interest, Part};
use crate::object::Decoder;
use crate::queue::EventQueue;
use crate::source::SourceError;
use crate::store::StoreHandle;
use crate::watcher::{Action as Request, Machine};

/// One object per page, and the same delays in every run. The rate limit has tests of its own.
static CONFIG: LazyLock<Arc<Config>> = LazyLock::new(|| {
    let mut config = Config { page_size: 1, jitter_seed: Some(1), ..Config::default() };
    config.requests.burst = 10_000;
    config.pages.burst = 10_000;
    Arc::new(config)
});

/// A registrar that joins late gets one object after the other, and everything may come in between.
const PORTION: usize = 1;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) registrars: usize,
    pub(super) kinds: usize,
    pub(super) names: usize,
    /// Changes of the server of each kind.
    pub(super) changes: u64,
    pub(super) actors: Actors,
    /// Actions that are not progress: calls, changes of the server, failures.
    pub(super) disturbances: u64,
    /// The last registrar gets every change, and lags behind this bound.
    pub(super) ordered: Option<usize>,
    /// Objects are in namespaces, registrars ask for [`WISHES`], and the server may refuse the watch of all.
    pub(super) namespaced: bool,
    /// A kind that the last registrar has left lingers.
    pub(super) linger: bool,
    /// The server may have objects that cannot be read.
    pub(super) unreadable: bool,
}

/// The namespaces that each registrar asks for in a world with namespaces; all of them if none is named.
const WISHES: [&[&str]; 3] = [&[], &["left"], &["left", "right"]];
/// The watches that a kind may have.
const PARTS: [Option<&str>; 3] = [None, Some("left"), Some("right")];

/// The actors that move in an exploration. Those that stand still in one move in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Actors {
    All,
    /// Watches, and the server of the first kind.
    Server,
    /// Registrars, readers and watches.
    Registrars,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Make(usize),
    Drop(usize),
    Add(usize, usize),
    Remove(usize, usize),
    /// The kind becomes the registrar's only one.
    ReplaceBy(usize, usize),
    /// The driver looks at the registrar's intents.
    Grant(usize),
    /// The reader takes one event.
    Deliver(usize),
    /// On the server: the object is created or changed.
    Put(usize, usize),
    /// On the server: the object is created or changed, and cannot be read.
    Garble(usize, usize),
    Delete(usize, usize),
    Unserve(usize),
    Serve(usize),
    Compact(usize),
    /// Versions so far are rejected from now on.
    Reject(usize),
    /// The client loses the right to watch all namespaces, or gets it back.
    Refuse(usize),
    /// The server answers the request of the watch of one of [`PARTS`] truthfully; a wait is over.
    Answer(usize, usize),
    /// The request fails, or the open watch breaks.
    Fail(usize, usize),
    /// The watch notices that it is to start over.
    StartOver(usize, usize),
    /// The linger time of a kind is over.
    Expire(usize),
    /// The registrar whose turn it is gets another portion of a snapshot.
    Replay,
}

pub(super) struct World {
    limits: Limits,
    now: Instant,
    dispatcher: Dispatcher,
    readers: Vec<Option<Reader>>,
    next_id: u64,
    kinds: Vec<Kind>,
    disturbances: u64,
    /// The server has failed, or changed more than its objects.
    troubled: bool,
    /// The actions so far, for the message of a failure.
    trail: Vec<Action>,
    /// Checks what each action must not cause. Off in the copies that show where a state leads.
    checks: bool,
}

/// A registrar and the knowledge of its reader.
#[derive(Debug)]
struct Reader {
    id: RegistrarId,
    queue: Arc<EventQueue>,
    dirty: bool,
    views: BTreeMap<usize, View>,
}

#[derive(Debug, Clone, Default)]
struct View {
    held: Objects,
    /// The kind was ready, and the server has not failed since.
    was_ready: bool,
    /// The contents of the snapshot whose end is queued.
    snapshot: Option<Objects>,
    synced: bool,
}

#[derive(Debug, Clone)]
struct Kind {
    server: Server,
    runs: BTreeMap<Part, Run>,
}

#[derive(Debug, Clone)]
struct Run {
    incarnation: Incarnation,
    machine: Machine,
    /// It was told to start over and has not noticed yet.
    is_to_start_over: bool,
}

/// The store of all objects of a kind.
fn all(gvk: &Gvk) -> StoreKey {
    StoreKey { gvk: gvk.clone(), fields: None }
}

// === impl World ===

impl World {
    pub(super) fn new(limits: &Limits) -> Self {
        let kinds = ["A", "B"].into_iter().take(limits.kinds);
        Self {
            limits: *limits,
            now: Instant::now(),
            dispatcher: Dispatcher::new(Arc::default(), PORTION),
            readers: (0..limits.registrars).map(|_| None).collect(),
            next_id: 0,
            kinds: kinds.map(|kind| Kind::new(Server::new(gvk(kind), limits.namespaced))).collect(),
            disturbances: 0,
            troubled: false,
            trail: Vec::new(),
            checks: true,
        }
    }

    /// Begins to count disturbances, and to note actions.
    pub(super) fn settled(mut self) -> Self {
        self.disturbances = 0;
        self.troubled = false;
        self.trail.clear();
        self
    }

    /// Leaves the checks of single actions to the other explorations.
    pub(super) fn without_checks_of_actions(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Copies the world, sharing nothing with the original.
    pub(super) fn fork(&self) -> Self {
        let readers: Vec<_> = self.readers.iter().map(|reader| reader.as_ref().map(Reader::fork)).collect();
        let known = |id: &RegistrarId| readers.iter().flatten().find(|reader| reader.id == *id);
        let stores = Arc::new(self.dispatcher.stores.fork());
        let queues: HashMap<_, _> = self
            .dispatcher
            .queues
            .iter()
            .map(|(id, queue)| (*id, known(id).map_or_else(|| queue.fork(), |reader| reader.queue.clone())))
            .collect();
        let kinds = self.dispatcher.kinds.iter().map(|(key, kind)| {
            let mut subscribers = kind.subscribers.clone();
            for subscriber in &mut subscribers {
                subscriber.queue = queues[&subscriber.id].clone();
            }
            let copy = crate::dispatcher::kind::Kind {
                store: stores.open(key),
                watches: kind.watches.clone(),
                subscribers,
                idle: kind.idle,
                refused: kind.refused,
                arrives: kind.arrives,
            };
            (key.clone(), copy)
        });
        let dispatcher = Dispatcher {
            intents: self.dispatcher.intents.clone(),
            kinds: kinds.collect(),
            queues,
            stores,
            counter: self.dispatcher.counter,
            portion: self.dispatcher.portion,
            replays: self.dispatcher.replays.clone(),
        };
        Self { dispatcher, readers, kinds: self.kinds.clone(), trail: self.trail.clone(), ..*self }
    }

    /// The world in words, equal for worlds that behave alike from here.
    pub(super) fn picture(&self) -> String {
        let mut texts = Vec::new();
        for (r, reader) in self.readers.iter().enumerate() {
            let Some(reader) = reader else {
                texts.push(" none".to_owned());
                continue;
            };
            let wish = if self.limits.namespaced { WISHES[r] } else { &[] };
            let (intents, backlog) = reader.queue.look(|backlog| (backlog.intents(), backlog.picture()));
            // The number of a stay does not matter, but whether the dispatcher knows of it does.
            let joined = |kind: &Kind| {
                let known = self.dispatcher.kinds.get(&all(&kind.server.gvk))?;
                Some(known.subscribers.iter().find(|subscriber| subscriber.id == reader.id)?.epoch)
            };
            let known: Vec<bool> = self
                .kinds
                .iter()
                .map(|kind| joined(kind) == intents.get(&kind.server.gvk).map(|stay| stay.epoch))
                .collect();
            let pending = self.pending(reader.id);
            texts.push(format!(
                " {wish:?} {} {backlog} {known:?} {:?} {pending:?}",
                reader.dirty, reader.views
            ));
        }
        // It does not matter which registrar is which.
        texts.sort();
        let mut text = texts.concat();
        if self.limits.disturbances < u64::MAX {
            text.push_str(&format!(" {}", self.disturbances));
        }
        text.push_str(if self.troubled { " troubled" } else { "" });
        self.kinds.iter().for_each(|kind| self.picture_kind(kind, &mut text));
        text
    }

    /// The server of a kind, its watches and its store.
    fn picture_kind(&self, kind: &Kind, text: &mut String) {
        text.push_str(&kind.server.picture());
        let Some(known) = self.dispatcher.kinds.get(&all(&kind.server.gvk)) else { return };
        for (part, run) in &kind.runs {
            let Run { machine, is_to_start_over, .. } = run;
            text.push_str(&format!(" {part:?} {} {is_to_start_over}", machine.picture()));
            if self.limits.namespaced {
                let watch = &known.watches[part];
                text.push_str(&format!(" {} {} {}", watch.status, watch.complete, watch.outdated));
            }
        }
        if !kind.runs.is_empty() {
            let crate::dispatcher::kind::Kind { store, refused, arrives, .. } = known;
            let (idle, synced) = (known.idle.is_some(), store.is_synced());
            text.push_str(&format!(" {:?} {synced} {refused} {arrives} {idle}", stored(store)));
        }
    }

    /// Everything that concerns the first kind.
    pub(super) fn picture_of_first(&self) -> String {
        let kind = &self.kinds[0];
        let mut text = String::new();
        for reader in &self.readers {
            let Some(Reader { id, queue, views, .. }) = reader else {
                text.push_str(" none");
                continue;
            };
            let backlog = queue.look(|backlog| backlog.picture_of(|gvk| *gvk == *kind.server.gvk));
            let view = views.get(&0).map(|view| (&view.held, &view.snapshot, view.synced));
            let pending: Vec<_> = self.pending(*id).into_iter().filter(|(_, of, _)| *of == "A").collect();
            let pending = pending.iter().map(|(_, _, objects)| objects).collect::<Vec<_>>();
            text.push_str(&format!(" {backlog} {view:?} {pending:?}"));
        }
        self.picture_kind(kind, &mut text);
        text
    }

    /// Returns what an action is in a world of the first kind alone; `None` if it concerns the other.
    pub(super) fn without_others(&self, action: &Action) -> Option<Action> {
        let is_first = match *action {
            Action::Make(_) | Action::Drop(_) | Action::Grant(_) => true,
            // The only kind is none of this world's.
            Action::ReplaceBy(r, k) if k > 0 => return Some(Action::Remove(r, 0)),
            Action::Add(_, k) | Action::Remove(_, k) | Action::ReplaceBy(_, k) => k == 0,
            Action::Deliver(r) => {
                let queue = &self.readers[r].as_ref().unwrap().queue;
                let next = queue.look(|backlog| backlog.clone().pop()).unwrap();
                *next.gvk == *self.kinds[0].server.gvk
            }
            Action::Put(k, _)
            | Action::Garble(k, _)
            | Action::Delete(k, _)
            | Action::Unserve(k)
            | Action::Serve(k)
            | Action::Compact(k)
            | Action::Reject(k)
            | Action::Refuse(k)
            | Action::Answer(k, _)
            | Action::Fail(k, _)
            | Action::Expire(k)
            | Action::StartOver(k, _) => k == 0,
            Action::Replay => {
                let (key, _) = self.dispatcher.replays.front().unwrap();
                key.gvk == self.kinds[0].server.gvk
            }
        };
        is_first.then_some(*action)
    }

    /// Passes the time that has passed in another world.
    pub(super) fn wait_for(&mut self, other: &Self) {
        self.now = other.now;
        self.troubled = other.troubled;
    }

    /// The objects that the registrar is still to be given, and when it has its turns.
    fn pending(&self, id: RegistrarId) -> Vec<(usize, &str, Vec<String>)> {
        let pending = |(turn, (key, of)): (usize, &'_ (StoreKey, RegistrarId))| {
            let known = self.dispatcher.kinds.get(key).filter(|_| *of == id)?;
            let subscriber = known.subscribers.iter().find(|subscriber| subscriber.id == id)?;
            let store = known.store.read();
            let objects =
                store.snapshot(subscriber.pending.clone()?).map(|(_, object)| object.name().to_owned());
            let kind = self.kinds.iter().find(|kind| kind.server.gvk == key.gvk)?;
            Some((turn, kind.server.gvk.kind.as_str(), objects.collect()))
        };
        let live = |(key, id): &&(StoreKey, RegistrarId)| {
            let known = self.dispatcher.kinds.get(key);
            known.is_some_and(|known| known.subscribers.iter().any(|it| it.id == *id && it.pending.is_some()))
        };
        self.dispatcher.replays.iter().filter(live).enumerate().filter_map(pending).collect()
    }

    pub(super) fn possible(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.dispatcher.is_replaying() {
            actions.push(Action::Replay);
        }
        for (k, kind) in self.kinds.iter().enumerate() {
            kind.possible(k, &self.limits, &mut actions);
            if self.idle(k).is_some() {
                actions.push(Action::Expire(k));
            }
        }
        if self.limits.actors != Actors::Server {
            self.possible_for_registrars(&mut actions);
        }
        if self.disturbances >= self.limits.disturbances {
            actions.retain(Action::is_progress);
        }
        actions
    }

    fn possible_for_registrars(&self, actions: &mut Vec<Action>) {
        for (r, reader) in self.readers.iter().enumerate() {
            let Some(reader) = reader else {
                actions.push(Action::Make(r));
                continue;
            };
            actions.push(Action::Drop(r));
            for k in 0..self.kinds.len() {
                actions.extend([Action::Add(r, k), Action::Remove(r, k), Action::ReplaceBy(r, k)]);
            }
            if reader.dirty {
                actions.push(Action::Grant(r));
            }
            if !reader.queue.look(Backlog::is_empty) {
                actions.push(Action::Deliver(r));
            }
        }
    }

    pub(super) fn act(&mut self, action: &Action) {
        self.disturbances += u64::from(!action.is_progress());
        self.troubled |= action.is_trouble();
        self.trail.push(*action);
        self.perform(action);
        self.note_readiness();
    }

    fn perform(&mut self, action: &Action) {
        match *action {
            Action::Make(r) => {
                self.next_id += 1;
                let ordered = self.limits.ordered.filter(|_| r + 1 == self.limits.registrars);
                self.readers[r] = Some(Reader::new(RegistrarId(self.next_id), ordered));
            }
            Action::Drop(r) => self.drop_registrar(r),
            Action::Add(r, k) => {
                let (_, scope) = self.interest(r, k).into_parts();
                self.change(r, |backlog, gvks| backlog.want(&gvks[k], &scope) != Wanted::Already);
            }
            Action::Remove(r, k) => self.change(r, |backlog, gvks| backlog.unwant(&gvks[k])),
            Action::ReplaceBy(r, k) => {
                let interest = self.interest(r, k);
                self.change(r, |backlog, _| !backlog.want_only([interest]).is_empty());
            }
            Action::Grant(r) => self.grant(r),
            Action::Deliver(r) => self.deliver(r),
            Action::Put(k, n) => self.on_server(k, |server| server.put(NAMES[n])),
            Action::Garble(k, n) => self.on_server(k, |server| server.garble(NAMES[n])),
            Action::Delete(k, n) => self.on_server(k, |server| server.delete(NAMES[n])),
            Action::Compact(k) => self.kinds[k].server.compact(),
            Action::Reject(k) => self.kinds[k].server.replace(),
            Action::Serve(k) => self.kinds[k].server.served = true,
            Action::Unserve(k) => {
                self.kinds[k].server.unserve();
                // The server closes the watches of a kind that it withdraws.
                for part in self.kinds[k].followed() {
                    self.fail(k, &part, SourceError::Unavailable("closed".to_owned()));
                }
            }
            Action::Refuse(k) => {
                let server = &mut self.kinds[k].server;
                server.refuses_all = !server.refuses_all;
            }
            Action::Answer(k, p) => self.answer(k, &part(p)),
            Action::Fail(k, p) => self.fail(k, &part(p), SourceError::Unavailable("cut".to_owned())),
            Action::StartOver(k, p) => self.start_over(k, &part(p)),
            Action::Expire(k) => self.expire(k),
            Action::Replay => self.replay(),
        }
    }

    /// The timer of a kind that lingers.
    fn idle(&self, k: usize) -> Option<Incarnation> {
        self.dispatcher.kinds.get(&all(&self.kinds[k].server.gvk))?.idle
    }

    /// The timer ends. One that was started before must have no effect.
    fn expire(&mut self, k: usize) {
        let (key, token) = (all(&self.kinds[k].server.gvk), self.idle(k).unwrap());
        self.run(Command::Expire(key.clone(), Incarnation(token.0.wrapping_sub(1))));
        assert!(self.dispatcher.contains(&key), "a timer that was stopped has ended a kind");
        self.run(Command::Expire(key, token));
    }

    fn interest(&self, r: usize, k: usize) -> Interest {
        let interest = Interest::new((*self.kinds[k].server.gvk).clone());
        if self.limits.namespaced { interest.namespaces(WISHES[r].iter().copied()) } else { interest }
    }

    fn gvks(&self) -> Vec<Gvk> {
        self.kinds.iter().map(|kind| kind.server.gvk.clone()).collect()
    }
}

// === impl World: registrars ===

impl World {
    fn drop_registrar(&mut self, r: usize) {
        let reader = self.readers[r].take().unwrap();
        self.isolated(r, |world| {
            if world.dispatcher.queues.contains_key(&reader.id) {
                world.run(Command::Drop(reader.id));
            }
        });
        let left = self.dispatcher.queues.len();
        assert!(left <= self.readers.iter().flatten().count(), "a dropped registrar is remembered");
    }

    fn change(&mut self, r: usize, change: impl FnOnce(&mut Backlog, &[Gvk]) -> bool) {
        let gvks = self.gvks();
        let reader = self.readers[r].as_mut().unwrap();
        let look = |reader: &Reader| reader.queue.look(|backlog| (backlog.intents(), backlog.picture()));
        let before = look(reader);
        let changed = reader.queue.change(|backlog| change(backlog, &gvks));
        let after = look(reader);
        assert_eq!(before != after, changed, "a call that changes nothing must do nothing");
        reader.dirty |= changed;
        for (k, gvk) in gvks.iter().enumerate() {
            if before.0.get(gvk) != after.0.get(gvk) {
                reader.views.remove(&k);
            }
            if after.0.contains_key(gvk) {
                reader.views.entry(k).or_default();
            }
        }
    }

    fn grant(&mut self, r: usize) {
        let reader = self.readers[r].as_mut().unwrap();
        reader.dirty = false;
        let (id, queue) = (reader.id, reader.queue.clone());
        if !self.checks {
            self.run(Command::Assign(id, queue));
            return self.note_snapshots(None);
        }
        self.isolated(r, |world| world.run(Command::Assign(id, queue.clone())));
        let again = queue.look(Backlog::picture);
        self.run(Command::Assign(id, queue.clone()));
        assert_eq!(queue.look(Backlog::picture), again, "the same intents again changed something");
        self.note_snapshots(None);
    }

    /// An action of `r` must not be noticed by the others, nor by the watches of their kinds.
    fn isolated(&mut self, r: usize, act: impl FnOnce(&mut Self)) {
        let others = |world: &Self| {
            let readers = world.readers.iter().enumerate().filter(|(other, _)| *other != r);
            let readers = readers.filter_map(|(_, reader)| reader.as_ref());
            let backlogs: Vec<_> =
                readers.clone().map(|reader| reader.queue.look(Backlog::picture)).collect();
            let joined = |kind: &Kind| {
                let known = world.dispatcher.kinds.get(&all(&kind.server.gvk))?;
                let ids = || known.subscribers.iter().map(|subscriber| subscriber.id);
                let wanted = readers.clone().any(|reader| ids().any(|id| id == reader.id));
                // Where wishes differ, they decide which watches there are.
                let run = kind.runs.get(&None).filter(|_| wanted && !world.limits.namespaced);
                run.map(|run| run.incarnation)
            };
            (backlogs, world.kinds.iter().map(joined).collect::<Vec<_>>())
        };
        let before = others(self);
        act(self);
        assert_eq!(others(self), before, "another registrar noticed");
    }

    fn replay(&mut self) {
        self.run(Command::Replay);
        self.note_snapshots(None);
    }

    fn deliver(&mut self, r: usize) {
        let reader = self.readers[r].as_mut().unwrap();
        let event = reader.queue.change(Backlog::pop).unwrap();
        let k = self.kinds.iter().position(|kind| *kind.server.gvk == *event.gvk).unwrap();
        let view = reader.views.get_mut(&k).expect("an event of a kind that is not asked for");
        let store = self.dispatcher.kinds.get(&all(&event.gvk)).map(|kind| stored(&kind.store));
        view.fold(&event, &store.unwrap_or_default());
    }
}

// === impl World: server and watches ===

impl World {
    /// A change of the server, which open watches report at once.
    fn on_server(&mut self, k: usize, change: impl FnOnce(&mut Server)) {
        change(&mut self.kinds[k].server);
        for part in self.kinds[k].followed() {
            let Some(event) = self.kinds[k].server.last_event(&part) else { continue };
            let now = self.now;
            self.with_machine(k, &part, |machine| machine.on_message(now, Some(Ok(event))));
        }
    }

    /// The truthful answer to the request of the watch. A wait is over with it: a world in which it has just ended has the
    /// same picture as one in which it goes on, so it must not be a state of its own.
    fn answer(&mut self, k: usize, part: &Part) {
        let request = self.awaited(k, part);
        let (now, kind) = (self.now, &mut self.kinds[k]);
        let machine = &mut kind.runs.get_mut(part).unwrap().machine;
        match request {
            Request::Sleep(_) => panic!("a wait does not end"),
            Request::Discover(_) => machine.on_discovered(now, kind.server.discover()),
            Request::List(_, page) => machine.on_listed(now, kind.server.list(part, &page)),
            Request::Connect(_, version) => match kind.server.watch(part, &version) {
                Ok(missed) => {
                    machine.on_connected(now, Ok(()));
                    missed.into_iter().for_each(|event| machine.on_message(now, Some(Ok(event))));
                }
                Err(error) => machine.on_connected(now, Err(error)),
            },
            Request::Read => {}
        }
        self.dispatch(k, part);
    }

    fn fail(&mut self, k: usize, part: &Part, error: SourceError) {
        // The end of another watch may have ended this one.
        if !self.kinds[k].runs.contains_key(part) {
            return;
        }
        let (request, now) = (self.awaited(k, part), self.now);
        self.with_machine(k, part, |machine| match request {
            Request::Sleep(_) => panic!("a wait does not end"),
            Request::Discover(_) => machine.on_discovered(now, Err(error)),
            Request::List(..) => machine.on_listed(now, Err(error)),
            Request::Connect(..) => machine.on_connected(now, Err(error)),
            Request::Read => machine.on_message(now, Some(Err(error))),
        });
    }

    fn start_over(&mut self, k: usize, part: &Part) {
        self.kinds[k].runs.get_mut(part).unwrap().is_to_start_over = false;
        self.with_machine(k, part, Machine::start_over);
    }

    fn request(&mut self, k: usize, part: &Part) -> Request {
        let now = self.now;
        self.kinds[k].runs.get_mut(part).unwrap().machine.next_action(now)
    }

    /// The request that follows the wait that is under way.
    fn awaited(&mut self, k: usize, part: &Part) -> Request {
        match self.request(k, part) {
            Request::Sleep(delay) => {
                self.now += delay;
                self.request(k, part)
            }
            request => request,
        }
    }

    fn with_machine(&mut self, k: usize, part: &Part, act: impl FnOnce(&mut Machine)) {
        act(&mut self.kinds[k].runs.get_mut(part).unwrap().machine);
        self.dispatch(k, part);
    }

    /// Passes the steps of a watch on, each also in the name of a stopped run, which must have no effect.
    fn dispatch(&mut self, k: usize, part: &Part) {
        let id = WatchId::new(&all(&self.kinds[k].server.gvk), part.clone());
        // A step may end its own watch.
        while let Some(run) = self.kinds[k].runs.get_mut(part) {
            let incarnation = run.incarnation;
            let Some(step) = run.machine.take_step() else { return };
            if self.checks {
                let before = self.picture();
                let late = Incarnation(incarnation.0.wrapping_sub(1));
                self.run(Command::Step(id.clone(), late, step.clone()));
                assert_eq!(self.picture(), before, "a step of a stopped watch was taken");
            }
            let listed = matches!(step, Step::ListDone).then_some(k);
            let ends = matches!(step, Step::Gone);
            let known = self.known_of_existing(k);
            self.run(Command::Step(id.clone(), incarnation, step));
            let lost = known.iter().find(|name| !self.known_of_existing(k).contains(*name));
            assert!(ends || self.limits.namespaced || lost.is_none(), "{lost:?} exists and was known");
            self.note_snapshots(listed);
        }
    }

    /// The objects that the server has, as far as the store has a form of them.
    fn known_of_existing(&self, k: usize) -> Vec<&'static str> {
        let server = &self.kinds[k].server;
        let Some(known) = self.dispatcher.kinds.get(&all(&server.gvk)) else { return Vec::new() };
        let stored = stored(&known.store);
        let same =
            |name: &&'static str| stored.get(name).is_some_and(|(uid, _)| *uid == server.objects[name].0);
        server.objects.keys().copied().filter(same).collect()
    }

    fn run(&mut self, command: Command) {
        let stores: HashMap<_, _> =
            self.dispatcher.kinds.iter().map(|(key, kind)| (key.gvk.clone(), kind.store.clone())).collect();
        for effect in self.dispatcher.run(self.now, command) {
            let find = |id: &WatchId| self.kinds.iter().position(|kind| kind.server.gvk == id.gvk).unwrap();
            match effect {
                Effect::Start { id, incarnation, selection, followed_until } => {
                    let kind = find(&id);
                    let decoder = Decoder::new(id.gvk.clone(), &CONFIG, None);
                    let mut machine = Machine::new(CONFIG.clone(), decoder, id.part.clone(), selection);
                    if let Some(since) = followed_until {
                        machine.begin_ready(since);
                    }
                    let run = Run { incarnation, machine, is_to_start_over: false };
                    let former = self.kinds[kind].runs.insert(id.part, run);
                    assert!(former.is_none(), "two watches of the same");
                }
                Effect::Stop(id) => {
                    let kind = find(&id);
                    let stopped = self.kinds[kind].runs.remove(&id.part);
                    assert!(stopped.is_some(), "stopped a watch that does not run");
                    let store = &stores[&id.gvk];
                    let goes_on = self.limits.namespaced && self.dispatcher.kinds.contains_key(&all(&id.gvk));
                    assert!(goes_on || store.is_closed() && store.is_empty(), "a stopped kind keeps objects");
                }
                Effect::StartOver(id) => {
                    let kind = find(&id);
                    self.kinds[kind].runs.get_mut(&id.part).unwrap().is_to_start_over = true;
                }
                Effect::Linger(..) if self.limits.linger => {}
                Effect::Linger(store, token) => self.run(Command::Expire(store, token)),
            }
        }
    }

    /// Returns true if the registrar is ready for the first kind.
    pub(super) fn is_ready(&self, r: usize) -> bool {
        self.readers[r].as_ref().is_some_and(|reader| reader.views.get(&0).is_some_and(|view| view.was_ready))
    }

    /// A registrar that is ready stays so as long as the server does not fail, whatever others ask for.
    fn note_readiness(&mut self) {
        let gvks = self.gvks();
        for reader in self.readers.iter_mut().flatten() {
            for (k, view) in &mut reader.views {
                let is_ready = reader.queue.look(|backlog| {
                    backlog.is_synced(&gvks[*k]) && backlog.status(&gvks[*k]) == Some(&GvkStatus::Ready)
                });
                if self.troubled {
                    view.was_ready = false;
                    continue;
                }
                if view.was_ready && !is_ready {
                    let status = reader.queue.status(&gvks[*k]);
                    panic!("a registrar is not ready any more, but {status:?}: {:?}", self.trail);
                }
                view.was_ready = is_ready;
            }
        }
    }

    /// Remembers the contents of a snapshot when its end is queued: for an ordered reader, that of each list.
    fn note_snapshots(&mut self, listed: Option<usize>) {
        let namespaced = self.limits.namespaced;
        for (r, reader) in self.readers.iter_mut().enumerate() {
            let Some(reader) = reader else { continue };
            for (k, view) in &mut reader.views {
                let kind = &self.kinds[*k];
                let synced = reader.queue.look(|backlog| backlog.is_synced(&kind.server.gvk));
                let again = listed == Some(*k) && reader.queue.look(Backlog::is_ordered);
                if synced && (again || !view.synced) {
                    let store = &self.dispatcher.kinds[&all(&kind.server.gvk)].store;
                    // A registrar is served by some of the watches.
                    assert!(namespaced || store.is_synced(), "synced in the middle of a list");
                    view.snapshot = Some(wished(namespaced, r, stored(store)));
                }
                if !synced {
                    view.snapshot = None;
                }
                view.synced = synced;
            }
        }
    }
}

// === impl World: invariants ===

/// Says how a world came about in which a check fails.
struct Trail<'a>(&'a [Action]);

impl Drop for Trail<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}", self.0);
        }
    }
}

impl World {
    /// Asserts what holds in every state.
    pub(super) fn check(&self, converged: &mut HashSet<u64>) {
        let _trail = Trail(&self.trail);
        for reader in self.readers.iter().flatten() {
            reader.queue.look(Backlog::check);
        }
        let granted: BTreeSet<_> = self.dispatcher.kinds.keys().map(|key| key.gvk.kind.clone()).collect();
        let running = self.kinds.iter().filter(|kind| !kind.runs.is_empty());
        let running: BTreeSet<_> = running.map(|kind| kind.server.gvk.kind.clone()).collect();
        assert_eq!(granted, running);
        let readers = || self.readers.iter().flatten();
        if readers().all(|reader| !reader.dirty) {
            let intended = readers().flat_map(|reader| reader.queue.look(Backlog::intents).into_keys());
            let mut intended: BTreeSet<_> = intended.map(|gvk| gvk.kind.clone()).collect();
            let idle = (0..self.kinds.len()).filter(|k| self.idle(*k).is_some());
            for gvk in idle.map(|k| &self.kinds[k].server.gvk) {
                assert!(intended.insert(gvk.kind.clone()), "a kind with a registrar lingers");
            }
            assert_eq!(running, intended, "the watches are not the union of the intents");
            self.kinds.iter().for_each(|kind| self.check_parts(kind));
        }
        self.check_convergence(converged);
    }

    /// One watch of all namespaces if anybody wants all, and beside it those that are named only while it is refused, or begins
    /// beside those that are ready.
    fn check_parts(&self, kind: &Kind) {
        let Some(known) = self.dispatcher.kinds.get(&all(&kind.server.gvk)) else { return };
        if known.idle.is_some() {
            return;
        }
        let asks = |reader: &Reader| reader.queue.look(Backlog::intents).contains_key(&kind.server.gvk);
        let asking = self.readers.iter().enumerate().filter(|(_, reader)| reader.as_ref().is_some_and(asks));
        let wishes = asking.map(|(r, _)| if self.limits.namespaced { WISHES[r] } else { &[] });
        let (mut expected, mut named) = (BTreeSet::<Part>::new(), BTreeSet::new());
        for wish in wishes {
            expected.extend(wish.is_empty().then_some(None));
            named.extend(wish.iter().map(|namespace| Some((*namespace).into())));
        }
        if expected.is_empty() || known.refused || known.arrives {
            expected.extend(named);
        }
        assert_eq!(kind.runs.keys().cloned().collect::<BTreeSet<_>>(), expected);
    }

    /// When the driver and all readers have caught up, the readers know the stores; when the server answers
    /// truthfully from here on, the stores become the server. No object stays for ever.
    ///
    /// The way there is the same from equal worlds, so it is walked once: `converged` has the worlds whose way was walked
    /// to its end.
    fn check_convergence(&self, converged: &mut HashSet<u64>) {
        let mut world = self.fork();
        world.checks = false;
        world.limits.disturbances = u64::MAX;
        world.settle();
        world.check_views();
        let mut way = vec![world.fingerprint()];
        let is_known = converged.contains(&way[0])
            || (0..world.kinds.len()).any(|k| world.converge(k, converged, &mut way));
        if !is_known {
            world.settle();
            world.check_views();
            for kind in world.kinds.iter().filter(|kind| !kind.runs.is_empty()) {
                world.check_store(kind);
            }
        }
        converged.extend(way);
    }

    /// The store is the server, as far as the client may watch; and who asks for no more than that is ready.
    fn check_store(&self, kind: &Kind) {
        let store = &self.dispatcher.kinds[&all(&kind.server.gvk)].store;
        let (server, followed) = (&kind.server, kind.followed());
        let visible = |mut objects: Objects| {
            objects.retain(|name, _| followed.iter().any(|part| !self.limits.namespaced || sees(part, name)));
            objects
        };
        let expected = visible(server.readable(&stored(store)));
        if !(server.served && server.refuses_all && kind.runs.contains_key(&None)) {
            assert_eq!(stored(store), expected, "the store is not the server");
            assert_eq!(store.is_synced(), server.served);
            return;
        }
        assert_eq!(visible(stored(store)), expected, "the store is not the server");
        for (r, reader) in self.readers.iter().enumerate() {
            let queue = reader.as_ref().map(|reader| &reader.queue);
            let asks = |queue: &&Arc<EventQueue>| queue.look(Backlog::intents).contains_key(&server.gvk);
            let Some(queue) = queue.filter(asks).filter(|_| !WISHES[r].is_empty()) else { continue };
            assert!(
                queue.look(|backlog| backlog.is_synced(&server.gvk)),
                "waits for what it did not ask for"
            );
        }
    }

    /// Answers truthfully until the kind is followed, refused or found not to be served. Returns whether it came to a
    /// world whose way is known.
    fn converge(&mut self, k: usize, converged: &HashSet<u64>, way: &mut Vec<u64>) -> bool {
        let mut absent: BTreeMap<Part, u32> = BTreeMap::new();
        for _ in 0..120 {
            let settled = |part: &Part| absent.get(part).is_some_and(|times| *times == 2);
            let Some((part, run)) = self.unsettled(k).find(|(part, _)| !settled(part)) else { return false };
            let (part, starts_over) = (part.clone(), run.is_to_start_over);
            if starts_over {
                self.start_over(k, &part);
                continue;
            }
            if !self.kinds[k].server.served && matches!(self.awaited(k, &part), Request::Discover(_)) {
                *absent.entry(part.clone()).or_default() += 1;
            }
            self.answer(k, &part);
            self.note_readiness();
            way.push(self.fingerprint());
            if converged.contains(&way[way.len() - 1]) {
                return true;
            }
        }
        panic!("a truthful server is not followed");
    }

    /// The watches that are neither followed nor refused.
    fn unsettled(&self, k: usize) -> impl Iterator<Item = (&Part, &Run)> {
        let kind = &self.kinds[k];
        let known = self.dispatcher.kinds.get(&all(&kind.server.gvk));
        kind.runs.iter().filter(move |(part, run)| {
            let status = known.and_then(|known| known.watches.get(*part)).map(|watch| &watch.status);
            let refused = kind.server.refuses_all && part.is_none();
            let says_so = matches!(status, Some(GvkStatus::Forbidden { .. }));
            let is_settled = run.machine.is_following() || refused && says_so && kind.server.served;
            run.is_to_start_over || !is_settled
        })
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.picture().hash(&mut hasher);
        hasher.finish()
    }

    /// Grants all intents and delivers all events.
    fn settle(&mut self) {
        for r in 0..self.readers.len() {
            if self.readers[r].as_ref().is_some_and(|reader| reader.dirty) {
                self.grant(r);
            }
        }
        while self.dispatcher.is_replaying() {
            self.replay();
        }
        for r in 0..self.readers.len() {
            while self.readers[r].as_ref().is_some_and(|reader| !reader.queue.look(Backlog::is_empty)) {
                self.deliver(r);
            }
        }
    }

    fn check_views(&self) {
        for (r, reader) in self.readers.iter().enumerate() {
            for (k, view) in reader.iter().flat_map(|reader| &reader.views) {
                let store = &self.dispatcher.kinds[&all(&self.kinds[*k].server.gvk)].store;
                let expected = wished(self.limits.namespaced, r, stored(store));
                assert_eq!(view.held, expected, "a reader does not know the store");
                assert_eq!(view.snapshot, None, "the end of a snapshot was not delivered");
                assert!(view.synced || !store.is_synced(), "a complete kind is not synced");
            }
        }
    }
}

// === impl Action ===

impl Action {
    fn is_trouble(&self) -> bool {
        matches!(
            self,
            Self::Unserve(_) | Self::Compact(_) | Self::Reject(_) | Self::Refuse(_) | Self::Fail(..)
        )
    }

    fn is_progress(&self) -> bool {
        matches!(
            self,
            Self::Answer(..) | Self::StartOver(..) | Self::Grant(_) | Self::Deliver(_) | Self::Replay
        )
    }
}

// === impl Reader ===

impl Reader {
    fn new(id: RegistrarId, ordered: Option<usize>) -> Self {
        let queue = Arc::new(ordered.map_or_else(EventQueue::default, EventQueue::ordered));
        Self { id, queue, dirty: false, views: BTreeMap::new() }
    }

    fn fork(&self) -> Self {
        Self { id: self.id, queue: self.queue.fork(), dirty: self.dirty, views: self.views.clone() }
    }
}

// === impl View ===

impl View {
    fn fold(&mut self, event: &WatchEvent, stored: &Objects) {
        let parse = |text: &str| text.parse::<u64>().unwrap();
        match &event.kind {
            EventKind::Applied(new) => {
                let (uid, version) = (parse(new.uid()), parse(new.resource_version()));
                let name = NAMES.into_iter().find(|name| *name == new.name()).unwrap();
                if let Some((old_uid, old_version)) = self.held.insert(name, (uid, version)) {
                    assert_eq!(old_uid, uid, "another object without a delete in between");
                    assert!(old_version < version, "older after newer, or twice the same");
                }
            }
            EventKind::Deleted(old) => {
                let (uid, _) = self.held.remove(old.name()).expect("a delete of what is not held");
                assert_eq!(uid, parse(old.uid()), "a delete of another object");
            }
            EventKind::Synced => {
                for (name, (uid, _)) in self.snapshot.take().expect("synced twice") {
                    let held = self.held.get(name).is_some_and(|(held, _)| *held == uid);
                    let ended = stored.get(name).is_none_or(|(now, _)| *now != uid);
                    assert!(held || ended, "synced before {name} of the snapshot");
                }
            }
            EventKind::Status(_) => {}
            EventKind::Lagged => {}
        }
    }
}

// === impl Kind ===

impl Kind {
    fn new(server: Server) -> Self {
        Self { server, runs: BTreeMap::new() }
    }

    /// The parts whose watches are open.
    fn followed(&self) -> Vec<Part> {
        let following = self.runs.iter().filter(|(_, run)| run.machine.is_following());
        following.map(|(part, _)| part.clone()).collect()
    }

    fn possible(&self, k: usize, limits: &Limits, actions: &mut Vec<Action>) {
        for (part, run) in &self.runs {
            let p = PARTS.iter().position(|other| *other == part.as_deref()).unwrap();
            if limits.actors != Actors::Registrars {
                actions.push(Action::Fail(k, p));
            }
            if !run.machine.is_following() {
                actions.push(Action::Answer(k, p));
            }
            if run.is_to_start_over {
                actions.push(Action::StartOver(k, p));
            }
        }
        let stands = match limits.actors {
            Actors::All => false,
            Actors::Server => k > 0,
            Actors::Registrars => true,
        };
        // A server that no watch looks at need not move.
        if stands || self.runs.is_empty() {
            return;
        }
        if limits.namespaced {
            actions.push(Action::Refuse(k));
        }
        if self.server.changes > limits.changes {
            return;
        }
        if !self.server.served {
            actions.push(Action::Serve(k));
            return;
        }
        actions.push(Action::Unserve(k));
        if self.server.has_history() {
            actions.push(Action::Compact(k));
            actions.push(Action::Reject(k));
        }
        for (n, name) in NAMES.iter().enumerate().take(limits.names) {
            actions.push(Action::Put(k, n));
            if limits.unreadable {
                actions.push(Action::Garble(k, n));
            }
            if self.server.objects.contains_key(name) {
                actions.push(Action::Delete(k, n));
            }
        }
    }
}

fn part(p: usize) -> Part {
    PARTS[p].map(Into::into)
}

/// Interest of the registrar.
fn wished(namespaced: bool, r: usize, mut objects: Objects) -> Objects {
    let wish = WISHES[r];
    let wants = |name: &str| wish.iter().any(|namespace| sees(&Some((*namespace).into()), name));
    objects.retain(|name, _| !namespaced || wish.is_empty() || wants(name));
    objects
}

fn stored(store: &StoreHandle) -> Objects {
    let objects = store.state();
    let entry = |name: &'static str| {
        let object = objects.iter().find(|object| object.name() == name)?;
        let parse = |text: &str| text.parse::<u64>().unwrap();
        Some((name, (parse(object.uid()), parse(object.resource_version()))))
    };
    NAMES.into_iter().filter_map(entry).collect()
}
