//! Interests in different parts of a kind that meet, change and leave: each registrar sees its own part, in the form that
//! it asked for, and is not told of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use kube::core::Expression;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use watch_manager::testing::Fault;
use watch_manager::{EventKind, GroupVersionKind, GvkStatus, Interest, Registrar, Verb, WatchEvent};

use crate::bench::{Bench, cases, config, during, gvk, next, paused, until};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A thing in namespace `n` or `m`, labelled `app`, on a node.
fn thing(name: &str, namespace: &str, app: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": {"node": node},
    })
}

fn things() -> Interest {
    Interest::new(gvk("Thing"))
}

/// Without the states of the watch.
fn changes(said: Vec<String>) -> Vec<String> {
    let is_change = |line: &String| line.starts_with("apply ") || line.starts_with("delete ");
    let mut said: Vec<_> = said.into_iter().filter(is_change).collect();
    said.sort();
    said
}

#[tokio::test(start_paused = true)]
async fn a_registrar_of_complete_objects_gets_them_where_metadata_sufficed_before() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    bench.api.apply(&gvk("Thing"), thing("a", "n", "x", "one")).unwrap();
    let mut metadata = bench.registrar("metadata");
    let _ = metadata.add(things().metadata_only());
    assert_eq!(changes(until(&mut metadata, "ready").await), ["apply a"]);
    let spec = || bench.store("Thing").get(Some("n"), "a").unwrap().to_value().unwrap().get("spec").cloned();
    assert_eq!(spec(), None);

    let mut complete = bench.registrar("complete");
    let _ = complete.add(things());
    let mut seen = Vec::new();
    while let Some(event) = complete.next().await {
        match event.kind {
            EventKind::Applied(object) => seen.push(object.to_value().unwrap()["spec"].clone()),
            EventKind::Synced => break,
            _ => {}
        }
    }
    assert_eq!(seen, [json!({"node": "one"})], "once, and complete");
    assert_eq!(spec(), Some(json!({"node": "one"})));
    assert_eq!(changes(during(&mut metadata, MINUTE).await), Vec::<String>::new());

    drop(complete);
    assert_eq!(changes(during(&mut metadata, MINUTE).await), Vec::<String>::new());
    assert_eq!(spec(), None, "what nobody wants takes no room");
}

#[tokio::test(start_paused = true)]
async fn a_store_is_searched_as_a_reflectors() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        bench.api.apply(&gvk("Thing"), thing(name, "n", app, "one")).unwrap();
    }
    let registrar = bench.registrar("r");
    let handle = registrar.add(things());
    handle.ready().await.unwrap();
    let names = |objects: Vec<std::sync::Arc<watch_manager::WatchedObject>>| {
        let mut names: Vec<_> = objects.iter().map(|object| object.name().to_owned()).collect();
        names.sort();
        names
    };
    let store = handle.store();
    let selector = Expression::NotEqual("app".to_owned(), "y".to_owned()).into();
    assert_eq!(names(store.state_filter_selector(&selector)), ["a", "c"]);
    assert_eq!(names(store.state_filter_selector(&kube::core::Selector::default())), ["a", "b", "c"]);
    assert_eq!(names(store.state_filter(|object| object.name() > "a")), ["b", "c"]);
    assert_eq!(store.find(|object| object.name() == "b").unwrap().name(), "b");
    assert!(store.find(|object| object.name() == "d").is_none());
}

