//! Tests of `dispatcher`: every interleaving of what registrars, readers, watches and a server can do, up to a
//! depth. The watches are the real state machines of `watcher`, the server answers page by page and is withdrawn,
//! redefined, compacted and cut off at every point.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

mod server;
mod world;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use self::world::{Action, Actors, Limits, World};
use super::{Command, Dispatcher, Effect, Step};
use crate::event::{EventKind, GvkStatus};
use crate::fixture::{gvk, object};
use crate::intents::RegistrarId;
use crate::interest::{Interest, Scope};
use crate::queue::EventQueue;

/// A world, and one of its first kind alone, to which the same happens.
struct Place {
    world: World,
    alone: Option<World>,
}

impl From<World> for Place {
    fn from(world: World) -> Self {
        Self { world, alone: None }
    }
}

impl Place {
    /// The place to which an action leads. Nothing that happens to the other kind shows in the first.
    fn after(&self, action: &Action) -> Self {
        let (mut world, mut alone) = (self.world.fork(), self.alone.as_ref().map(World::fork));
        if let Some(alone) = &mut alone {
            let own = world.without_others(action);
            alone.wait_for(&world);
            own.iter().for_each(|action| alone.act(action));
        }
        world.act(action);
        if let Some(alone) = &alone {
            assert_eq!(world.picture_of_first(), alone.picture_of_first(), "after {action:?}");
        }
        Self { world, alone }
    }
}

/// Walks breadth-first from a world, checking every state that it meets; returns their number.
fn explore(name: &str, start: impl Into<Place>, depth: usize) -> usize {
    let start = start.into();
    let (mut seen, mut converged) = (HashSet::new(), HashSet::new());
    seen.insert(start.world.fingerprint());
    let mut edge = vec![start];
    for level in 0..depth {
        eprintln!("{name}, depth {level}: {} states", seen.len());
        let mut next = Vec::new();
        for place in &edge {
            for action in place.world.possible() {
                let after = place.after(&action);
                if seen.insert(after.world.fingerprint()) {
                    after.world.check(&mut converged);
                    next.push(after);
                }
            }
        }
        edge = next;
    }
    eprintln!("{name}, depth {depth}: {} states", seen.len());
    check_figure(name, seen.len());
    seen.len()
}

