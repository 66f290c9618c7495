//! The world that the tests walk through: registrars that come and go, readers that are slow, kinds whose server
//! answers, fails, and changes at every point. Each action checks what it may and may not cause.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use super::server::{NAMES, Objects, Server};
use crate::backlog::{Backlog, Wanted};
use crate::config::Config;
use crate::dispatcher::{Command, Dispatcher, Effect, Incarnation, WatchId};
use crate::event::{EventKind, WatchEvent};
use crate::fixture::gvk;
use crate::intents::{Gvk, RegistrarId};
use crate::interest::{Interest, Scope};
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
}

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
    Delete(usize, usize),
    Unserve(usize),
    Serve(usize),
    Compact(usize),
    /// The server answers the request of the watch truthfully; a wait is over.
    Answer(usize),
    /// The request fails, or the open watch breaks.
    Fail(usize),
}

pub(super) struct World {
    limits: Limits,
    now: Instant,
    dispatcher: Dispatcher,
    readers: Vec<Option<Reader>>,
    next_id: u64,
    kinds: Vec<Kind>,
    disturbances: u64,
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
    /// The contents of the snapshot whose end is queued.
    snapshot: Option<Objects>,
    synced: bool,
}

#[derive(Debug, Clone)]
struct Kind {
    server: Server,
    run: Option<(Incarnation, Machine)>,
}

// === impl World ===

impl World {
    pub(super) fn new(limits: &Limits) -> Self {
        let kinds = ["A", "B"].into_iter().take(limits.kinds);
        Self {
            limits: *limits,
            now: Instant::now(),
            dispatcher: Dispatcher::new(Arc::default(), false),
            readers: (0..limits.registrars).map(|_| None).collect(),
            next_id: 0,
            kinds: kinds.map(|kind| Kind { server: Server::new(gvk(kind)), run: None }).collect(),
            disturbances: 0,
            checks: true,
        }
    }

    /// Begins to count disturbances.
    pub(super) fn settled(mut self) -> Self {
        self.disturbances = 0;
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
        let kinds = self.dispatcher.kinds.iter().map(|(gvk, kind)| {
            let mut subscribers = kind.subscribers.clone();
            for subscriber in &mut subscribers {
                subscriber.queue = queues[&subscriber.id].clone();
            }
            let copy = crate::dispatcher::kind::Kind {
                store: stores.open(gvk),
                watches: kind.watches.clone(),
                subscribers,
                idle: kind.idle,
            };
            (gvk.clone(), copy)
        });
        let dispatcher = Dispatcher {
            intents: self.dispatcher.intents.clone(),
            kinds: kinds.collect(),
            queues,
            stores,
            counter: self.dispatcher.counter,
            linger: self.dispatcher.linger,
        };
        Self { dispatcher, readers, kinds: self.kinds.clone(), ..*self }
    }

    /// The world in words, equal for worlds that behave alike from here.
    pub(super) fn picture(&self) -> String {
        let mut texts = Vec::new();
        for reader in &self.readers {
            let Some(reader) = reader else {
                texts.push(" none".to_owned());
                continue;
            };
            let (intents, backlog) = reader.queue.look(|backlog| (backlog.intents(), backlog.picture()));
            // The number of a stay does not matter, but whether the dispatcher knows of it does.
            let joined = |kind: &Kind| {
                let known = self.dispatcher.kinds.get(&kind.server.gvk)?;
                Some(known.subscribers.iter().find(|subscriber| subscriber.id == reader.id)?.epoch)
            };
            let known: Vec<bool> = self
                .kinds
                .iter()
                .map(|kind| joined(kind) == intents.get(&kind.server.gvk).map(|stay| stay.epoch))
                .collect();
            texts.push(format!(" {} {backlog} {known:?} {:?}", reader.dirty, reader.views));
        }
        // It does not matter which registrar is which.
        texts.sort();
        let mut text = texts.concat();
        if self.limits.disturbances < u64::MAX {
            text.push_str(&format!(" {}", self.disturbances));
        }
        for kind in &self.kinds {
            text.push_str(&kind.server.picture());
            if let Some((_, machine)) = &kind.run {
                let store = self.dispatcher.kinds[&kind.server.gvk].store.clone();
                text.push_str(&format!(" {} {:?} {}", machine.picture(), stored(&store), store.is_synced()));
            }
        }
        text
    }