#[tokio::test(start_paused = true)]
async fn each_field_selector_has_a_watch_and_a_store_of_its_own() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    for (name, node) in [("a", "one"), ("b", "two")] {
        bench.api.apply(&gvk("Thing"), thing(name, "n", "x", node)).unwrap();
    }
    let mut one = bench.registrar("one");
    let handle = one.add(things().fields("spec.node=one"));
    assert_eq!(changes(until(&mut one, "ready").await), ["apply a"]);
    let (other, same, all) = (bench.registrar("other"), bench.registrar("same"), bench.registrar("all"));
    let second = other.add(things().fields("spec.node=two"));
    second.ready().await.unwrap();
    same.add(things().fields("spec.node==one,,spec.node=one")).ready().await.unwrap();
    assert_eq!(bench.api.open_watches(), 2, "those with the same selector share one");
    let third = all.add(things());
    third.ready().await.unwrap();
    assert_eq!(bench.api.open_watches(), 3);
    assert_eq!([&handle, &second, &third].map(|handle| handle.store().len()), [1, 1, 2]);
    assert_eq!(bench.names("Thing"), ["a", "b"], "the manager's is that of all objects");
    bench.manager.wait_until_ready([gvk("Thing")]).await.unwrap();

    drop((other, same, all));
    assert_eq!(changes(during(&mut one, MINUTE).await), Vec::<String>::new());
    assert!(second.store().is_closed() && third.store().is_closed() && !handle.store().is_closed());
    assert_eq!((bench.names("Thing"), bench.api.open_watches()), (vec!["a".to_owned()], 1));
    bench.api.delete(&gvk("Thing"), Some("n"), "a");
    assert_eq!(next(&mut one).await, "delete a");
}

#[tokio::test(start_paused = true)]
async fn field_selectors_that_the_server_reads_alike_share_a_watch() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    for (name, node) in [("a", "one"), ("b", "two"), ("c", "three")] {
        bench.api.apply(&gvk("Thing"), thing(name, "n", "x", node)).unwrap();
    }
    let (one, other) = (bench.registrar("one"), bench.registrar("other"));
    let ready = one.add(things().fields("spec.node!=two,metadata.namespace=n"));
    ready.ready().await.unwrap();
    let same = other.add(things().fields(String::from("metadata.namespace==n,spec.node!=two,")));
    same.ready().await.unwrap();
    assert_eq!((bench.api.open_watches(), same.store().len()), (1, 2));
    assert_eq!(other.replace([things().fields("spec.node!=two,metadata.namespace=n")]).kept, [gvk("Thing")]);
}

#[tokio::test(start_paused = true)]
async fn a_registrar_of_one_object_is_served_although_another_may_not_have_them_all() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    bench.api.restrict(&gvk("Thing"), Some(&[]));
    bench.api.allow_names(&gvk("Thing"), &["a"]);
    bench.api.apply(&gvk("Thing"), thing("a", "n", "x", "one")).unwrap();
    bench.api.apply(&gvk("Thing"), thing("b", "n", "x", "one")).unwrap();
    let (mut one, mut all) = (bench.registrar("one"), bench.registrar("all"));
    let _ = one.add(things().namespaces(["n"]).fields("metadata.name=a"));
    assert_eq!(changes(until(&mut one, "ready").await), ["apply a"]);
    let _ = all.add(things().namespaces(["n"]));
    assert_eq!(changes(until(&mut all, "forbidden list").await), Vec::<String>::new());
    bench.api.apply(&gvk("Thing"), thing("a", "n", "y", "one")).unwrap();
    assert_eq!(during(&mut one, MINUTE).await, ["apply a"], "and no change of its state");
    assert_eq!(changes(during(&mut all, MINUTE).await), Vec::<String>::new());
}

/// The manager watches definitions itself, as soon as a kind is not served.
#[tokio::test(start_paused = true)]
async fn the_managers_own_interest_in_definitions_affects_no_registrar_of_one_of_them() {
    for may_have_all in [true, false] {
        let bench = Bench::new();
        let definitions = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        bench.api.serve(&definitions, "customresourcedefinitions");
        bench.api.set_cluster_scoped(&definitions);
        let put = |name: &str| {
            let object = json!({"metadata": {"name": name}, "spec": {"x": "y"}});
            bench.api.apply(&definitions, object).unwrap();
        };
        (0..9).for_each(|n| put(&format!("k{n}.example.org")));
        put("things.example.com");
        if !may_have_all {
            bench.api.restrict(&definitions, Some(&[]));
            bench.api.allow_names(&definitions, &["things.example.com"]);
        }
        let (mut one, other) = (bench.registrar("one"), bench.registrar("other"));
        let handle = one.add(Interest::new(definitions.clone()).fields("metadata.name=things.example.com"));
        assert_eq!(changes(until(&mut one, "ready").await), ["apply things.example.com"]);
        let _ = other.add(gvk("NotServed"));
        assert_eq!(during(&mut one, MINUTE).await, Vec::<String>::new());
        assert_eq!(handle.store().len(), 1);
        put("things.example.com");
        assert_eq!(during(&mut one, MINUTE).await, ["apply things.example.com"]);
        assert!(handle.status().unwrap().is_ready());
    }
}

