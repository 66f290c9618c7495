//! The world that the switchboard's tests walk through: registrars that come and go, readers that are slow,
//! kinds that are listed, watched, cut off and withdrawn. Each action checks what it may and may not cause.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::fixture::{gvk, object};
use crate::registrar::Mailbox;
use crate::replay::Backlog;
use crate::roster::{Gvk, RegistrarId};
use crate::store::StoreHandle;
use crate::switchboard::{Command, Effect, Incarnation, Step, Switchboard};

const NAMES: [&str; 2] = ["a", "b"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) registrars: usize,
    pub(super) kinds: usize,
    pub(super) names: usize,
    /// How often an object can change or be made anew.
    pub(super) versions: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Make(usize),
    Drop(usize),
    Add(usize, usize),
    Remove(usize, usize),
    /// The roster becomes this kind alone.
    ReplaceBy(usize, usize),
    /// The driver looks at the registrar's wishes.
    Grant(usize),
    /// The reader takes one event.
    Deliver(usize),
    /// On the server: the object is created or changed.
    Put(usize, usize),
    Delete(usize, usize),
    /// Delete and create while nobody looks.
    Recreate(usize, usize),
    ListStart(usize),
    ListOne(usize),
    ListEnd(usize),
    /// The connection is lost.
    Break(usize),
    /// The kind is found not to be served.
    Gone(usize),
}

/// Name to (uid, version).
type Objects = BTreeMap<&'static str, (u64, u64)>;

pub(super) struct World {
    limits: Limits,
    switchboard: Switchboard,
    readers: Vec<Option<Reader>>,
    next_id: u64,
    kinds: Vec<Kind>,
}

/// A registrar and what its reader knows.
#[derive(Debug)]
struct Reader {
    id: RegistrarId,
    mailbox: Arc<Mailbox>,
    dirty: bool,
    views: BTreeMap<usize, View>,
}

#[derive(Debug, Clone, Default)]
struct View {
    held: Objects,
    /// What the snapshot contained whose end is on its way.
    snapshot: Option<Objects>,
    synced: bool,
}

#[derive(Debug, Clone)]
struct Kind {
    gvk: Gvk,
    server: Objects,
    /// How many objects were made, and the changes of each.
    made: u64,
    changed: u64,
    run: Option<Run>,
}

#[derive(Debug, Clone)]
struct Run {
    incarnation: Incarnation,
    store: StoreHandle,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Nothing is known, or the kind is not served.
    Idle,
    Listing {
        left: Objects,
    },
    Following,
    /// Was complete, and is cut off.
    Broken,
}

// === impl World ===

impl World {
    pub(super) fn new(limits: &Limits) -> Self {
        let kinds = ["A", "B"].into_iter().take(limits.kinds).map(|kind| Kind {
            gvk: gvk(kind),
            server: Objects::new(),
            made: 0,
            changed: 0,
            run: None,
        });
        Self {
            limits: *limits,
            switchboard: Switchboard::default(),
            readers: (0..limits.registrars).map(|_| None).collect(),
            next_id: 0,
            kinds: kinds.collect(),
        }
    }

    /// Copies the world, sharing nothing with the original.
    pub(super) fn fork(&self) -> Self {
        let readers: Vec<_> = self.readers.iter().map(|reader| reader.as_ref().map(Reader::fork)).collect();
        let stores: HashMap<_, _> = self
            .kinds
            .iter()
            .filter_map(|kind| Some((kind.gvk.clone(), fork_store(&kind.run.as_ref()?.store))))
            .collect();
        let mut switchboard = Switchboard {
            roster: self.switchboard.roster.clone(),
            kinds: HashMap::new(),
            mailboxes: HashMap::new(),
            incarnations: self.switchboard.incarnations,
        };
        for (gvk, kind) in &self.switchboard.kinds {
            let (incarnation, joined) = (kind.incarnation, kind.joined.clone());
            let kind = crate::switchboard::Kind { incarnation, store: stores[gvk].clone(), joined };
            switchboard.kinds.insert(gvk.clone(), kind);
        }
        for (id, mailbox) in &self.switchboard.mailboxes {
            let reader = readers.iter().flatten().find(|reader| reader.id == *id);
            let mailbox = reader.map_or_else(|| fork_mailbox(mailbox), |reader| reader.mailbox.clone());
            switchboard.mailboxes.insert(*id, mailbox);
        }
        let mut kinds = self.kinds.clone();
        for kind in &mut kinds {
            if let Some(run) = &mut kind.run {
                run.store = stores[&kind.gvk].clone();
            }
        }
        Self { switchboard, readers, kinds, ..*self }
    }