/// The README states how many states there are, so the number is the same in every run. A longer run has others.
fn check_figure(name: &str, states: usize) {
    let longer = ["WATCH_MANAGER_EXTRA_DEPTH", "WATCH_MANAGER_DISTURBANCES"];
    if longer.iter().any(|name| std::env::var(name).is_ok()) {
        return;
    }
    let figure = match states / 1_000 {
        0 => states.to_string(),
        thousands => format!("{thousands},{:03}", states % 1_000),
    };
    let readme = include_str!("../../README.md");
    let (_, table) = readme.split_once("| exploration |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let mut figures = table.split(|letter: char| !letter.is_ascii_digit() && letter != ',');
    let found = figures.any(|found| found.trim_end_matches(',') == figure);
    assert!(
        found,
        "the exploration {name:?} has {figure} states: the table in the README has another number"
    );
}

/// A longer run goes deeper.
fn depth(default: isize) -> usize {
    let extra: isize = std::env::var("WATCH_MANAGER_EXTRA_DEPTH").map_or(0, |text| text.parse().unwrap());
    usize::try_from(default + extra).unwrap()
}

fn two_by_two_by_three_limits(actors: Actors, disturbances: u64) -> Limits {
    Limits {
        registrars: 2,
        kinds: 2,
        names: 3,
        changes: 5,
        actors,
        disturbances,
        ordered: None,
        namespaced: false,
        linger: false,
        unreadable: false,
    }
}

/// Two registrars ask for all kinds; each kind has three objects, and its first page is requested next.
fn two_by_kinds_by_three(limits: &Limits) -> World {
    let mut world = World::new(limits);
    for kind in 0..limits.kinds {
        (0..3).for_each(|name| world.act(&Action::Put(kind, name)));
    }
    for registrar in 0..2 {
        world.act(&Action::Make(registrar));
        (0..limits.kinds).for_each(|kind| world.act(&Action::Add(registrar, kind)));
        world.act(&Action::Grant(registrar));
    }
    (0..limits.kinds).for_each(|kind| world.act(&Action::Answer(kind, 0)));
    world.settled()
}

fn two_by_two_by_three(actors: Actors, disturbances: u64) -> World {
    two_by_kinds_by_three(&two_by_two_by_three_limits(actors, disturbances))
}

/// Two kinds, and the first of them alone: what one comes to beside the other is what it comes to alone.
fn two_by_two_by_three_and_one_alone(disturbances: u64) -> Place {
    let limits = two_by_two_by_three_limits(Actors::All, disturbances);
    let alone = two_by_kinds_by_three(&Limits { kinds: 1, ..limits });
    Place {
        world: two_by_kinds_by_three(&limits).without_checks_of_actions(),
        alone: Some(alone.without_checks_of_actions()),
    }
}

#[test]
fn two_registrars_two_kinds_and_three_objects_with_a_server_that_fails_between_all_pages() {
    let states = explore("server", two_by_two_by_three(Actors::Server, u64::MAX), depth(5));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

#[test]
fn two_registrars_two_kinds_and_three_objects_with_registrars_that_come_and_go() {
    let states = explore("registrars", two_by_two_by_three(Actors::Registrars, u64::MAX), depth(6));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// A call, a change of a server or a failure (two in a longer run), in every order and between all steps of registrars,
/// readers, watches and pages. Without that limit there would be some hundred million states.
#[test]
fn two_registrars_two_kinds_and_three_objects_with_everything_at_once() {
    let disturbances = std::env::var("WATCH_MANAGER_DISTURBANCES").map_or(1, |text| text.parse().unwrap());
    let states = explore("all", two_by_two_by_three_and_one_alone(disturbances), depth(8));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// Both registrars have asked for the one kind, whose first page is requested next.
fn two_by_one_by_three(disturbances: u64) -> World {
    let changes = std::env::var("WATCH_MANAGER_CHANGES").map_or(5, |text| text.parse().unwrap());
    let limits = Limits { kinds: 1, changes, ..two_by_two_by_three_limits(Actors::All, disturbances) };
    two_by_kinds_by_three(&limits).without_checks_of_actions()
}

/// Two of them, around one kind: with two kinds there would be more than a quarter of a million states.
#[test]
fn two_registrars_one_kind_and_three_objects_with_two_disturbances() {
    let states = explore("two disturbances", two_by_one_by_three(2), depth(8));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// Any number of them.
#[test]
fn two_registrars_one_kind_and_three_objects_without_limit() {
    let states = explore("without limit", two_by_one_by_three(u64::MAX), depth(5));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// An object may become one that cannot be read, and come back, before and between pages and while it is watched.
#[test]
fn objects_that_cannot_be_read_at_any_point() {
    let limits =
        Limits { kinds: 1, names: 2, unreadable: true, ..two_by_two_by_three_limits(Actors::All, 2) };
    let mut world = World::new(&limits);
    (0..2).for_each(|name| world.act(&Action::Put(0, name)));
    for registrar in 0..2 {
        world.act(&Action::Make(registrar));
        world.act(&Action::Add(registrar, 0));
        world.act(&Action::Grant(registrar));
    }
    let states = explore("unreadable", world.settled(), depth(8));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

#[test]
fn everything_at_once_from_nothing() {
    for linger in [false, true] {
        let limits = Limits {
            registrars: 2,
            kinds: 1,
            names: 1,
            changes: 3,
            actors: Actors::All,
            disturbances: u64::MAX,
            ordered: None,
            namespaced: false,
            linger,
            unreadable: false,
        };
        let name = if linger { "everything, lingering" } else { "everything" };
        let states = explore(name, World::new(&limits), depth(9));
        assert!(states > 1_000, "only {states} states: the model has stopped moving");
    }
}

/// One registrar asks for all namespaces, another for one of two, and the client may lose and get back the right to watch
/// all, at every point: before and between pages, while the watches of namespaces begin, and while they end.
#[test]
fn namespaces_beside_a_watch_of_all_that_is_refused_and_granted() {
    let limits = Limits {
        registrars: 2,
        kinds: 1,
        names: 2,
        changes: 4,
        actors: Actors::All,
        disturbances: std::env::var("WATCH_MANAGER_DISTURBANCES").map_or(2, |text| text.parse().unwrap()),
        ordered: None,
        namespaced: true,
        linger: false,
        unreadable: false,
    };
    for refused in [false, true] {
        let mut world = World::new(&limits);
        (0..2).for_each(|name| world.act(&Action::Put(0, name)));
        if refused {
            world.act(&Action::Refuse(0));
        }
        for registrar in 0..2 {
            world.act(&Action::Make(registrar));
            world.act(&Action::Add(registrar, 0));
            world.act(&Action::Grant(registrar));
        }
        let name = if refused { "namespaces, refused" } else { "namespaces" };
        let states = explore(name, world.settled(), depth(8));
        assert!(states > 1_000, "only {states} states: the model has stopped moving");
    }
}

/// One registrar of a namespace is ready; another comes, asks for all namespaces, and goes, in the middle of every list.
#[test]
fn a_ready_registrar_of_one_namespace_beside_one_of_all_that_comes_and_goes() {
    let limits = Limits {
        registrars: 2,
        kinds: 1,
        names: 2,
        changes: 4,
        actors: Actors::All,
        disturbances: std::env::var("WATCH_MANAGER_DISTURBANCES").map_or(2, |text| text.parse().unwrap()),
        ordered: None,
        namespaced: true,
        linger: false,
        unreadable: false,
    };
    let mut world = World::new(&limits);
    (0..2).for_each(|name| world.act(&Action::Put(0, name)));
    (0..2).for_each(|registrar| world.act(&Action::Make(registrar)));
    world.act(&Action::Add(1, 0));
    world.act(&Action::Grant(1));
    // Discovery, a page, and the watch of the namespace.
    (0..3).for_each(|_| world.act(&Action::Answer(0, 1)));
    assert!(world.is_ready(1), "the model does not begin where it should");
    let states = explore("beside one that is ready", world.settled(), depth(9));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// Long runs through the large world, by a seed.
mod long {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            std::env::var("WATCH_MANAGER_CASES").map_or(8, |text| text.parse().unwrap())
        ))]
        #[test]
        fn random_walks_of_two_hundred_steps(
            choices in proptest::collection::vec(any::<u32>(), 200),
            ordered in proptest::option::of(0..3_usize),
            namespaced in any::<bool>(),
            linger in any::<bool>(),
            unreadable in any::<bool>(),
        ) {
            let registrars = if namespaced { 3 } else { 2 };
            let limits = Limits { registrars, kinds: 2, names: 3, changes: 1_000, actors: Actors::All, disturbances: u64::MAX, ordered, namespaced, linger, unreadable };
            let (mut world, mut converged) = (World::new(&limits), HashSet::new());
            for choice in choices {
                let actions = world.possible();
                world.act(&actions[choice as usize % actions.len()]);
                world.check(&mut converged);
            }
        }

        /// Kinds share registrars, backlogs and the turns of snapshots. Nothing that happens to one shows in the other: each action is
        /// to a kind what it is in a world of that kind alone, or nothing. So every state of a kind that two kinds can come to in
        /// some steps is one that it comes to alone in no more, and the explorations of one kind meet it.
        #[test]
        fn a_kind_beside_another_is_as_if_it_were_alone(
            choices in proptest::collection::vec(any::<u32>(), 200),
            ordered in proptest::option::of(0..3_usize),
            namespaced in any::<bool>(),
            linger in any::<bool>(),
            unreadable in any::<bool>(),
        ) {
            let registrars = if namespaced { 3 } else { 2 };
            let limits = Limits { registrars, kinds: 2, names: 3, changes: 1_000, actors: Actors::All, disturbances: u64::MAX, ordered, namespaced, linger, unreadable };
            let alone = World::new(&Limits { kinds: 1, ..limits });
            let mut place = Place { world: World::new(&limits), alone: Some(alone) };
            for choice in choices {
                let actions = place.world.possible();
                place = place.after(&actions[choice as usize % actions.len()]);
            }
        }
    }
}

/// The worked example at the head of `dispatcher`.
#[test]
fn a_late_registrar_is_given_each_object_once_and_in_its_last_form() {
    let (kind, now) = (gvk("A"), Instant::now());
    let mut dispatcher = Dispatcher::new(Arc::default(), 1);
    let ask = || {
        let queue = Arc::<EventQueue>::default();
        queue.change(|backlog| backlog.want(&kind, &Scope::default()));
        queue
    };
    let read = |queue: &EventQueue| {
        let pop = || queue.change(crate::backlog::Backlog::pop);
        let said = std::iter::from_fn(pop).map(|event| match event.kind {
            EventKind::Applied(object) => format!("{}@{}", object.name(), object.resource_version()),
            EventKind::Deleted(object) => format!("delete {}", object.name()),
            EventKind::Synced => "synced".to_owned(),
            other => format!("{other:?}"),
        });
        said.collect::<Vec<_>>()
    };
    let a = ask();
    let effects = dispatcher.run(now, Command::Assign(RegistrarId(1), Arc::clone(&a)));
    let [Effect::Start { id, incarnation, .. }] = &effects[..] else { panic!("{effects:?}") };
    let step = |step| Command::Step(id.clone(), *incarnation, step);
    let listed = vec![object(&kind, "x", 1, 1), object(&kind, "y", 2, 2)];
    for listing in
        [Step::ListStarted, Step::Listed(listed), Step::ListDone, Step::Status(GvkStatus::Ready, 0)]
    {
        dispatcher.run(now, step(listing));
    }
    assert_eq!(read(&a).last().unwrap(), "Status(Ready)");

    let b = ask();
    dispatcher.run(now, Command::Assign(RegistrarId(2), Arc::clone(&b)));
    for (change, queued) in [
        (Step::Applied(object(&kind, "x", 1, 3)), "x@3"),
        (Step::Deleted(object(&kind, "y", 2, 4)), "delete y"),
        (Step::Applied(object(&kind, "z", 3, 5)), "z@5"),
    ] {
        dispatcher.run(now, step(change));
        assert_eq!(read(&a), [queued]);
    }
    assert!(dispatcher.is_replaying());
    dispatcher.run(now, Command::Replay);
    assert!(!dispatcher.is_replaying());
    assert_eq!(read(&b), ["x@3", "z@5", "synced", "Status(Ready)"]);
}

/// The fake server and the client test fields alike, so this server is made of steps: it lists `x` whatever is selected.
#[test]
fn a_field_that_only_the_server_can_test_is_tested_by_it_whatever_others_ask_for() {
    let (kind, mut dispatcher) = (gvk("A"), Dispatcher::new(Arc::default(), 10));
    let mut run = |command| {
        let effects = dispatcher.run(Instant::now(), command);
        for effect in effects {
            let Effect::Start { id: watch, incarnation, .. } = effect else { continue };
            let steps = [Step::ListStarted, Step::Listed(vec![object(&kind, "x", 1, 1)]), Step::ListDone];
            for step in steps {
                let _ = dispatcher.run(Instant::now(), Command::Step(watch.clone(), incarnation, step));
            }
        }
    };
    let ask = |interest: Interest| {
        let (queue, (gvk, scope)) = (Arc::<EventQueue>::default(), interest.into_parts());
        queue.change(|backlog| backlog.want(&Arc::new(gvk), &scope));
        queue
    };
    let read = |queue: &EventQueue| {
        let pop = || queue.change(crate::backlog::Backlog::pop);
        let said = std::iter::from_fn(pop).filter_map(|event| match event.kind {
            EventKind::Applied(object) => Some(format!("apply {}", object.name())),
            EventKind::Deleted(object) => Some(format!("delete {}", object.name())),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    let some = ask(Interest::new((*gvk("A")).clone()).fields("spec.computed=yes"));
    run(Command::Assign(RegistrarId(1), Arc::clone(&some)));
    assert_eq!(read(&some), ["apply x"]);
    let all = ask(Interest::new((*gvk("A")).clone()));
    run(Command::Assign(RegistrarId(2), Arc::clone(&all)));
    assert_eq!((read(&some), read(&all)), (Vec::new(), vec!["apply x".to_owned()]));
    run(Command::Drop(RegistrarId(2)));
    assert_eq!(read(&some), Vec::<String>::new());
}