#[tokio::test(start_paused = true)]
async fn a_registrar_that_may_not_watch_all_namespaces_takes_nothing_from_those_that_want_some() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    let put = |name: &str, namespace: &str| {
        bench.api.apply(&gvk("Thing"), thing(name, namespace, "x", "one")).unwrap();
    };
    put("a", "n");
    put("b", "m");
    let restrict = |namespaces: Option<&[&str]>| {
        bench.api.restrict(&gvk("Thing"), namespaces);
        bench.api.interrupt(&gvk("Thing"), None);
    };
    restrict(Some(&["n"]));
    let (mut all, mut some) = (bench.registrar("all"), bench.registrar("some"));
    let _ = all.add(things());
    assert_eq!(changes(until(&mut all, "forbidden list").await), Vec::<String>::new());
    some.add(things().namespaces(["n"])).ready().await.unwrap();
    assert_eq!(changes(until(&mut some, "ready").await), ["apply a"]);
    put("c", "n");
    put("d", "m");
    assert_eq!(changes(during(&mut some, MINUTE).await), ["apply c"]);
    assert_eq!(changes(during(&mut all, MINUTE).await), ["apply a", "apply c"], "what may be known");
    let state = |registrar: &Registrar| registrar.status(&gvk("Thing")).unwrap();
    assert!(state(&some).is_ready() && state(&all).is_stuck() && bench.store("Thing").status().is_stuck());
    assert!(!all.readiness().is_ready(), "a part is not all");
    assert_eq!(bench.api.open_watches(), 1);

    // Granted: one watch of all again, which knows what its predecessors did not.
    restrict(None);
    assert_eq!(changes(until(&mut all, "ready").await), ["apply b", "apply d"]);
    assert_eq!(changes(during(&mut all, MINUTE).await), Vec::<String>::new());
    assert!(all.readiness().is_ready());
    assert_eq!(bench.api.open_watches(), 1);
    bench.api.delete(&gvk("Thing"), Some("n"), "a");
    assert_eq!(changes(during(&mut some, MINUTE).await), ["delete a"]);

    // Revoked, and a change that only the watch of the namespace sees.
    restrict(Some(&["n"]));
    assert_eq!(changes(until(&mut all, "forbidden watch").await), ["delete a"]);
    put("c", "n");
    bench.api.delete(&gvk("Thing"), Some("m"), "d");
    assert_eq!(changes(during(&mut some, MINUTE).await), ["apply c"]);
    assert!(state(&some).is_ready() && state(&all).is_stuck());
    assert_eq!(bench.names("Thing"), ["b", "c", "d"], "a store keeps what it had");
    assert_eq!(changes(during(&mut all, MINUTE).await), ["apply c"]);

    drop(all);
    put("e", "n");
    assert_eq!(changes(during(&mut some, MINUTE).await), ["apply e"]);
    assert_eq!(bench.names("Thing"), ["c", "e"]);
}

fn labelled(app: &str) -> Interest {
    things().labels(Expression::Equal("app".to_owned(), app.to_owned()))
}

fn is_ready(registrar: &Registrar) -> bool {
    registrar.readiness().is_ready() && registrar.status(&gvk("Thing")) == Some(GvkStatus::Ready)
}