    /// The world in words, equal for worlds that behave alike from here.
    pub(super) fn picture(&self) -> String {
        let mut text = String::new();
        for reader in &self.readers {
            let Some(reader) = reader else {
                text.push_str(" nobody");
                continue;
            };
            let (wishes, backlog) = look(&reader.mailbox, |backlog| (backlog.wishes(), backlog.picture()));
            // The number of a stay does not matter, but whether the switchboard knows of it does.
            let known: Vec<bool> = self
                .kinds
                .iter()
                .map(|kind| {
                    let joined =
                        self.switchboard.kinds.get(&kind.gvk).and_then(|kind| kind.joined.get(&reader.id));
                    joined == wishes.get(&kind.gvk)
                })
                .collect();
            text.push_str(&format!(" {} {backlog} {known:?} {:?}", reader.dirty, reader.views));
        }
        for kind in &self.kinds {
            text.push_str(&format!(" {:?} {} {}", kind.server, kind.made, kind.changed));
            if let Some(run) = &kind.run {
                let objects = stored(&run.store);
                text.push_str(&format!(" {:?} {objects:?} {}", run.phase, run.store.is_synced()));
            }
        }
        text
    }

    pub(super) fn possible(&self) -> Vec<Action> {
        let mut actions = Vec::new();
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
            if look(&reader.mailbox, |backlog| !backlog.is_empty()) {
                actions.push(Action::Deliver(r));
            }
        }
        for (k, kind) in self.kinds.iter().enumerate() {
            kind.possible(k, &self.limits, &mut actions);
        }
        actions
    }

    pub(super) fn act(&mut self, action: &Action) {
        match *action {
            Action::Make(r) => {
                self.next_id += 1;
                self.readers[r] = Some(Reader::new(RegistrarId(self.next_id)));
            }
            Action::Drop(r) => self.drop_registrar(r),
            Action::Add(r, k) => self.change_roster(r, |backlog, gvks| backlog.want(&gvks[k])),
            Action::Remove(r, k) => self.change_roster(r, |backlog, gvks| backlog.unwant(&gvks[k])),
            Action::ReplaceBy(r, k) => self.change_roster(r, |backlog, gvks| {
                backlog.want_only([(*gvks[k]).clone()]) != crate::roster::Replaced::default()
            }),
            Action::Grant(r) => self.grant(r),
            Action::Deliver(r) => self.deliver(r),
            Action::Put(k, n) => self.put(k, NAMES[n]),
            Action::Delete(k, n) => self.delete(k, NAMES[n]),
            Action::Recreate(k, n) => {
                let kind = &mut self.kinds[k];
                kind.made += 1;
                kind.server.insert(NAMES[n], (kind.made, 0));
            }
            Action::ListStart(k) => {
                let kind = &mut self.kinds[k];
                let server = kind.server.clone();
                let run = kind.run.as_mut().unwrap();
                run.phase = Phase::Listing { left: server };
                self.step(k, Step::ListStarted);
            }
            Action::ListOne(k) => {
                let kind = &mut self.kinds[k];
                let Phase::Listing { left, .. } = &mut kind.run.as_mut().unwrap().phase else {
                    unreachable!()
                };
                let (name, (uid, version)) = left.pop_first().unwrap();
                let object = object(&kind.gvk, name, uid, version);
                self.step(k, Step::Listed(vec![object]));
            }
            Action::ListEnd(k) => {
                self.kinds[k].run.as_mut().unwrap().phase = Phase::Following;
                self.step(k, Step::ListDone);
                self.step(k, Step::Status(GvkStatus::Ready));
            }
            Action::Break(k) => {
                self.kinds[k].run.as_mut().unwrap().phase = Phase::Broken;
                self.step(k, Step::Status(GvkStatus::Stale { error: "cut".into() }));
            }
            Action::Gone(k) => {
                let kind = &mut self.kinds[k];
                kind.server.clear();
                kind.run.as_mut().unwrap().phase = Phase::Idle;
                for reader in self.readers.iter_mut().flatten() {
                    if let Some(view) = reader.views.get_mut(&k) {
                        view.snapshot = None;
                        view.synced = false;
                    }
                }
                self.step(k, Step::Gone);
                self.step(k, Step::Status(GvkStatus::Pending));
            }
        }
    }

    fn gvks(&self) -> Vec<Gvk> {
        self.kinds.iter().map(|kind| kind.gvk.clone()).collect()
    }

    fn drop_registrar(&mut self, r: usize) {
        let reader = self.readers[r].take().unwrap();
        self.isolated(r, |world| {
            if world.switchboard.mailboxes.contains_key(&reader.id) {
                world.run(Command::Drop(reader.id));
            }
        });
        let left = self.switchboard.mailboxes.len();
        assert!(left <= self.readers.iter().flatten().count(), "a dropped registrar is remembered");
    }

    fn change_roster(&mut self, r: usize, change: impl FnOnce(&mut Backlog, &[Gvk]) -> bool) {
        let gvks = self.gvks();
        let reader = self.readers[r].as_mut().unwrap();
        let before = look(&reader.mailbox, |backlog| (backlog.wishes(), backlog.picture()));
        let mut changed = false;
        reader.mailbox.deliver(|backlog| changed = change(backlog, &gvks));
        let after = look(&reader.mailbox, |backlog| (backlog.wishes(), backlog.picture()));
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
        let (id, mailbox) = {
            let reader = self.readers[r].as_mut().unwrap();
            reader.dirty = false;
            (reader.id, reader.mailbox.clone())
        };
        self.isolated(r, |world| world.run(Command::Wish(id, mailbox.clone())));
        let again = look(&mailbox, Backlog::picture);
        self.run(Command::Wish(id, mailbox.clone()));
        assert_eq!(look(&mailbox, Backlog::picture), again, "the same wishes again changed something");
        self.note_snapshots();
    }

    /// What `r` does must not be noticed by the others, nor by the watches of their kinds.
    fn isolated(&mut self, r: usize, act: impl FnOnce(&mut Self)) {
        let others = |world: &Self| {
            let readers = world.readers.iter().enumerate().filter(|(other, _)| *other != r);
            let readers = readers.filter_map(|(_, reader)| reader.as_ref());
            let backlogs: Vec<_> =
                readers.clone().map(|reader| look(&reader.mailbox, Backlog::picture)).collect();
            let joined = |gvk: &Gvk| {
                let kind = world.switchboard.kinds.get(gvk)?;
                let wanted = readers.clone().any(|reader| kind.joined.contains_key(&reader.id));
                wanted.then_some(kind.incarnation)
            };
            (backlogs, world.gvks().iter().map(joined).collect::<Vec<_>>())
        };
        let before = others(self);
        act(self);
        assert_eq!(others(self), before, "another registrar noticed");
    }

    fn put(&mut self, k: usize, name: &'static str) {
        let kind = &mut self.kinds[k];
        if let Some((_, version)) = kind.server.get_mut(name) {
            *version += 1;
            kind.changed += 1;
        } else {
            kind.made += 1;
            kind.server.insert(name, (kind.made, 0));
        }
        let (uid, version) = kind.server[name];
        if kind.is_following() {
            let object = object(&kind.gvk, name, uid, version);
            self.step(k, Step::Applied(object));
        }
    }

    fn delete(&mut self, k: usize, name: &'static str) {
        let kind = &mut self.kinds[k];
        let (uid, version) = kind.server.remove(name).unwrap();
        if kind.is_following() {
            let object = object(&kind.gvk, name, uid, version + 1);
            self.step(k, Step::Deleted(object));
        }
    }

    fn step(&mut self, k: usize, step: Step) {
        let kind = &self.kinds[k];
        let run = kind.run.as_ref().unwrap();
        let late = Incarnation(run.incarnation.0.wrapping_sub(1));
        let before = self.picture();
        let gvk = kind.gvk.clone();
        let incarnation = run.incarnation;
        self.run(Command::Step(gvk.clone(), late, step.clone()));
        assert_eq!(self.picture(), before, "a step of a stopped watch was taken");
        self.run(Command::Step(gvk, incarnation, step));
        self.note_snapshots();
    }

    fn run(&mut self, command: Command) {
        for effect in self.switchboard.run(command) {
            match effect {
                Effect::Start(gvk, incarnation, store) => {
                    let kind = self.kinds.iter_mut().find(|kind| kind.gvk == gvk).unwrap();
                    assert!(kind.run.is_none(), "two watches of one kind");
                    kind.run = Some(Run { incarnation, store, phase: Phase::Idle });
                }
                Effect::Stop(gvk) => {
                    let kind = self.kinds.iter_mut().find(|kind| kind.gvk == gvk).unwrap();
                    let run = kind.run.take().expect("stopped what does not run");
                    assert!(run.store.is_closed() && run.store.is_empty(), "a stopped kind keeps objects");
                }
            }
        }
    }

    /// Remembers what a snapshot contained when its end was queued.
    fn note_snapshots(&mut self) {
        for reader in self.readers.iter_mut().flatten() {
            for (k, view) in &mut reader.views {
                let kind = &self.kinds[*k];
                let synced = look(&reader.mailbox, |backlog| backlog.is_synced(&kind.gvk));
                if synced && !view.synced {
                    let run = kind.run.as_ref().expect("synced with a kind that is not watched");
                    assert!(matches!(run.phase, Phase::Following | Phase::Broken), "synced in mid-list");
                    view.snapshot = Some(stored(&run.store));
                    view.synced = true;
                }
            }
        }
    }

    fn deliver(&mut self, r: usize) {
        let reader = self.readers[r].as_mut().unwrap();
        let mut event = None;
        reader.mailbox.deliver(|backlog| event = backlog.pop());
        let event = event.unwrap();
        let k = self.kinds.iter().position(|kind| *kind.gvk == event.gvk).unwrap();
        let view = reader.views.get_mut(&k).expect("an event of a kind that is not in the roster");
        view.take_in(&event, self.kinds[k].run.as_ref());
    }

    /// What holds in every state.
    pub(super) fn check(&self) {
        for reader in self.readers.iter().flatten() {
            look(&reader.mailbox, Backlog::check);
        }
        let granted: BTreeSet<_> = self.switchboard.kinds.keys().map(|gvk| gvk.kind.clone()).collect();
        let running: BTreeSet<_> =
            self.kinds.iter().filter(|kind| kind.run.is_some()).map(|kind| kind.gvk.kind.clone()).collect();
        assert_eq!(granted, running);
        if self.readers.iter().flatten().all(|reader| !reader.dirty) {
            let wanted: BTreeSet<_> = self
                .readers
                .iter()
                .flatten()
                .flat_map(|reader| look(&reader.mailbox, Backlog::wishes).into_keys())
                .map(|gvk| gvk.kind.clone())
                .collect();
            assert_eq!(running, wanted, "the watches are not the union of the wishes");
        }
        self.check_quiescence();
    }

    /// When everybody has read everything, everybody knows what the stores contain.
    fn check_quiescence(&self) {
        let mut world = self.fork();
        for r in 0..world.readers.len() {
            if world.readers[r].as_ref().is_some_and(|reader| reader.dirty) {
                world.grant(r);
            }
            while world.readers[r].as_ref().is_some_and(|reader| look(&reader.mailbox, |b| !b.is_empty())) {
                world.deliver(r);
            }
        }
        for reader in world.readers.iter().flatten() {
            for (k, view) in &reader.views {
                let run = world.kinds[*k].run.as_ref().expect("a wish that nobody watches");
                assert_eq!(view.held, stored(&run.store), "a reader knows something else than the store");
                assert_eq!(view.snapshot, None, "the end of a snapshot was not said");
                if run.phase == Phase::Following {
                    assert!(view.synced, "a complete kind is not synced");
                    assert_eq!(view.held, world.kinds[*k].server, "the store is not the server");
                }
            }
        }
    }
}