    pub(super) fn possible(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (k, kind) in self.kinds.iter().enumerate() {
            kind.possible(k, &self.limits, &mut actions);
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
        let scope = Scope::default();
        self.disturbances += u64::from(!action.is_progress());
        match *action {
            Action::Make(r) => {
                self.next_id += 1;
                let ordered = self.limits.ordered.filter(|_| r + 1 == self.limits.registrars);
                self.readers[r] = Some(Reader::new(RegistrarId(self.next_id), ordered));
            }
            Action::Drop(r) => self.drop_registrar(r),
            Action::Add(r, k) => {
                self.change(r, |backlog, gvks| backlog.want(&gvks[k], &scope) != Wanted::Already);
            }
            Action::Remove(r, k) => self.change(r, |backlog, gvks| backlog.unwant(&gvks[k])),
            Action::ReplaceBy(r, k) => self.change(r, |backlog, gvks| {
                !backlog.want_only([Interest::new((*gvks[k]).clone())]).is_empty()
            }),
            Action::Grant(r) => self.grant(r),
            Action::Deliver(r) => self.deliver(r),
            Action::Put(k, n) => self.on_server(k, |server| server.put(NAMES[n])),
            Action::Delete(k, n) => self.on_server(k, |server| server.delete(NAMES[n])),
            Action::Compact(k) => self.kinds[k].server.compact(),
            Action::Serve(k) => self.kinds[k].server.served = true,
            Action::Unserve(k) => {
                self.kinds[k].server.unserve();
                // The server closes the watches of a kind that it withdraws.
                if self.kinds[k].is_following() {
                    self.fail(k, SourceError::Unavailable("closed".to_owned()));
                }
            }
            Action::Answer(k) => self.answer(k),
            Action::Fail(k) => self.fail(k, SourceError::Unavailable("cut".to_owned())),
        }
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
            return self.note_snapshots();
        }
        self.isolated(r, |world| world.run(Command::Assign(id, queue.clone())));
        let again = queue.look(Backlog::picture);
        self.run(Command::Assign(id, queue.clone()));
        assert_eq!(queue.look(Backlog::picture), again, "the same intents again changed something");
        self.note_snapshots();
    }

    /// An action of `r` must not be noticed by the others, nor by the watches of their kinds.
    fn isolated(&mut self, r: usize, act: impl FnOnce(&mut Self)) {
        let others = |world: &Self| {
            let readers = world.readers.iter().enumerate().filter(|(other, _)| *other != r);
            let readers = readers.filter_map(|(_, reader)| reader.as_ref());
            let backlogs: Vec<_> =
                readers.clone().map(|reader| reader.queue.look(Backlog::picture)).collect();
            let joined = |kind: &Kind| {
                let known = world.dispatcher.kinds.get(&kind.server.gvk)?;
                let ids = || known.subscribers.iter().map(|subscriber| subscriber.id);
                let wanted = readers.clone().any(|reader| ids().any(|id| id == reader.id));
                kind.run.as_ref().filter(|_| wanted).map(|(incarnation, _)| *incarnation)
            };
            (backlogs, world.kinds.iter().map(joined).collect::<Vec<_>>())
        };
        let before = others(self);
        act(self);
        assert_eq!(others(self), before, "another registrar noticed");
    }

    fn deliver(&mut self, r: usize) {
        let reader = self.readers[r].as_mut().unwrap();
        let event = reader.queue.change(Backlog::pop).unwrap();
        let k = self.kinds.iter().position(|kind| *kind.server.gvk == *event.gvk).unwrap();
        let view = reader.views.get_mut(&k).expect("an event of a kind that is not asked for");
        let store = self.dispatcher.kinds.get(&event.gvk).map(|kind| stored(&kind.store));
        view.fold(&event, &store.unwrap_or_default());
    }
}

// === impl World: server and watches ===