/// Looks at the registrar ten times a second.
async fn stays_ready(registrar: &Registrar, time: Duration, what: &str) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        assert!(is_ready(registrar), "{what}: {:?}", registrar.status(&gvk("Thing")));
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_ready_registrar_stays_ready_when_others_join_and_leave() {
    let n = || things().namespaces(["n"]);
    let pairs = [
        ("one namespace, all", n(), things()),
        ("all, one namespace", things(), n()),
        ("one namespace, all by label", n(), labelled("x")),
        ("one namespace by label, all", labelled("x").namespaces(["n"]), things()),
        ("one namespace by label, without", labelled("x").namespaces(["n"]), n()),
        ("a label, another", labelled("x"), labelled("y")),
        ("a label, all", labelled("x"), things()),
        ("metadata, complete", things().metadata_only(), things()),
        ("metadata of one namespace, all", n().metadata_only(), things()),
        ("two namespaces, one", things().namespaces(["n", "m"]), things().namespaces(["m", "o"])),
    ];
    for (what, mine, others) in pairs {
        let bench = Bench::new();
        bench.api.serve(&gvk("Thing"), "things");
        for (name, namespace) in [("a", "n"), ("b", "m")] {
            bench.api.apply(&gvk("Thing"), thing(name, namespace, "x", "one")).unwrap();
        }
        let mut mine_registrar = bench.registrar("mine");
        mine_registrar.add(mine).ready().await.unwrap();
        until(&mut mine_registrar, "ready").await;
        bench.api.set_latency(Duration::from_secs(1));
        let other = bench.registrar("other");
        let handle = other.add(others);
        stays_ready(&mine_registrar, 10 * SECOND, &format!("{what}: joins")).await;
        assert!(handle.store().is_synced() && is_ready(&other), "{what}: {:?}", other.status(&gvk("Thing")));
        drop(other);
        stays_ready(&mine_registrar, 10 * SECOND, &format!("{what}: leaves")).await;
        bench.api.delete(&gvk("Thing"), Some("n"), "a");
        assert_eq!(during(&mut mine_registrar, 5 * SECOND).await, ["delete a"], "{what}: and no news before");
        assert_eq!(bench.api.open_watches(), if what.starts_with("two") { 2 } else { 1 }, "{what}");
    }
}

/// Ready, because what it asked for is followed as before.
#[tokio::test(start_paused = true)]
async fn a_watch_of_all_namespaces_takes_over_from_others_when_it_is_ready() {
    use Fault::{Forbidden, Hang, Status, TooManyRequests, Truncated, Unavailable};
    let faults = [Hang, Status(500), Forbidden, Truncated, Unavailable, TooManyRequests { retry_after: 5 }];
    let both = |fault| [(Verb::List, fault), (Verb::Watch, fault)];
    // Of open watches, too, the server would send half an event.
    let is_meant = |it: &(Verb, Fault)| *it != (Verb::Watch, Truncated);
    for (verb, fault) in faults.into_iter().flat_map(both).filter(is_meant) {
        let bench = Bench::new();
        bench.api.serve(&gvk("Thing"), "things");
        bench.api.apply(&gvk("Thing"), thing("a", "n", "x", "one")).unwrap();
        let (mut some, all) = (bench.registrar("some"), bench.registrar("all"));
        some.add(things().namespaces(["n"])).ready().await.unwrap();
        until(&mut some, "ready").await;
        bench.api.fail_always(&gvk("Thing"), verb, fault);
        let handle = all.add(things());
        for name in ["b", "c"] {
            stays_ready(&some, MINUTE, &format!("{verb} {fault:?}")).await;
            bench.api.apply(&gvk("Thing"), thing(name, "n", "x", "one")).unwrap();
            let said = during(&mut some, SECOND).await;
            assert_eq!(said, [format!("apply {name}")], "{verb} {fault:?}: {:?}", some.status(&gvk("Thing")));
        }
        assert!(!is_ready(&all), "{verb} {fault:?}");
        bench.api.heal(&gvk("Thing"), verb);
        assert_eq!(handle.ready_within(10 * MINUTE).await, Ok(()), "{verb} {fault:?}");
        stays_ready(&some, MINUTE, &format!("{verb} {fault:?} is over")).await;
        assert_eq!(bench.api.open_watches(), 1);
    }
}