// === impl Reader ===

impl Reader {
    fn new(id: RegistrarId) -> Self {
        Self { id, mailbox: Arc::default(), dirty: false, views: BTreeMap::new() }
    }

    fn fork(&self) -> Self {
        let mailbox = fork_mailbox(&self.mailbox);
        Self { id: self.id, mailbox, dirty: self.dirty, views: self.views.clone() }
    }
}

// === impl View ===

impl View {
    fn take_in(&mut self, event: &WatchEvent, run: Option<&Run>) {
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
                let stored = run.map(|run| stored(&run.store)).unwrap_or_default();
                for (name, (uid, _)) in self.snapshot.take().expect("synced twice") {
                    let held = self.held.get(name).is_some_and(|(held, _)| *held == uid);
                    let ended = stored.get(name).is_none_or(|(now, _)| *now != uid);
                    assert!(held || ended, "synced before {name} of the snapshot");
                }
            }
            EventKind::Status(_) => {}
        }
    }
}

// === impl Kind ===

impl Kind {
    fn is_following(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.phase == Phase::Following)
    }

    fn possible(&self, k: usize, limits: &Limits, actions: &mut Vec<Action>) {
        let phase = self.run.as_ref().map(|run| &run.phase);
        match phase {
            None => {}
            Some(Phase::Idle) => actions.push(Action::ListStart(k)),
            Some(Phase::Broken) => actions.extend([Action::ListStart(k), Action::Gone(k)]),
            Some(Phase::Following) => actions.push(Action::Break(k)),
            Some(Phase::Listing { left, .. }) => {
                actions.push(Action::ListStart(k));
                actions.push(if left.is_empty() { Action::ListEnd(k) } else { Action::ListOne(k) });
            }
        }
        // A list shows one moment, so the server holds still meanwhile. What nobody watches need not move.
        if matches!(phase, None | Some(Phase::Listing { .. })) {
            return;
        }
        for (n, name) in NAMES.iter().enumerate().take(limits.names) {
            let exists = self.server.contains_key(name);
            let room = self.made < limits.versions * limits.names as u64;
            if exists && self.changed < limits.versions || !exists && room {
                actions.push(Action::Put(k, n));
            }
            if exists {
                actions.push(Action::Delete(k, n));
            }
            if exists && room && !self.is_following() {
                actions.push(Action::Recreate(k, n));
            }
        }
    }
}

fn look<T>(mailbox: &Mailbox, at: impl FnOnce(&Backlog) -> T) -> T {
    let mut seen = None;
    mailbox.deliver(|backlog| seen = Some(at(backlog)));
    seen.unwrap()
}

fn fork_mailbox(mailbox: &Mailbox) -> Arc<Mailbox> {
    let copy = Arc::new(Mailbox::default());
    let backlog = look(mailbox, Backlog::clone);
    copy.deliver(|target| *target = backlog);
    copy
}

fn fork_store(store: &StoreHandle) -> StoreHandle {
    let copy = StoreHandle::new();
    *copy.write() = store.read().clone();
    copy
}

fn stored(store: &StoreHandle) -> Objects {
    let objects = store.objects();
    let entry = |name: &'static str| {
        let object = objects.iter().find(|object| object.name() == name)?;
        let parse = |text: &str| text.parse::<u64>().unwrap();
        Some((name, (parse(object.uid()), parse(object.resource_version()))))
    };
    NAMES.into_iter().filter_map(entry).collect()
}
