//! Consumers behind the adapters, whose kind is removed, added again and asked for in another scope: each knows what the
//! server has.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use kube::core::{ApiResource, DynamicObject, Expression};
use kube::runtime::reflector::store::Writer;
use proptest::prelude::*;
use serde_json::{Value, json};
use watch_manager::controller::shared_stream;
use watch_manager::stream::{TypedEvent, WatchEventStreamExt, watcher_events};
use watch_manager::{EventKind, Interest, Registrar, WatchEvent, WatchedObject};

use crate::bench::{Bench, cases, gvk, paused};

const NAMES: [&str; 3] = ["a", "b", "c"];
const LONG: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
enum Act {
    /// Applies an object of this name with this label.
    Apply(usize, &'static str),
    Delete(usize),
    Ask(usize),
    Leave,
    Unserve,
    Serve,
    /// Each consumer takes one event.
    Read,
    /// Everything comes to rest, and the consumers catch up.
    Rest,
}

/// The state of a consumer: the label of each object.
type Known = BTreeMap<String, String>;

fn thing(name: &str, app: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "labels": {"app": app}}})
}

type IsIn = fn(&str, &str) -> bool;

/// The interests, and which names and labels are in each.
fn interests() -> [(Interest, IsIn); 5] {
    let all = || Interest::new(gvk("Thing"));
    let labelled = |app: &str| all().labels(Expression::Equal("app".to_owned(), app.to_owned()));
    [
        (all(), |_, _| true),
        (all().namespaces(["n"]), |_, _| true),
        (labelled("x"), |_, app| app == "x"),
        (labelled("nobody"), |_, _| false),
        (all().fields("metadata.name=a"), |name, _| name == "a"),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let name = 0..NAMES.len();
    prop_oneof![
        4 => (name.clone(), prop::sample::select(vec!["x", "y"])).prop_map(|(name, app)| Act::Apply(name, app)),
        3 => name.prop_map(Act::Delete),
        4 => (0..interests().len()).prop_map(Act::Ask),
        2 => Just(Act::Leave),
        1 => Just(Act::Unserve),
        2 => Just(Act::Serve),
        3 => Just(Act::Read),
        3 => Just(Act::Rest),
    ]
}

fn label(object: &DynamicObject) -> String {
    object.metadata.labels.as_ref().unwrap()["app"].clone()
}

fn app(object: &WatchedObject) -> String {
    object.labels()["app"].clone().into_owned()
}

/// A consumer of `changed` that begins anew with each epoch.
#[derive(Default)]
struct Fold {
    epoch: Option<u64>,
    known: Known,
}

impl Fold {
    fn take(&mut self, event: &WatchEvent) {
        if self.epoch.replace(event.epoch) != Some(event.epoch) {
            self.known.clear();
        }
        match &event.kind {
            EventKind::Applied(object) => {
                let former = self.known.insert(object.name().to_owned(), app(object));
                assert_ne!(former, Some(app(object)), "{} did not change", object.name());
            }
            EventKind::Deleted(object) => assert!(self.known.remove(object.name()).is_some(), "unknown"),
            _ => {}
        }
    }
}

/// Takes what is there: one item, or all.
fn take<T>(stream: &mut (impl Stream<Item = T> + Unpin), all: bool, mut each: impl FnMut(T)) {
    while let Some(Some(item)) = stream.next().now_or_never() {
        each(item);
        if !all {
            return;
        }
    }
}

async fn play(acts: Vec<Act>) {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    let resource = ApiResource::from_gvk_with_plural(&gvk("Thing"), "things");
    let registrars: [Registrar; 4] =
        ["events", "shared", "changed", "typed"].map(|name| bench.registrar(name));
    let [events, shared, changed, typed] = registrars.each_ref().map(Registrar::events);
    let mut writer: Writer<DynamicObject> = Writer::new(resource.clone());
    let (mut events, reflected) = (pin!(watcher_events::<DynamicObject>(events)), writer.as_reader());
    let (shared, stored) = shared_stream(shared, resource);
    let (mut shared, mut changed) = (pin!(shared), pin!(changed.changed(app)));
    let (mut typed, mut fold, mut typed_known) =
        (pin!(typed.typed::<DynamicObject>()), Fold::default(), Known::new());
    let (mut server, mut served, mut asked) = (BTreeMap::new(), true, None);
    for act in acts.into_iter().chain([Act::Serve, Act::Rest]) {
        let rests = matches!(act, Act::Rest);
        match act {
            Act::Apply(name, app) if served => {
                bench.api.apply(&gvk("Thing"), thing(NAMES[name], app)).unwrap();
                server.insert(NAMES[name], app);
            }
            Act::Delete(name) => {
                bench.api.delete(&gvk("Thing"), Some("n"), NAMES[name]);
                server.remove(NAMES[name]);
            }
            Act::Ask(interest) => {
                asked = Some(interest);
                registrars.iter().for_each(|it| _ = it.add(interests()[interest].0.clone()));
            }
            Act::Leave => {
                asked = None;
                registrars.iter().for_each(|it| _ = it.remove(&gvk("Thing")));
            }
            Act::Unserve => {
                bench.api.unserve(&gvk("Thing"));
                (served, server) = (false, BTreeMap::new());
            }
            Act::Serve if !served => {
                bench.api.serve(&gvk("Thing"), "things");
                served = true;
            }
            Act::Rest => tokio::time::sleep(LONG).await,
            Act::Read => tokio::task::yield_now().await,
            Act::Apply(..) | Act::Serve => {}
        }
        if !rests && !matches!(act, Act::Read) {
            continue;
        }
        take(&mut events, rests, |event| writer.apply_watcher_event(&event.unwrap()));
        take(&mut shared, rests, drop);
        take(&mut changed, rests, |event| fold.take(&event));
        take(&mut typed, rests, |event| match event.unwrap() {
            TypedEvent::Restarted => typed_known.clear(),
            TypedEvent::Applied(object) => {
                typed_known.insert(object.metadata.name.clone().unwrap(), label(&object));
            }
            TypedEvent::Deleted(object) => drop(typed_known.remove(&object.metadata.name.unwrap())),
            _ => {}
        });
        let Some(interest) = asked.filter(|_| rests && served) else { continue };
        let is_in = interests()[interest].1;
        let expected: Known = server
            .iter()
            .filter(|(name, app)| is_in(name, app))
            .map(|(name, app)| ((*name).to_owned(), (*app).to_owned()))
            .collect();
        let reflected = reflected.state();
        let reflected = reflected.iter().map(|it| (it.metadata.name.clone().unwrap(), label(it)));
        assert_eq!(reflected.collect::<Known>(), expected, "watcher_events");
        let stored = stored.state();
        let stored = stored.iter().map(|it| (it.object().name().to_owned(), app(it.object())));
        assert_eq!(stored.collect::<Known>(), expected, "shared_stream");
        assert_eq!(fold.known, expected, "changed");
        assert_eq!(typed_known, expected, "typed");
    }
}

/// A kind is not only asked for again, another one may take its place.
#[tokio::test(start_paused = true)]
async fn a_reflector_whose_registrar_turns_to_another_kind_has_its_objects_only() {
    let bench = Bench::new();
    for (kind, plural, name) in [("Thing", "things", "a"), ("Other", "others", "b")] {
        bench.api.serve(&gvk(kind), plural);
        bench.api.apply(&gvk(kind), thing(name, "x")).unwrap();
    }
    let registrar = bench.registrar("r");
    let mut writer: Writer<DynamicObject> = Writer::new(ApiResource::from_gvk(&gvk("Thing")));
    let mut events = pin!(watcher_events::<DynamicObject>(registrar.events()));
    for (kind, name) in [("Thing", "a"), ("Other", "b")] {
        registrar.replace([gvk(kind)]);
        tokio::time::sleep(LONG).await;
        take(&mut events, true, |event| writer.apply_watcher_event(&event.unwrap()));
        let state = writer.as_reader().state();
        let names: Vec<_> = state.iter().map(|it| it.metadata.name.clone().unwrap()).collect();
        assert_eq!(names, [name]);
    }
}

/// The epochs of two kinds of one stream are their own.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_added_again_is_new_to_changed_and_its_neighbour_is_not() {
    let bench = Bench::new();
    for kind in ["Thing", "Other"] {
        bench.api.serve(&gvk(kind), "things");
        bench.api.apply(&gvk(kind), thing(kind, "x")).unwrap();
    }
    let registrar = bench.registrar("r");
    registrar.replace([gvk("Thing"), gvk("Other")]);
    let mut events = pin!(registrar.events().changed(WatchedObject::generation));
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut count = |event: WatchEvent| {
        if let Some(object) = event.kind.object() {
            *seen.entry(object.name().to_owned()).or_default() += 1;
        }
    };
    tokio::time::sleep(LONG).await;
    take(&mut events, true, &mut count);
    registrar.remove(&gvk("Thing"));
    let _ = registrar.add(gvk("Thing"));
    for kind in ["Thing", "Other"] {
        bench.api.apply(&gvk(kind), thing(kind, "y")).unwrap();
    }
    tokio::time::sleep(LONG).await;
    take(&mut events, true, &mut count);
    assert_eq!(seen, HashMap::from([("Thing".to_owned(), 2), ("Other".to_owned(), 1)]));
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn whatever_is_asked_for_in_whatever_order_the_consumers_of_the_adapters_equal_the_server(
        acts in prop::collection::vec(act(), 1..30),
    ) {
        paused(play(acts));
    }
}