/// A copy that is not followed for longer than a deadline is not current.
#[tokio::test(start_paused = true)]
async fn a_list_for_another_that_takes_long_makes_a_registrar_stale_until_it_is_complete() {
    let mut config = crate::bench::config();
    config.page_size = 1;
    let bench = Bench::with(config);
    bench.api.serve(&gvk("Thing"), "things");
    for name in ["a", "b", "c"] {
        bench.api.apply(&gvk("Thing"), thing(name, "n", "x", "one")).unwrap();
    }
    let (mut mine, mut other) = (bench.registrar("mine"), bench.registrar("other"));
    let _ = mine.add(labelled("x"));
    until(&mut mine, "ready").await;
    // Discovery, three pages and the watch take a minute.
    bench.api.set_latency(12 * SECOND);
    let _ = other.add(labelled("y"));
    stays_ready(&mine, 29 * SECOND, "within the deadline").await;
    assert_eq!(during(&mut mine, 3 * SECOND).await, ["stale"]);
    assert!(!is_ready(&other));
    assert_eq!(during(&mut mine, MINUTE).await, ["ready"]);
    assert_eq!(until(&mut other, "ready").await, ["synced", "ready"]);
}

/// A registrar of all namespaces, which are forbidden, has objects from the watch of a namespace beside it. It is the first to
/// notice that the kind is gone, and then takes over from that watch.
#[tokio::test(start_paused = true)]
async fn objects_of_a_withdrawn_kind_go_also_when_the_registrar_of_their_namespace_leaves_first() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    bench.api.apply(&gvk("Thing"), thing("a", "n", "x", "one")).unwrap();
    bench.api.restrict(&gvk("Thing"), Some(&["n"]));
    let (mut all, some) = (bench.registrar("all"), bench.registrar("some"));
    let _ = all.add(things());
    some.add(things().namespaces(["n"])).ready().await.unwrap();
    until(&mut all, "apply a").await;
    // The watch of the namespace is not told that the kind is gone.
    bench.api.fail_always(&gvk("Thing"), Verb::Watch, Fault::Silent);
    bench.api.interrupt(&gvk("Thing"), None);
    tokio::time::sleep(SECOND * 5).await;
    bench.api.unserve(&gvk("Thing"));
    bench.manager.rediscover(&gvk("Thing"));
    tokio::time::sleep(SECOND * 5).await;
    drop(some);
    tokio::time::sleep(10 * MINUTE).await;
    assert!(bench.names("Thing").is_empty(), "{:?}", all.status(&gvk("Thing")));
}

/// Two API servers that disagree on rights: each grant starts a list, each refusal watches of namespaces.
#[tokio::test(start_paused = true)]
async fn access_that_comes_and_goes_all_the_time_is_asked_for_at_a_bounded_rate() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    let (all, some) = (bench.registrar("all"), bench.registrar("some"));
    let _ = all.add(things());
    let _ = some.add(things().namespaces(["n"]));
    let minutes = 10;
    for round in 0..minutes * 60 * 5 {
        bench.api.restrict(&gvk("Thing"), (round % 2 == 0).then_some(&["n"][..]));
        bench.api.interrupt(&gvk("Thing"), None);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let requests = bench.api.calls(&gvk("Thing"), Verb::List) + bench.api.calls(&gvk("Thing"), Verb::Watch);
    let limit = 2 * (20 + minutes * 60);
    assert!(requests <= limit, "{requests} requests in {minutes} minutes");
}

/// An action on the server, or a call of one of two registrars.
#[derive(Debug, Clone)]
enum Act {
    Apply(Value),
    Delete(usize),
    Ask(usize, usize),
    Leave(usize),
    Read(usize),
    /// All open watches of the kind break.
    Break(Option<Fault>),
    /// The next request of the verb fails.
    Fail(Verb, Fault),
    /// Access to these namespaces only, or to all; open watches end.
    Allow(Option<&'static [&'static str]>),
    /// Everything comes to rest.
    Rest,
}

