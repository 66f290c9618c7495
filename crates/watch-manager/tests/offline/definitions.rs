//! Definitions that are withdrawn and made again with other versions, plurals and scopes, in the middle of lists, pages and
//! deliveries, while requests fail and registrars come and go: each registrar's folded events are the server's objects.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use kube::core::Expression;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::sleep;
use watch_manager::testing::Fault;
use watch_manager::{EventKind, GroupVersionKind, GvkStatus, Interest, Registrar, Verb, WatchEvent};

use crate::bench::{Bench, cases, config, gvk, paused};

const MINUTE: Duration = Duration::from_secs(60);
const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Act {
    /// Object, namespace, label.
    Apply(usize, &'static str, &'static str),
    Delete(usize),
    /// Registrar and interest.
    Ask(usize, usize),
    Leave(usize, usize),
    Resync(usize, usize),
    /// The registrar is dropped, and another takes its name.
    Replace(usize),
    /// So many events.
    Read(usize, usize),
    Break(Option<Fault>),
    Fail(&'static str, Verb, Fault),
    Compact,
    Withdraw,
    /// The definition is made again; objects of before are gone.
    Define(Shape),
    /// The definition changes; objects stay.
    Serve(&'static [&'static str]),
    Wait(u64),
    Rest,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    plural: &'static str,
    versions: &'static [&'static str],
    namespaced: bool,
}

fn thing(version: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", version, "Thing")
}