impl World {
    /// A change of the server, which an open watch reports at once.
    fn on_server(&mut self, k: usize, change: impl FnOnce(&mut Server)) {
        change(&mut self.kinds[k].server);
        if self.kinds[k].is_following() {
            let event = self.kinds[k].server.last_event();
            let now = self.now;
            self.with_machine(k, |machine| machine.on_message(now, Some(Ok(event))));
        }
    }

    /// The truthful answer to the request of the watch.
    fn answer(&mut self, k: usize) {
        let request = self.request(k);
        let (now, kind) = (self.now, &mut self.kinds[k]);
        let (_, machine) = kind.run.as_mut().unwrap();
        match request {
            Request::Sleep(delay) => self.now += delay,
            Request::Discover(_) => machine.on_discovered(now, kind.server.discover()),
            Request::List(_, page) => machine.on_listed(now, kind.server.list(&page)),
            Request::Connect(_, version) => match kind.server.watch(&version) {
                Ok(missed) => {
                    machine.on_connected(now, Ok(()));
                    missed.into_iter().for_each(|event| machine.on_message(now, Some(Ok(event))));
                }
                Err(error) => machine.on_connected(now, Err(error)),
            },
            Request::Read => {}
        }
        self.dispatch(k);
    }

    fn fail(&mut self, k: usize, error: SourceError) {
        let (request, now) = (self.request(k), self.now);
        self.with_machine(k, |machine| match request {
            Request::Sleep(_) => {}
            Request::Discover(_) => machine.on_discovered(now, Err(error)),
            Request::List(..) => machine.on_listed(now, Err(error)),
            Request::Connect(..) => machine.on_connected(now, Err(error)),
            Request::Read => machine.on_message(now, Some(Err(error))),
        });
    }

    fn request(&mut self, k: usize) -> Request {
        let now = self.now;
        self.kinds[k].run.as_mut().unwrap().1.next_action(now)
    }

    fn with_machine(&mut self, k: usize, act: impl FnOnce(&mut Machine)) {
        act(&mut self.kinds[k].run.as_mut().unwrap().1);
        self.dispatch(k);
    }

    /// Passes the steps of a watch on, each also in the name of a stopped run, which must have no effect.
    fn dispatch(&mut self, k: usize) {
        let id = WatchId { gvk: self.kinds[k].server.gvk.clone(), part: None };
        while let Some(step) = self.kinds[k].run.as_mut().unwrap().1.take_step() {
            let incarnation = self.kinds[k].run.as_ref().unwrap().0;
            if self.checks {
                let before = self.picture();
                let late = Incarnation(incarnation.0.wrapping_sub(1));
                self.run(Command::Step(id.clone(), late, step.clone()));
                assert_eq!(self.picture(), before, "a step of a stopped watch was taken");
            }
            self.run(Command::Step(id.clone(), incarnation, step));
            self.note_snapshots();
        }
    }

    fn run(&mut self, command: Command) {
        let stores: HashMap<_, _> =
            self.dispatcher.kinds.iter().map(|(gvk, kind)| (gvk.clone(), kind.store.clone())).collect();
        for effect in self.dispatcher.run(self.now, command) {
            let find = |id: &WatchId| self.kinds.iter().position(|kind| kind.server.gvk == id.gvk).unwrap();
            match effect {
                Effect::Start(id, incarnation, selection) => {
                    let kind = find(&id);
                    let decoder = Decoder::new(id.gvk.clone(), &CONFIG, None);
                    let machine = Machine::new(CONFIG.clone(), decoder, id.part.clone(), selection);
                    let former = self.kinds[kind].run.replace((incarnation, machine));
                    assert!(former.is_none(), "two watches of one kind");
                }
                Effect::Stop(id) => {
                    let kind = find(&id);
                    assert!(self.kinds[kind].run.take().is_some(), "stopped a watch that does not run");
                    let store = &stores[&id.gvk];
                    assert!(store.is_closed() && store.is_empty(), "a stopped kind keeps objects");
                }
                Effect::Linger(..) => panic!("lingers without being told to"),
            }
        }
    }