const NAMES: [&str; 3] = ["a", "b", "c"];
/// The interests in metadata.
const METADATA: [usize; 2] = [1, 3];

/// The rights that the client may have.
const ACCESS: [Option<&[&str]>; 4] = [None, None, Some(&["n"]), Some(&["n", "m"])];

/// The test of an object against an interest.
type IsIn = fn(&Value) -> bool;

/// The interests, and which objects each is in.
fn interests() -> Vec<(Interest, IsIn)> {
    let labelled = || labelled("x");
    vec![
        (things(), |_| true),
        (things().metadata_only(), |_| true),
        (things().namespaces(["n"]), |it| it["metadata"]["namespace"] == "n"),
        (things().namespaces(["n", "m"]).metadata_only(), |_| true),
        (labelled(), |it| it["metadata"]["labels"]["app"] == "x"),
        (labelled().namespaces(["m"]), |it| {
            it["metadata"]["labels"]["app"] == "x" && it["metadata"]["namespace"] == "m"
        }),
        (things().fields("spec.node=one"), |it| it["spec"]["node"] == "one"),
        (things().fields("spec.node=two").namespaces(["n"]), |it| {
            it["spec"]["node"] == "two" && it["metadata"]["namespace"] == "n"
        }),
        (things().fields("metadata.name=a"), |it| it["metadata"]["name"] == "a"),
        (labelled().fields("metadata.name=a").namespaces(["m"]), |it| {
            let metadata = &it["metadata"];
            metadata["name"] == "a" && metadata["labels"]["app"] == "x" && metadata["namespace"] == "m"
        }),
    ]
}

/// The namespaces to which an interest needs access; `*` for all of them.
fn namespaces(interest: usize) -> &'static [&'static str] {
    match interest {
        2 | 7 => &["n"],
        3 => &["n", "m"],
        5 => &["m"],
        // A right to the one object, which the client never loses.
        8 | 9 => &[],
        _ => &["*"],
    }
}

