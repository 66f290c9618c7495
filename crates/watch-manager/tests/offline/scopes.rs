//! Interests in different parts of a kind that meet, change and leave: each registrar sees its own part, in the form that
//! it asked for, and is not told of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use kube::core::Expression;
use proptest::prelude::*;
use serde_json::{Value, json};
use watch_manager::testing::Fault;
use watch_manager::{EventKind, Interest, Registrar, Verb, WatchEvent};

use crate::bench::{Bench, during, gvk, next, until};

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
    let mut said: Vec<_> = said.into_iter().filter(|line| line.contains(' ')).collect();
    said.sort();
    said
}

#[tokio::test(start_paused = true)]
async fn whoever_wants_complete_objects_gets_them_where_metadata_sufficed_before() {
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
async fn field_selectors_that_part_again_delete_nothing_that_was_not_there() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Thing"), "things");
    for (name, node) in [("a", "one"), ("b", "two")] {
        bench.api.apply(&gvk("Thing"), thing(name, "n", "x", node)).unwrap();
    }
    let mut one = bench.registrar("one");
    let _ = one.add(things().fields("spec.node=one"));
    assert_eq!(changes(until(&mut one, "ready").await), ["apply a"]);
    let other = bench.registrar("other");
    other.add(things().fields("spec.node=two")).ready().await.unwrap();
    assert_eq!(bench.names("Thing"), ["a", "b"]);

    drop(other);
    assert_eq!(changes(during(&mut one, MINUTE).await), Vec::<String>::new());
    assert_eq!(bench.names("Thing"), ["a"]);
    bench.api.delete(&gvk("Thing"), Some("n"), "a");
    assert_eq!(next(&mut one).await, "delete a");
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
    /// Everything comes to rest.
    Rest,
}

const NAMES: [&str; 3] = ["a", "b", "c"];
/// The interests in metadata.
const METADATA: [usize; 2] = [1, 3];

/// Whether an object is in an interest.
type IsIn = fn(&Value) -> bool;

/// The interests, and which objects each is in.
fn interests() -> Vec<(Interest, IsIn)> {
    let labelled = || things().labels(Expression::Equal("app".to_owned(), "x".to_owned()));
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
    ]
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
        3 => Just(Act::Rest),
    ]
}

/// What one registrar asks for and was given.
struct Reader {
    registrar: Registrar,
    interest: Option<usize>,
    held: BTreeMap<String, Value>,
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
                let version = |it: &Value| it["metadata"]["resourceVersion"].clone();
                assert_ne!(before.as_ref().map(version), Some(version(&value)), "{} again", object.key());
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

    fn drain(&mut self) {
        while let Some(Some(event)) = self.registrar.next().now_or_never() {
            self.take(&event);
        }
    }
}

async fn play(acts: Vec<Act>, linger: bool) {
    let mut config = crate::bench::config();
    config.linger = if linger { MINUTE } else { Duration::ZERO };
    let bench = Bench::with(config);
    bench.api.serve(&gvk("Thing"), "things");
    let mut server: BTreeMap<&str, Value> = BTreeMap::new();
    let reader = |name| Reader { registrar: bench.registrar(name), interest: None, held: BTreeMap::new() };
    let mut readers = [reader("first"), reader("second")];
    for act in acts.into_iter().chain([Act::Rest]) {
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
                let Reader { registrar, interest, held } = &mut readers[who];
                if interest.replace(what) != Some(what) {
                    held.clear();
                }
                let _ = registrar.add(interests()[what].0.clone());
            }
            Act::Leave(who) => {
                readers[who].registrar.remove(&gvk("Thing"));
                (readers[who].interest, readers[who].held) = (None, BTreeMap::new());
            }
            Act::Read(who) => {
                tokio::task::yield_now().await;
                if let Some(Some(event)) = readers[who].registrar.next().now_or_never() {
                    readers[who].take(&event);
                }
            }
            Act::Break(fault) => bench.api.interrupt(&gvk("Thing"), fault),
            Act::Fail(verb, fault) => bench.api.fail_next(&gvk("Thing"), verb, fault),
            Act::Rest => {
                tokio::time::sleep(10 * MINUTE).await;
                for reader in &mut readers {
                    reader.drain();
                    let Some(interest) = reader.interest else { continue };
                    let (_, is_in) = interests()[interest];
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

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("WATCH_MANAGER_CASES").map_or(300, |text| text.parse().unwrap()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn interests_that_meet_and_part_in_any_order_are_served_each_with_its_own(
        acts in prop::collection::vec(act(), 1..24),
        linger in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(play(acts, linger));
    }
}