    /// Remembers the contents of a snapshot when its end is queued.
    fn note_snapshots(&mut self) {
        for reader in self.readers.iter_mut().flatten() {
            for (k, view) in &mut reader.views {
                let kind = &self.kinds[*k];
                let synced = reader.queue.look(|backlog| backlog.is_synced(&kind.server.gvk));
                if synced && !view.synced {
                    let store = &self.dispatcher.kinds[&kind.server.gvk].store;
                    assert!(store.is_synced(), "synced in the middle of a list");
                    view.snapshot = Some(stored(store));
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

impl World {
    /// What holds in every state.
    pub(super) fn check(&self, converged: &mut HashSet<u64>) {
        for reader in self.readers.iter().flatten() {
            reader.queue.look(Backlog::check);
        }
        let granted: BTreeSet<_> = self.dispatcher.kinds.keys().map(|gvk| gvk.kind.clone()).collect();
        let running = self.kinds.iter().filter(|kind| kind.run.is_some());
        let running: BTreeSet<_> = running.map(|kind| kind.server.gvk.kind.clone()).collect();
        assert_eq!(granted, running);
        let readers = || self.readers.iter().flatten();
        if readers().all(|reader| !reader.dirty) {
            let intended = readers().flat_map(|reader| reader.queue.look(Backlog::intents).into_keys());
            let intended: BTreeSet<_> = intended.map(|gvk| gvk.kind.clone()).collect();
            assert_eq!(running, intended, "the watches are not the union of the intents");
        }
        self.check_convergence(converged);
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
            for kind in world.kinds.iter().filter(|kind| kind.run.is_some()) {
                let store = &world.dispatcher.kinds[&kind.server.gvk].store;
                assert_eq!(stored(store), kind.server.objects, "the store is not the server");
                assert_eq!(store.is_synced(), kind.server.served);
            }
        }
        converged.extend(way);
    }

    /// Answers truthfully until the kind is followed, or found not to be served. Returns whether it came to a world whose
    /// way is known.
    fn converge(&mut self, k: usize, converged: &HashSet<u64>, way: &mut Vec<u64>) -> bool {
        let mut absent = 0;
        for _ in 0..40 {
            if self.kinds[k].run.is_none() || self.kinds[k].is_following() || absent == 2 {
                return false;
            }
            if !self.kinds[k].server.served && matches!(self.request(k), Request::Discover(_)) {
                absent += 1;
            }
            self.answer(k);
            way.push(self.fingerprint());
            if converged.contains(&way[way.len() - 1]) {
                return true;
            }
        }
        panic!("a truthful server is not followed");
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
            while self.readers[r].as_ref().is_some_and(|reader| !reader.queue.look(Backlog::is_empty)) {
                self.deliver(r);
            }
        }
    }

    fn check_views(&self) {
        for reader in self.readers.iter().flatten() {
            for (k, view) in &reader.views {
                let store = &self.dispatcher.kinds[&self.kinds[*k].server.gvk].store;
                assert_eq!(view.held, stored(store), "a reader does not know the store");
                assert_eq!(view.snapshot, None, "the end of a snapshot was not delivered");
                assert!(view.synced || !store.is_synced(), "a complete kind is not synced");
            }
        }
    }
}

// === impl Action ===

impl Action {
    fn is_progress(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Grant(_) | Self::Deliver(_))
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
    fn is_following(&self) -> bool {
        self.run.as_ref().is_some_and(|(_, machine)| machine.is_following())
    }

    fn possible(&self, k: usize, limits: &Limits, actions: &mut Vec<Action>) {
        if self.run.is_some() {
            if limits.actors != Actors::Registrars {
                actions.push(Action::Fail(k));
            }
            if !self.is_following() {
                actions.push(Action::Answer(k));
            }
        }
        let stands = match limits.actors {
            Actors::All => false,
            Actors::Server => k > 0,
            Actors::Registrars => true,
        };
        // A server that no watch looks at need not move.
        if stands || self.run.is_none() || self.server.changes > limits.changes {
            return;
        }
        if !self.server.served {
            actions.push(Action::Serve(k));
            return;
        }
        actions.push(Action::Unserve(k));
        if self.server.has_history() {
            actions.push(Action::Compact(k));
        }
        for (n, name) in NAMES.iter().enumerate().take(limits.names) {
            actions.push(Action::Put(k, n));
            if self.server.objects.contains_key(name) {
                actions.push(Action::Delete(k, n));
            }
        }
    }
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