fn failures() -> Vec<(Verb, Fault)> {
    vec![
        (Verb::Discover, Fault::Unavailable),
        (Verb::List, Fault::Expired),
        (Verb::List, Fault::Forbidden),
        (Verb::List, Fault::NotFound),
        (Verb::List, Fault::Truncated),
        (Verb::Watch, Fault::NotFound),
        (Verb::Watch, Fault::ExpiredAtOnce),
        (Verb::Watch, Fault::ClosedAfter(1)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let choice = |words: [&'static str; 2]| prop::sample::select(words.to_vec());
    let object = (0..NAMES.len(), choice(["n", "m"]), choice(["x", "y"]), choice(["one", "two"]));
    prop_oneof![
        4 => object.prop_map(|(name, namespace, app, node)| Act::Apply(thing(NAMES[name], namespace, app, node))),
        2 => (0..NAMES.len()).prop_map(Act::Delete),
        4 => (0..2usize, 0..interests().len()).prop_map(|(who, what)| Act::Ask(who, what)),
        1 => (0..2usize).prop_map(Act::Leave),
        2 => (0..2usize).prop_map(Act::Read),
        1 => prop::sample::select(vec![None, Some(Fault::Expired), Some(Fault::Unavailable)]).prop_map(Act::Break),
        1 => prop::sample::select(failures()).prop_map(|(verb, fault)| Act::Fail(verb, fault)),
        2 => prop::sample::select(ACCESS.to_vec()).prop_map(Act::Allow),
        3 => Just(Act::Rest),
    ]
}

/// The requests and deliveries of one registrar.
struct Reader {
    registrar: Registrar,
    interest: Option<usize>,
    held: BTreeMap<String, Value>,
    /// It was ready, and the server has not failed since.
    was_ready: bool,
}

impl Reader {
    fn take(&mut self, event: &WatchEvent) {
        match &event.kind {
            EventKind::Applied(object) => {
                let value = object.to_value().unwrap();
                let (_, is_in) = interests()[self.interest.expect("silence after a removal")];
                let whole = value.get("spec").is_some();
                let asked = METADATA.contains(&self.interest.unwrap());
                assert!(asked || whole, "only metadata of {}", object.key());
                assert!(!whole || is_in(&value), "{} is none of this registrar's", object.key());
                let before = self.held.insert(object.key().to_string(), value.clone());
                let version = |it: &Value| it["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
                let before = before.as_ref().and_then(version);
                assert!(before < version(&value), "{} again, or older than before", object.key());
            }
            EventKind::Deleted(object) => {
                assert!(
                    self.held.remove(&object.key().to_string()).is_some(),
                    "{} was not there",
                    object.key()
                );
            }
            _ => {}
        }
    }

    /// Asserts that who is ready stays so, whatever the other asks for, as long as the server does not fail.
    fn check_readiness(&mut self, troubled: bool) {
        let ready = self.interest.is_some() && is_ready(&self.registrar);
        let status = self.registrar.status(&gvk("Thing"));
        assert!(ready || troubled || !self.was_ready, "interest {:?} was ready: {status:?}", self.interest);
        self.was_ready = ready && !troubled;
    }

    fn drain(&mut self) {
        while let Some(Some(event)) = self.registrar.next().now_or_never() {
            self.take(&event);
        }
    }
}

async fn play(acts: Vec<Act>, linger: bool) {
    let mut config = crate::bench::config();
    config.linger = if linger { MINUTE } else { Duration::ZERO };
    config.refused.max = Duration::from_secs(30);
    let mut access: Option<&[&str]> = None;
    let bench = Bench::with(config);
    bench.api.serve(&gvk("Thing"), "things");
    bench.api.allow_names(&gvk("Thing"), &["a"]);
    let mut server: BTreeMap<&str, Value> = BTreeMap::new();
    let reader = |name| Reader {
        registrar: bench.registrar(name),
        interest: None,
        held: BTreeMap::new(),
        was_ready: false,
    };
    let mut readers = [reader("first"), reader("second")];
    // Requests take time, in which others ask and leave.
    bench.api.set_latency(Duration::from_millis(50));
    let mut troubled = false;
    for act in acts.into_iter().chain([Act::Rest]) {
        troubled |= matches!(act, Act::Break(_) | Act::Fail(..) | Act::Allow(_));
        tokio::time::sleep(Duration::from_millis(if troubled { 0 } else { 20 })).await;
        readers.iter_mut().for_each(|reader| reader.check_readiness(troubled));
        match act {
            Act::Apply(object) => {
                let name = NAMES.into_iter().find(|name| object["metadata"]["name"] == **name).unwrap();
                if let Some(before) = server.insert(name, object.clone())
                    && before["metadata"]["namespace"] != object["metadata"]["namespace"]
                {
                    bench.api.delete(&gvk("Thing"), before["metadata"]["namespace"].as_str(), name);
                }
                bench.api.apply(&gvk("Thing"), object).unwrap();
            }
            Act::Delete(which) => {
                if let Some(object) = server.remove(NAMES[which]) {
                    bench.api.delete(&gvk("Thing"), object["metadata"]["namespace"].as_str(), NAMES[which]);
                }
            }
            Act::Ask(who, what) => {
                let Reader { registrar, interest, held, was_ready } = &mut readers[who];
                if interest.replace(what) != Some(what) {
                    held.clear();
                    *was_ready = false;
                }
                let _ = registrar.add(interests()[what].0.clone());
            }
            Act::Leave(who) => {
                readers[who].registrar.remove(&gvk("Thing"));
                (readers[who].interest, readers[who].held) = (None, BTreeMap::new());
                readers[who].was_ready = false;
            }
            Act::Read(who) => {
                tokio::task::yield_now().await;
                if let Some(Some(event)) = readers[who].registrar.next().now_or_never() {
                    readers[who].take(&event);
                }
            }
            Act::Break(fault) => bench.api.interrupt(&gvk("Thing"), fault),
            Act::Fail(verb, fault) => bench.api.fail_next(&gvk("Thing"), verb, fault),
            Act::Allow(namespaces) => {
                access = namespaces;
                bench.api.restrict(&gvk("Thing"), access);
                bench.api.interrupt(&gvk("Thing"), None);
            }
            Act::Rest => {
                tokio::time::sleep(10 * MINUTE).await;
                for reader in &mut readers {
                    reader.drain();
                    let Some(interest) = reader.interest else { continue };
                    let (_, is_in) = interests()[interest];
                    let needed = namespaces(interest);
                    if access.is_some_and(|allowed| !needed.iter().all(|it| allowed.contains(it))) {
                        continue;
                    }
                    let held: Vec<_> = reader.held.keys().cloned().collect();
                    let key = |(name, it): (&&str, &Value)| {
                        format!("{}/{name}", it["metadata"]["namespace"].as_str().unwrap())
                    };
                    let mut expected: Vec<_> = server.iter().filter(|(_, it)| is_in(it)).map(key).collect();
                    expected.sort();
                    assert_eq!(held, expected, "interest {interest}");
                }
            }
        }
    }
}

/// While nobody asks for the kind, its store is that of a complete list, and who asks again is served at once.
#[tokio::test(start_paused = true)]
async fn a_kind_that_lingers_beside_namespaces_stays_complete() {
    for (all_leaves_first, at_once) in [(true, true), (true, false), (false, true), (false, false)] {
        for refused in [false, true] {
            let mut config = config();
            config.linger = 60 * MINUTE;
            let bench = Bench::with(config);
            bench.api.serve(&gvk("Thing"), "things");
            for (name, namespace) in [("a", "n"), ("b", "m")] {
                bench.api.apply(&gvk("Thing"), thing(name, namespace, "x", "1")).unwrap();
            }
            let (mut some, all) = (bench.registrar("some"), bench.registrar("all"));
            let _ = some.add(things().namespaces(["n"]));
            until(&mut some, "ready").await;
            if refused {
                bench.api.restrict(&gvk("Thing"), Some(&["n"]));
            }
            let store = all.add(things()).store();
            let pause = if at_once { Duration::from_millis(1) } else { MINUTE };
            sleep(pause).await;
            let case = format!("all first: {all_leaves_first}, at once: {at_once}, refused: {refused}");
            let (first, second) = if all_leaves_first { (all, some) } else { (some, all) };
            drop(first);
            sleep(pause).await;
            drop(second);
            bench.api.restrict(&gvk("Thing"), None);
            sleep(20 * MINUTE).await;
            assert!(
                !store.is_closed() && store.is_synced() && store.status().is_ready(),
                "{case}: {store:?}"
            );
            assert_eq!(store.len(), if all_leaves_first { 1 } else { 2 }, "{case}");
            // A registrar that asks for the same again does not wait.
            let lists = bench.api.calls(&gvk("Thing"), Verb::List);
            let (mut again, begun) = (bench.registrar("again"), Instant::now());
            let _ = again.add(if all_leaves_first { things().namespaces(["n"]) } else { things() });
            until(&mut again, "ready").await;
            assert_eq!(
                (begun.elapsed(), bench.api.calls(&gvk("Thing"), Verb::List)),
                (Duration::ZERO, lists),
                "{case}"
            );
            // And so does who asks for a part of it, or for more than it.
            drop(again);
            for interest in [things().namespaces(["m"]), things(), things().namespaces(["n", "m"])] {
                let mut other = bench.registrar("other");
                let _ = other.add(interest.clone());
                until(&mut other, "ready").await;
                assert!(
                    bench.manager.store(&gvk("Thing")).is_some_and(|store| store.is_synced()),
                    "{case}, {interest:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn interests_that_meet_and_part_in_any_order_are_served_each_with_its_own(
        acts in prop::collection::vec(act(), 1..24),
        linger in any::<bool>(),
    ) {
        paused(play(acts, linger));
    }
}
