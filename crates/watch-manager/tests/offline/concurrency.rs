//! Readers, a server and the driver on threads of their own: what the tests of the dispatcher cannot see, such
//! as a reader that is not woken. Which interleavings occur is up to the machine; what must hold is not.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use watch_manager::testing::Fault;
use watch_manager::{BackoffRange, EventKind, GroupVersionKind, Registrar, WatchEvent};

use crate::bench::{Bench, config, gvk, object};

const KINDS: usize = 4;
const READERS: u64 = 4;
const ROUNDS: usize = 2_000;
/// Reaching it means that a task waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state of a reader, by kind.
type View = BTreeMap<String, Known>;

#[derive(Default)]
struct Known {
    /// Name to uid.
    objects: BTreeMap<String, String>,
    synced: bool,
}

fn kinds() -> Vec<GroupVersionKind> {
    (0..KINDS).map(|number| gvk(&format!("Kind{number}"))).collect()
}

/// A small generator: what it draws depends on the seed alone.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_on_many_threads_end_up_with_what_the_server_has() {
    let mut config = config();
    config.page_size = 3;
    // Connections break here more often than the bound on requests allows for.
    config.requests.burst = 1_000_000;
    config.pages.burst = 1_000_000;
    config.retry = BackoffRange::new(Duration::from_millis(1), Duration::from_millis(2));
    let bench = Bench::with(config);
    for kind in kinds() {
        bench.api.serve(&kind, "things");
    }
    let mut readers = JoinSet::new();
    for seed in 0..READERS {
        let registrar = bench.registrar(&format!("reader-{seed}"));
        readers.spawn(read(registrar, Dice(seed)));
    }
    let api = bench.api.clone();
    let server = tokio::spawn(async move {
        let mut dice = Dice(99);
        for _ in 0..ROUNDS {
            change(&api, &mut dice);
            tokio::task::yield_now().await;
        }
    });
    server.await.unwrap();
    tokio::time::timeout(PATIENCE, settled(&bench)).await.expect("a store does not follow the server");
    // Arrives after everything else, because it happens after everything else has arrived.
    for kind in kinds() {
        bench.api.apply(&kind, object("the-last")).unwrap();
    }
    while let Some(view) = readers.join_next().await {
        let (registrar, view) = view.unwrap();
        for kind in kinds() {
            let store = bench.manager.store(&kind).expect("this reader still wants it");
            let truth: BTreeMap<_, _> = store
                .objects()
                .iter()
                .map(|object| (object.name().to_owned(), object.uid().to_owned()))
                .collect();
            assert_eq!(view[&kind.kind].objects, truth, "{} of {}", kind.kind, registrar.name());
        }
    }
}

/// Waits until every store has caught up, lists and all.
async fn settled(bench: &Bench) {
    for kind in kinds() {
        bench.api.apply(&kind, object("caught-up")).unwrap();
    }
    let caught_up = |kind: &GroupVersionKind| {
        let store = bench.manager.store(kind);
        store.is_some_and(|store| store.is_synced() && store.get(Some("default"), "caught-up").is_some())
    };
    while !kinds().iter().all(caught_up) {
        tokio::task::yield_now().await;
    }
}

fn change(api: &watch_manager::testing::FakeApi, dice: &mut Dice) {
    let kind = &kinds()[dice.roll(KINDS as u64) as usize];
    let name = format!("o{}", dice.roll(6));
    match dice.roll(20) {
        0 => api.interrupt(kind, None),
        1 => api.interrupt(kind, Some(Fault::Unavailable)),
        2 => api.interrupt(kind, Some(Fault::Expired)),
        3 => api.compact(kind),
        4..10 => {
            api.delete(kind, Some("default"), &name);
        }
        _ => {
            api.apply(kind, object(&name)).unwrap();
        }
    }
}

/// Changes its mind for a while, then wants everything until the last object.
async fn read(mut registrar: Registrar, mut dice: Dice) -> (Registrar, View) {
    let mut view = View::new();
    for _ in 0..ROUNDS / 10 {
        let roster: Vec<_> = kinds().into_iter().filter(|_| dice.roll(2) == 0).collect();
        for gone in registrar.replace(roster).removed {
            view.remove(&gone.kind);
        }
        for _ in 0..dice.roll(20) {
            match registrar.next().now_or_never() {
                Some(event) => take_in(&mut view, &event.unwrap()),
                None => tokio::task::yield_now().await,
            }
        }
    }
    registrar.replace(kinds());
    let complete = |view: &View| {
        kinds().iter().all(|kind| {
            view.get(&kind.kind).is_some_and(|known| known.synced && known.objects.contains_key("the-last"))
        })
    };
    while !complete(&view) {
        let event = tokio::time::timeout(PATIENCE, registrar.next()).await.expect("nobody woke the reader");
        take_in(&mut view, &event.unwrap());
    }
    (registrar, view)
}

fn take_in(view: &mut View, event: &WatchEvent) {
    let known = view.entry(event.gvk.kind.clone()).or_default();
    match &event.kind {
        EventKind::Applied(new) => {
            let before = known.objects.insert(new.name().to_owned(), new.uid().to_owned());
            assert!(before.is_none_or(|uid| uid == new.uid()), "another object without a delete in between");
        }
        EventKind::Deleted(old) => {
            let before = known.objects.remove(old.name());
            assert_eq!(before.as_deref(), Some(old.uid()), "a delete of what is not held");
        }
        EventKind::Synced => known.synced = true,
        _ => {}
    }
}