fn definitions() -> GroupVersionKind {
    GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// Interests, and the namespace and label that each is limited to.
fn interests() -> Vec<(Interest, Option<&'static str>, Option<&'static str>)> {
    let labelled = Expression::Equal("app".to_owned(), "x".to_owned());
    vec![
        (Interest::new(thing("v1")), None, None),
        (Interest::new(thing("v1")).namespaces(["n"]), Some("n"), None),
        (Interest::new(thing("v1")).labels(labelled), None, Some("x")),
        (Interest::new(thing("v2")), None, None),
        (Interest::new(thing("")), None, None),
        (Interest::new(thing("")).namespaces(["n"]), Some("n"), None),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let versions = || prop::sample::select(vec![&["v1"][..], &["v2"], &["v1", "v2"], &["v2", "v1"]]);
    let shape = (prop::sample::select(vec!["things", "stuffs"]), versions(), any::<bool>())
        .prop_map(|(plural, versions, namespaced)| Shape { plural, versions, namespaced });
    let faults = vec![
        (Verb::Discover, Fault::Unavailable),
        (Verb::Discover, Fault::Hang),
        (Verb::List, Fault::Expired),
        (Verb::List, Fault::NotFound),
        (Verb::List, Fault::Hang),
        (Verb::List, Fault::Truncated),
        (Verb::List, Fault::Forbidden),
        (Verb::List, Fault::TooManyRequests { retry_after: 3 }),
        (Verb::Watch, Fault::NotFound),
        (Verb::Watch, Fault::Expired),
        (Verb::Watch, Fault::ExpiredAtOnce),
        (Verb::Watch, Fault::Status(500)),
        (Verb::Watch, Fault::Hang),
        (Verb::Watch, Fault::Silent),
        (Verb::Watch, Fault::Duplicates),
        (Verb::Watch, Fault::ClosedAfter(1)),
        (Verb::Watch, Fault::Bookmarks(3)),
        (Verb::Watch, Fault::Truncated),
        (Verb::Watch, Fault::Forbidden),
        (Verb::Watch, Fault::Status(401)),
        (Verb::Watch, Fault::ClosedAtOnce),
        (Verb::Watch, Fault::TooManyRequests { retry_after: 3_600 }),
    ];
    let object = (0..NAMES.len(), prop::sample::select(vec!["n", "m"]), prop::sample::select(vec!["x", "y"]));
    let ask = (0..3usize, 0..interests().len());
    prop_oneof![
        6 => object.prop_map(|(name, namespace, app)| Act::Apply(name, namespace, app)),
        2 => (0..NAMES.len()).prop_map(Act::Delete),
        4 => ask.clone().prop_map(|(who, what)| Act::Ask(who, what)),
        1 => ask.clone().prop_map(|(who, what)| Act::Leave(who, what)),
        1 => ask.prop_map(|(who, what)| Act::Resync(who, what)),
        1 => (0..3usize).prop_map(Act::Replace),
        2 => (0..3usize, 1..4usize).prop_map(|(who, count)| Act::Read(who, count)),
        1 => prop::sample::select(vec![None, Some(Fault::Expired), Some(Fault::Unavailable)]).prop_map(Act::Break),
        2 => (prop::sample::select(vec!["v1", "v2", ""]), prop::sample::select(faults))
            .prop_map(|(version, (verb, fault))| Act::Fail(version, verb, fault)),
        1 => Just(Act::Compact),
        1 => Just(Act::Withdraw),
        2 => shape.prop_map(Act::Define),
        1 => versions().prop_map(Act::Serve),
        4 => prop::sample::select(vec![0, 20, 60, 300, 3_000]).prop_map(Act::Wait),
        1 => Just(Act::Rest),
    ]
}

/// A registrar with what it asks for and was given, by the kind's version.
struct Reader {
    registrar: Registrar,
    views: BTreeMap<String, (usize, BTreeMap<String, Value>)>,
}

impl Reader {
    fn new(bench: &Bench, number: usize) -> Self {
        let name = format!("reader-{number}");
        let registrar = match number {
            0 => bench.manager.ordered_registrar(&name, 2),
            _ => bench.manager.registrar(&name),
        };
        Self { registrar: registrar.expect("the name is free"), views: BTreeMap::new() }
    }

    fn fold(&mut self, event: &WatchEvent) {
        let (_, view) = self.views.get_mut(&event.gvk.version).expect("silence after a removal");
        let text = |it: &Value, field: &str| it["metadata"][field].as_str().unwrap().to_owned();
        match &event.kind {
            EventKind::Applied(object) => {
                let value = object.to_value().unwrap();
                if let Some(before) = view.insert(object.key().to_string(), value.clone()) {
                    assert_eq!(
                        text(&before, "uid"),
                        object.uid(),
                        "another object without a delete in between"
                    );
                    let former: u64 = text(&before, "resourceVersion").parse().unwrap();
                    let now = object.resource_version().parse().unwrap();
                    // The preferred version may have changed and changed back: a slow reader is given the end of it.
                    let read_anew = event.gvk.version.is_empty();
                    assert!(former < now || former == now && read_anew, "{former} before {now}");
                }
            }
            EventKind::Deleted(object) => {
                let before = view.remove(&object.key().to_string());
                let before = before.expect("a delete of an object that was not delivered");
                assert_eq!(text(&before, "uid"), object.uid(), "a delete of another object");
            }
            _ => {}
        }
    }

    fn read(&mut self, count: usize) {
        for _ in 0..count {
            let Some(Some(event)) = self.registrar.next().now_or_never() else { return };
            self.fold(&event);
        }
    }
}

/// The server, as the test knows it.
struct Truth {
    shape: Option<Shape>,
    objects: BTreeMap<String, &'static str>,
}

impl Truth {
    /// The kind is served as an interest asks for it.
    fn serves(&self, interest: &Interest, namespace: Option<&str>) -> bool {
        let version = &interest.gvk().version;
        self.shape.is_some_and(|shape| {
            (version.is_empty() || shape.versions.contains(&version.as_str()))
                && (namespace.is_none() || shape.namespaced)
        })
    }

    /// The objects in an interest.
    fn expected(&self, what: usize) -> Vec<String> {
        let (interest, namespace, label) = &interests()[what];
        let in_namespace = |key: &str| namespace.is_none_or(|it| key.starts_with(&format!("{it}/")));
        let is_in = |key: &str, app: &str| in_namespace(key) && label.is_none_or(|label| label == app);
        let objects = self.objects.iter().filter(|(key, app)| is_in(key, app));
        objects.filter(|_| self.serves(interest, *namespace)).map(|(key, _)| key.clone()).collect()
    }

    fn define(&mut self, bench: &Bench, shape: Option<Shape>) {
        (self.shape, self.objects) = (shape, BTreeMap::new());
        let Some(shape) = shape else { return bench.api.unserve(&thing("v1")) };
        bench.api.serve(&thing(shape.versions[0]), shape.plural);
        bench.api.set_versions(&thing(shape.versions[0]), shape.versions);
        if !shape.namespaced {
            bench.api.set_cluster_scoped(&thing(shape.versions[0]));
        }
    }

    fn apply(&mut self, bench: &Bench, name: &str, namespace: &str, app: &'static str) {
        let Some(shape) = self.shape else { return };
        let mut object = json!({"metadata": {"name": name, "labels": {"app": app}}});
        let mut key = name.to_owned();
        if shape.namespaced {
            object["metadata"]["namespace"] = namespace.into();
            key = format!("{namespace}/{name}");
        }
        bench.api.apply(&thing("v1"), object).unwrap();
        self.objects.insert(key, app);
    }

    fn delete(&mut self, bench: &Bench, name: &str) {
        for namespace in [None, Some("n"), Some("m")] {
            let key = namespace.map_or(name.to_owned(), |namespace| format!("{namespace}/{name}"));
            if self.objects.remove(&key).is_some() {
                bench.api.delete(&thing("v1"), namespace, name);
            }
        }
    }
}

async fn play(acts: Vec<Act>, (seed, linger, announced, http): (u64, bool, bool, bool)) {
    let mut config = config();
    (config.jitter_seed, config.page_size) = (Some(seed), 1);
    config.refused.max = Duration::from_secs(30);
    config.linger = if linger { MINUTE } else { Duration::ZERO };
    let bench = if http { Bench::over_http(config) } else { Bench::with(config) };
    bench.api.set_latency(Duration::from_millis(50));
    if announced {
        bench.api.serve(&definitions(), "customresourcedefinitions");
    }
    let mut truth = Truth { shape: None, objects: BTreeMap::new() };
    let mut readers: Vec<_> = (0..3).map(|number| Reader::new(&bench, number)).collect();
    let mut first = Shape { plural: "things", versions: &["v1", "v2"], namespaced: true };
    truth.define(&bench, Some(first));
    NAMES.iter().for_each(|name| truth.apply(&bench, name, "n", "x"));
    for act in acts.into_iter().chain([Act::Rest]) {
        let changes = matches!(act, Act::Withdraw | Act::Define(_) | Act::Serve(_));
        match act {
            Act::Apply(name, namespace, app) => truth.apply(&bench, NAMES[name], namespace, app),
            Act::Delete(name) => truth.delete(&bench, NAMES[name]),
            Act::Ask(who, what) => {
                let interest = interests()[what].0.clone();
                let Reader { registrar, views } = &mut readers[who];
                let version = interest.gvk().version.clone();
                if views.get(&version).is_none_or(|(before, _)| *before != what) {
                    views.insert(version, (what, BTreeMap::new()));
                }
                let _ = registrar.add(interest);
            }
            Act::Leave(who, what) => {
                let gvk = interests()[what].0.gvk().clone();
                readers[who].registrar.remove(&gvk);
                readers[who].views.remove(&gvk.version);
            }
            Act::Resync(who, what) => {
                let gvk = interests()[what].0.gvk().clone();
                let Reader { registrar, views } = &mut readers[who];
                let known = registrar.resync(&gvk).is_some();
                assert_eq!(known, views.contains_key(&gvk.version));
                views.entry(gvk.version).and_modify(|(_, view)| view.clear());
            }
            Act::Replace(who) => {
                readers.remove(who);
                readers.insert(who, Reader::new(&bench, who));
            }
            Act::Read(who, count) => readers[who].read(count),
            Act::Break(fault) => bench.api.interrupt(&thing("v1"), fault),
            Act::Fail(version, verb, fault) => bench.api.fail_next(&thing(version), verb, fault),
            Act::Compact => bench.api.compact(&thing("v1")),
            Act::Withdraw => truth.define(&bench, None),
            Act::Define(shape) => {
                first = shape;
                truth.define(&bench, Some(shape));
            }
            Act::Serve(versions) => {
                if let Some(shape) = &mut truth.shape {
                    shape.versions = versions;
                    bench.api.set_versions(&thing("v1"), versions);
                }
            }
            Act::Wait(millis) => sleep(Duration::from_millis(millis)).await,
            Act::Rest => rest(&bench, &truth, &mut readers).await,
        }
        if changes && announced {
            let name = format!("{}.example.com", first.plural);
            bench.api.apply(&definitions(), json!({"metadata": {"name": name}})).unwrap();
        }
    }
}

/// Everything comes to rest: the readers know what the server has.
async fn rest(bench: &Bench, truth: &Truth, readers: &mut [Reader]) {
    sleep(20 * MINUTE).await;
    for (number, reader) in readers.iter_mut().enumerate() {
        reader.read(usize::MAX);
        for (version, (what, view)) in &reader.views {
            let held: Vec<_> = view.keys().cloned().collect();
            let expected = truth.expected(*what);
            let status = reader.registrar.status(&thing(version)).unwrap();
            assert_eq!(held, expected, "reader {number}, interest {what}: {status}");
            let (interest, namespace, _) = &interests()[*what];
            // A watch of all objects serves also those who named namespaces of a kind without them.
            let shared = namespace.is_some() && status.is_ready() && truth.serves(interest, None);
            let serves = truth.serves(interest, *namespace) || shared;
            assert_eq!(status.is_ready(), serves, "reader {number}, interest {what}: {status}");
            let synced = reader.registrar.handle(&thing(version)).unwrap().ready().now_or_never();
            assert_eq!(synced.is_some(), status.is_ready(), "reader {number}, interest {what}: {status}");
        }
    }
    let asked = |version: &str| readers.iter().any(|reader| reader.views.contains_key(version));
    for version in ["v1", "v2", ""] {
        let store = bench.manager.store(&thing(version));
        assert!(store.is_some() || !asked(version), "no store of {version:?}");
    }
}

/// The scope that a kind had decides nothing about the one that it has.
#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_back_in_namespaces_is_served_at_once() {
    let bench = Bench::new();
    bench.api.serve(&definitions(), "customresourcedefinitions");
    bench.api.serve(&gvk("Thing"), "things");
    bench.api.set_cluster_scoped(&gvk("Thing"));
    let registrar = bench.registrar("r");
    let handle = registrar.add(Interest::new(gvk("Thing")).namespaces(["n"]));
    sleep(60 * MINUTE).await;
    assert_eq!(handle.status(), Some(GvkStatus::NotNamespaced));

    bench.api.serve(&gvk("Thing"), "things");
    bench.api.apply(&definitions(), json!({"metadata": {"name": "things.example.com"}})).unwrap();
    handle.ready_within(Duration::from_secs(2)).await.unwrap();
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn whatever_becomes_of_definitions_each_registrar_knows_what_is_served(
        acts in prop::collection::vec(act(), 1..40),
        setting in any::<(u64, bool, bool, bool)>(),
    ) {
        paused(play(acts, setting));
    }
}
