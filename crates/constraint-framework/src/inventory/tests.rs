//! The reduced inventory against the full one, and snapshots against inventories made afresh.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rego_compat::{Budget, EvalError, Module, Program, RegoVersion, Restrictions, compile};
use serde_json::{Value, json};

use super::*;

fn document(value: &Value) -> Document {
    Document::from_value(value).unwrap()
}

fn path(segments: &[&str]) -> Vec<String> {
    segments.iter().map(|segment| (*segment).to_owned()).collect()
}

fn named(name: &str) -> Document {
    document(&json!({"metadata": {"name": name}}))
}

fn json(value: &RegoValue) -> Value {
    serde_json::from_str(&value.to_json_str()).unwrap()
}

fn program(rules: &str) -> Program {
    let text = format!("package t\n{rules}");
    let module =
        Module::parse("t.rego", &text, RegoVersion::V0).unwrap_or_else(|why| panic!("{why}\n{text}"));
    compile(&[module], "data.t.violation", &Restrictions::default())
        .unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn answer(
    program: &Program,
    inventory: &RegoValue,
    input: &RegoValue,
) -> Result<Option<RegoValue>, EvalError> {
    let data = RegoValue::from(BTreeMap::from([(RegoValue::from("inventory"), inventory.clone())]));
    program.evaluate(input, &data, &Budget::default())
}

fn rego(value: &Value) -> RegoValue {
    RegoValue::from_json_str(&value.to_string()).unwrap()
}

fn ingress(namespace: &str, name: &str, host: &str) -> (Vec<String>, Document) {
    let object = json!({"metadata": {"name": name}, "spec": {"rules": [{"host": host}]}});
    (path(&["namespace", namespace, "networking.k8s.io/v1", "Ingress", name]), document(&object))
}

const UNIQUE_HOST: &str = r#"violation[{"msg": other.metadata.name}] {
    host := input.host
    other := data.inventory.namespace[_][version]["Ingress"][_]
    startswith(version, "networking")
    other.spec.rules[_].host == host
}"#;

#[test]
fn objects_lie_where_policies_look_for_them() {
    let mut inventory = Inventory::default();
    inventory.put(path(&["namespace", "a", "v1", "Pod", "x"]), &named("x"));
    inventory.put(path(&["namespace", "a", "v1", "Pod", "y"]), &named("y"));
    inventory.put(path(&["cluster", "v1", "Namespace", "a"]), &named("a"));
    let tree = json(&inventory.whole().unwrap());
    assert_eq!(tree["namespace"]["a"]["v1"]["Pod"]["y"]["metadata"]["name"], "y");
    assert_eq!(tree["cluster"]["v1"]["Namespace"]["a"]["metadata"]["name"], "a");
    assert_eq!(inventory.get(&path(&["cluster", "v1", "Namespace", "a"])).unwrap().name(), "a");
    assert_eq!(inventory.get(&path(&["cluster", "v1", "Namespace"])), None);
}

#[test]
fn a_changed_object_outdates_those_with_its_old_and_its_new_value_alone() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    let mut older = Inventory::default();
    let (place, one) = ingress("a", "x", "one");
    older.put(place.clone(), &one);
    let mut newer = older.clone();
    newer.put(place, &ingress("a", "x", "two").1);
    let Dependents::Keyed(changed) = newer.dependents(&older, &reads) else { panic!("it is found by index") };
    for (host, outdated) in [("one", true), ("two", true), ("three", false)] {
        let keys = reads.keys(&rego(&json!({"host": host})));
        assert_eq!(keys.iter().any(|key| changed.contains(key)), outdated, "{host}");
    }
}

#[test]
fn a_join_shows_the_objects_that_are_equal_and_parses_no_other() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    assert!(reads.whole().is_empty());
    let mut inventory = Inventory::default();
    for (place, object) in [ingress("a", "x", "one"), ingress("b", "y", "two"), ingress("b", "z", "three")] {
        inventory.put(place, &object);
    }
    inventory.serve([&reads].into_iter());
    let shown = json(&inventory.select(&reads, &rego(&json!({"host": "two"}))).unwrap());
    let object = json!({"metadata": {"name": "y"}, "spec": {"rules": [{"host": "two"}]}});
    assert_eq!(shown, json!({"namespace": {"b": {"networking.k8s.io/v1": {"Ingress": {"y": object}}}}}));
    inventory.root.objects(&mut Vec::new(), &mut |path, object| assert!(!object.is_kept(), "{path:?}"));
}

/// A policy that is shown less is silent, so that a place that the index has and the tree has not is an error.
#[test]
fn an_object_that_only_the_index_has_is_an_error_and_not_left_out() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    let mut inventory = Inventory::default();
    let (place, object) = ingress("a", "x", "one");
    inventory.put(place.clone(), &object);
    inventory.serve([&reads].into_iter());
    let segments: Vec<Arc<str>> = place.iter().map(|segment| Arc::from(segment.as_str())).collect();
    let mut hidden = inventory.clone();
    let below = [segments.clone(), vec!["below".into()]].concat();
    hidden.root.put(&below, Arc::new(Stored::new("{}")));
    inventory.root.remove(&segments);
    let input = rego(&json!({"host": "one"}));
    let error = inventory.select(&reads, &input).unwrap_err();
    assert_eq!(error.path(), segments);
    assert!(error.to_string().contains("internal error"), "{error}");
    // What lies below an object hides it.
    assert_eq!(json(&hidden.select(&reads, &input).unwrap()), json!({}));
}

/// The worked example of `select`.
#[test]
fn a_policy_is_shown_what_it_compares_and_a_change_outdates_the_old_and_the_new_value() {
    let joined = program(UNIQUE_HOST);
    let counting = program(
        "violation[{\"msg\": \"many\"}] { count([1 | data.inventory.namespace[_][_][\"Ingress\"][_]]) > 1 }",
    );
    let [joined, counting] = [&joined, &counting].map(|program| Reads::of(program).unwrap());
    let mut older = Inventory::default();
    older.serve([&joined, &counting].into_iter());
    for (place, object) in [ingress("a", "x", "one"), ingress("b", "y", "two")] {
        older.put(place, &object);
    }
    older.put(path(&["namespace", "b", "v1", "Service", "y"]), &named("y"));
    let names = |inventory: &Inventory, reads: &Reads, host: &str| {
        let shown = json(&inventory.select(reads, &rego(&json!({"host": host}))).unwrap());
        let namespaces = shown["namespace"].as_object().cloned().unwrap_or_default();
        let ingresses = namespaces.values().map(|kinds| {
            assert_eq!(kinds.as_object().unwrap().keys().collect::<Vec<_>>(), ["networking.k8s.io/v1"]);
            kinds["networking.k8s.io/v1"]["Ingress"].as_object().unwrap().keys().cloned().collect::<String>()
        });
        ingresses.collect::<Vec<_>>()
    };
    assert_eq!(names(&older, &joined, "two"), ["y"]);
    assert_eq!(names(&older, &counting, "two"), ["x", "y"]);
    let mut newer = older.clone();
    let (place, object) = ingress("b", "y", "one");
    newer.put(place, &object);
    assert!(names(&newer, &joined, "two").is_empty());
    assert_eq!(names(&newer, &joined, "one"), ["x", "y"]);
    let Dependents::Keyed(outdated) = newer.dependents(&older, &joined) else { panic!("found by index") };
    let is_outdated =
        |host| joined.keys(&rego(&json!({"host": host}))).iter().any(|key| outdated.contains(key));
    assert_eq!(["one", "two", "three"].map(is_outdated), [true, true, false]);
    assert_eq!(newer.dependents(&older, &counting), Dependents::All);
}

const UNIQUE_SELECTOR: &str = r#"violation[{"msg": name}] {
    other := data.inventory.namespace[_][_]["Service"][name]
    flat(other) == flat(input)
}
flat(service) = text { text := concat(",", sort([s | s := concat(":", [key, service.spec[key]])])) }"#;

#[test]
fn what_a_function_gives_for_an_object_is_indexed() {
    let program = program(UNIQUE_SELECTOR);
    let reads = Reads::of(&program).unwrap();
    assert!(reads.whole().is_empty());
    let mut inventory = Inventory::default();
    inventory.serve([&reads].into_iter());
    let input = rego(&json!({"spec": {"a": "1", "b": "2"}}));
    for (name, spec) in
        [("equal", json!({"b": "2", "a": "1"})), ("other", json!({"a": "1"})), ("failing", json!({"a": 1}))]
    {
        let object = document(&json!({"metadata": {"name": name}, "spec": spec}));
        inventory.put(path(&["namespace", "a", "v1", "Service", name]), &object);
    }
    let shown = json(&inventory.select(&reads, &input).unwrap());
    let shown: Vec<_> = shown["namespace"]["a"]["v1"]["Service"].as_object().unwrap().keys().collect();
    assert_eq!(shown, ["equal"]);
}

#[test]
fn a_function_that_fails_for_an_object_fails_the_review_as_without_an_index() {
    let program = program(
        "violation[x] { x := data.inventory.cluster[_].P[_]; torn(x) == torn(input) }\ntorn(o) = 1 { o.h }\ntorn(o) = 2 { o.h == 1 }",
    );
    let reads = Reads::of(&program).unwrap();
    let mut inventory = Inventory::default();
    inventory.serve([&reads].into_iter());
    inventory.put(path(&["cluster", "v1", "P", "x"]), &document(&json!({"h": 1})));
    for h in [2, 1] {
        let input = rego(&json!({"h": h}));
        assert!(answer(&program, &inventory.select(&reads, &input).unwrap(), &input).is_err(), "{h}");
    }
}

#[test]
fn an_object_that_changes_is_found_by_its_new_value_only() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    let mut inventory = Inventory::default();
    inventory.serve([&reads].into_iter());
    let found = |inventory: &Inventory, host: &str| {
        !json(&inventory.select(&reads, &rego(&json!({"host": host}))).unwrap())
            .as_object()
            .unwrap()
            .is_empty()
    };
    let (place, object) = ingress("a", "x", "one");
    inventory.put(place.clone(), &object);
    let before = inventory.clone();
    inventory.put(place.clone(), &ingress("a", "x", "two").1);
    assert!(found(&before, "one") && !found(&before, "two"));
    assert!(!found(&inventory, "one") && found(&inventory, "two"));
    assert_eq!(inventory.len(), 1);
    inventory.remove(&place);
    inventory.remove(&place);
    assert!(!found(&inventory, "two") && inventory.is_empty());
}

/// The index may hold an object under values that the object does not have when it is removed: a place that stayed behind would
/// fail each review that finds it.
#[test]
fn an_object_that_is_gone_is_in_no_index_whatever_it_was_put_under() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    let (place, object) = ingress("a", "x", "one");
    let unreadable = format!("{{\"spec\": {}{}}}", "[".repeat(600), "]".repeat(600));
    let other = ingress("a", "x", "two").1.body().text().to_owned();
    let at: Path = place.iter().map(|segment| Arc::from(segment.as_str())).collect();
    // Put under no value, so that each look-up finds it; under another value; under a value that is not known any more.
    for (indexed, removed) in [(&unreadable, None), (&other, None), (&other, Some(&unreadable))] {
        let mut inventory = Inventory::default();
        inventory.serve([&reads].into_iter());
        let removed =
            removed.map_or_else(|| object.clone(), |text| Document::from_json_string(text.clone()).unwrap());
        inventory.put(place.clone(), &removed);
        for (key, index) in &mut inventory.joins {
            index.remove(key, &at, &Stored::new(removed.body().text()));
            index.put(key, &at, &Stored::new(indexed));
        }
        inventory.remove(&place);
        for host in ["one", "two", "three"] {
            let shown = inventory.select(&reads, &rego(&json!({"host": host})));
            assert_eq!(json(&shown.unwrap()), json!({}), "{indexed:.20} {host}");
        }
    }
}

#[test]
fn a_change_of_one_kind_leaves_the_others_as_they_were_parsed() {
    let program = program("violation[x] { x := data.inventory.namespace[_].v1.Pod[_].metadata.name }");
    let reads = Reads::of(&program).unwrap();
    let mut inventory = Inventory::default();
    inventory.serve([&reads].into_iter());
    for name in ["x", "y"] {
        inventory.put(path(&["namespace", "a", "v1", "Pod", name]), &named(name));
    }
    let kept = |inventory: &Inventory| {
        let mut kept = 0;
        inventory.root.objects(&mut Vec::new(), &mut |_, object| kept += usize::from(object.is_kept()));
        kept
    };
    let shown = json(&inventory.select(&reads, &RegoValue::Null).unwrap());
    assert_eq!(shown["namespace"]["a"]["v1"]["Pod"].as_object().unwrap().len(), 2);
    assert_eq!(kept(&inventory), 2);
    inventory.put(path(&["namespace", "a", "v1", "Service", "s"]), &named("s"));
    inventory.put(path(&["namespace", "a", "v1", "Pod", "y"]), &named("z"));
    assert_eq!(kept(&inventory), 1);
    let shown = json(&inventory.select(&reads, &RegoValue::Null).unwrap());
    assert_eq!(shown["namespace"]["a"]["v1"]["Pod"]["y"]["metadata"]["name"], "z");
    assert!(shown["namespace"]["a"]["v1"].get("Service").is_none());
}

// === generated policies, objects and inputs ===

fn word(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words)
}

/// A body that reads the inventory and gives `x`.
fn body() -> impl Strategy<Value = String> {
    let before = word(&[
        "ns := input.ns; h := input.h",
        "ns := input.nss[_]; h := input.hs[_]",
        "ns := input.nss[_]; h := input.hs[_].deep",
        "ns := concat(\"\", [\"a\"]); h := 1; c := [1 | ns == input.ns]; count(c) < 2",
    ]);
    let access = word(&[
        "x := data.inventory.namespace[_][_][\"P\"][_]",
        "x := data.inventory.namespace[ns][_][\"P\"][_]",
        "x := data.inventory.namespace[ns][\"v1\"][_][name]; name == input.name",
        "x := data.inventory.namespace[ns].v1.Q[input.name]",
        "x := data.inventory.cluster[_].P[_]",
        "x := data.inventory.namespace[ns]",
        "x := data.inventory.namespace[_].v1.P",
        "x := data.inventory.namespace[_].v1[_][_].spec",
        "x := data.inventory.namespace[_].v1[_][_].spec.hs[_]",
        "x := data.inventory[_][_][_][_]",
        "some v; x := data.inventory.namespace[ns][v].P[_]; v == input.v",
    ]);
    let condition = word(&[
        "true",
        "x.spec.h == h",
        "x.spec.h == input.h",
        "input.hs[_] == x.spec.hs[_]",
        "[y] = [x.spec]; y.hs[_] == h",
        "x.spec.h == h; x.metadata.ns == ns",
        "x == h",
        "x.h == h",
        "x[_].spec.h == h",
        "not x.spec.h == h",
        "x.spec.h != h",
        "count([1 | x.spec.h == h]) == 0",
        "alike(x, input)",
        "x.spec.hs == input.hs",
        "{z | z := x.spec.hs[_]; z == h} == set()",
        "made(x.spec) == made(input)",
        "m := deep(x); m == made(input)",
        "not made(x.spec) == made(input)",
        "word(x.spec) == h",
        "same(x.spec.hs[_]) == same(input.hs[_])",
        "n := same(input); same(x.spec).h == n.h",
        "seen(x.spec) == seen(input)",
        "loosely(x.spec) == loosely(input)",
        "torn(x.spec) == torn(input)",
        "torn(x.spec) == input.h",
    ]);
    (before, access, condition.clone(), condition).prop_map(|(before, access, first, second)| {
        // A variable is assigned once.
        let second = if first == second { "true" } else { second };
        format!("{before}; {access}; {first}; {second}")
    })
}

/// Rules around bodies: as they are, denied, counted, in functions, under another input, with other functions or rules.
fn rules() -> impl Strategy<Value = String> {
    let around = word(&[
        "violation[x] { BODY }",
        "found[x] { BODY }\nviolation[\"none\"] { count(found) == 0 }\nviolation[x] { found[x] }",
        "violation[n] { n := count([x | BODY]) }",
        "violation[\"none\"] { not found }\nfound { BODY }",
        "violation[x] { x := found[_] with input.h as 2 with input.ns as \"b\" }\nfound[x] { BODY }",
        "violation[x] { x := found[_] with data.inventory.cluster as {} }\nfound[x] { BODY }",
        "violation[x] { x := found[_] with made as one with same as one }\nfound[x] { BODY }",
        "violation[x] { x := found[_] with is_string as one with sprintf as two }\nfound[x] { BODY }",
        "violation[x] { x := found[_] with loose as true }\nfound[x] { BODY }",
        "violation[x] { x := f(1)[_] }\nf(_) = {x | BODY}",
        "violation[\"every\"] { count({x | BODY}) == count({x | OTHER}) }",
        "violation[x] { BODY }\nviolation[x] { OTHER }",
        "violation[d] { all := data.inventory.namespace[k]; d := {k: count(all)}; BODY }",
    ]);
    (around, body(), body()).prop_map(|(around, body, other)| {
        let rules = around.replace("BODY", &body).replace("OTHER", &other);
        format!("{rules}\n{FUNCTIONS}")
    })
}

/// Of one argument and of two; one that calls another, one without a value for most, one that reads the input, one that
/// fails for 1, one that uses a rule, and two that stand in for others.
const FUNCTIONS: &str = r#"
    alike(a, b) { a.spec.h == b.h }
    made(o) = text { text := sprintf("%v", [o.h]) }
    deep(o) = made(o.spec)
    word(o) = o.h { is_string(o.h) }
    same(v) = v
    seen(o) = [o.h, input.name]
    torn(o) = 1 { o.h == 1 }
    torn(o) = 2 { o.h }
    loosely(o) = o.h { not loose }
    loosely(_) = 1 { loose }
    loose = false
    one(_) = 1
    two(_, _) = 2
"#;

fn scalar() -> impl Strategy<Value = Value> {
    let all =
        vec![json!(1), json!(1.0), json!(2), json!("1"), json!("a"), json!(null), json!(true), json!([1])];
    prop::sample::select(all)
}

fn place() -> impl Strategy<Value = Vec<String>> {
    let name = word(&["n", "m"]);
    (word(&["a", "b", ""]), word(&["v1", "x/v1"]), word(&["P", "Q"]), name).prop_map(
        |(namespace, version, kind, name)| match namespace {
            "" => path(&["cluster", version, kind, name]),
            namespace => path(&["namespace", namespace, version, kind, name]),
        },
    )
}

fn object() -> impl Strategy<Value = Document> {
    let hosts = prop::collection::vec(scalar(), 0..3);
    let spec =
        (prop::option::of(scalar()), prop::option::of(hosts)).prop_map(|(h, hs)| json!({"h": h, "hs": hs}));
    (spec, word(&["a", "b"])).prop_map(|(spec, ns)| document(&json!({"metadata": {"ns": ns}, "spec": spec})))
}

fn input() -> impl Strategy<Value = Value> {
    let lists = (prop::collection::vec(scalar(), 0..3), prop::collection::vec(word(&["a", "b", "c"]), 0..3));
    let words = (word(&["a", "b"]), word(&["n", "m"]), word(&["v1", "x/v1"]));
    (scalar(), lists, words).prop_map(
        |(h, (hs, nss), (ns, name, v))| json!({"h": h, "hs": hs, "nss": nss, "ns": ns, "name": name, "v": v}),
    )
}

#[derive(Clone, Debug)]
enum Event {
    Put(Vec<String>, Document),
    Remove(Vec<String>),
    /// A reader takes a snapshot and keeps it.
    Look,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (place(), object()).prop_map(|(place, object)| Event::Put(place, object)),
        1 => place().prop_map(Event::Remove),
        1 => Just(Event::Look),
    ];
    prop::collection::vec(event, 0..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_policy_answers_alike_on_the_reduced_and_on_the_full_inventory(
        rules in rules(), events in events(), input in input(), served_at in 0_usize..16
    ) {
        let program = program(&rules);
        let input = rego(&input);
        let reads = Reads::of(&program);
        let mut inventory = Inventory::default();
        let mut objects = BTreeMap::new();
        let mut snapshots = Vec::new();
        for (position, event) in events.iter().enumerate() {
            if position == served_at {
                inventory.serve(reads.iter());
            }
            match event {
                Event::Put(place, object) => {
                    inventory.put(place.clone(), object);
                    objects.insert(place.clone(), object.clone());
                }
                Event::Remove(place) => {
                    inventory.remove(place);
                    objects.remove(place);
                }
                Event::Look => {
                    let shown = reads.as_ref().map(|reads| inventory.select(reads, &input).unwrap());
                    snapshots.push((inventory.clone(), shown));
                }
            }
        }
        let mut afresh = Inventory::default();
        objects.iter().for_each(|(place, object)| afresh.put(place.clone(), object));
        prop_assert_eq!(inventory.len(), objects.len());
        prop_assert_eq!(inventory.whole().unwrap(), afresh.whole().unwrap());
        for (snapshot, shown) in snapshots {
            prop_assert_eq!(reads.as_ref().map(|reads| snapshot.select(reads, &input).unwrap()), shown);
        }
        let Some(reads) = reads else { return Ok(()) };
        let reduced = inventory.select(&reads, &input).unwrap();
        let (small, full) = (answer(&program, &reduced, &input), answer(&program, &inventory.whole().unwrap(), &input));
        // What fails on an object that no equation selects, is not asked about it.
        if full.is_ok() {
            prop_assert_eq!(small, full, "{}\n{:?}\nreduced {}", rules, program.analysis().accesses(), reduced);
        }
        // An index that grew with the objects is the one that is made of them.
        inventory.serve([&reads].into_iter());
        afresh.serve([&reads].into_iter());
        prop_assert_eq!(inventory.select(&reads, &input).unwrap(), afresh.select(&reads, &input).unwrap());
    }

    #[test]
    fn an_answer_that_a_change_alters_is_among_those_that_it_makes_outdated(
        rules in rules(), events in events(), input in input()
    ) {
        let program = program(&rules);
        let Some(reads) = Reads::of(&program) else { return Ok(()) };
        let input = rego(&input);
        let keys: BTreeSet<_> = reads.keys(&input).into_iter().collect();
        let mut older = Inventory::default();
        older.serve([&reads].into_iter());
        for batch in events.chunks(2) {
            let mut inventory = older.clone();
            for event in batch {
                match event {
                    Event::Put(place, object) => inventory.put(place.clone(), object),
                    Event::Remove(place) => inventory.remove(place),
                    Event::Look => {}
                }
            }
            let outdated = match inventory.dependents(&older, &reads) {
                Dependents::All => true,
                Dependents::Keyed(changed) => !changed.is_disjoint(&keys),
            };
            let [before, after] = [&older, &inventory].map(|inventory| {
                answer(&program, &inventory.select(&reads, &input).unwrap(), &input)
            });
            let is_same = before == after || before.is_err() && after.is_err();
            prop_assert!(is_same || outdated, "{:?} became {:?}", before, after);
            // What fails for an object that no equation selects, is an error beside the whole inventory alone.
            let all = [&older, &inventory].map(|inventory| answer(&program, &inventory.whole().unwrap(), &input));
            if let [Ok(before), Ok(after)] = all {
                prop_assert!(before == after || outdated, "{:?} became {:?}", before, after);
            }
            prop_assert!(inventory.dependents(&inventory, &reads).is_empty());
            older = inventory;
        }
    }

    #[test]
    fn what_was_added_and_removed_was_never_there(events in events(), place in place(), object in object()) {
        let mut inventory = Inventory::default();
        for event in &events {
            if let Event::Put(place, object) = event {
                inventory.put(place.clone(), object);
            }
        }
        inventory.remove(&place);
        let before = inventory.clone();
        inventory.put(place.clone(), &object);
        inventory.remove(&place);
        prop_assert_eq!(inventory.whole().unwrap(), before.whole().unwrap());
        prop_assert_eq!(inventory.len(), before.len());
    }
}

#[test]
fn an_object_that_cannot_be_read_is_an_error_to_those_who_would_read_it() {
    let deep =
        format!("{{\"metadata\": {{\"name\": \"x\"}}, \"spec\": {}{}}}", "[".repeat(600), "]".repeat(600));
    let deep = Document::from_json_string(deep).unwrap();
    let narrow = program("violation[{\"msg\": \"m\"}] { data.inventory.namespace[input.ns].v1.Service[_] }");
    let wide = program("violation[{\"msg\": \"m\"}] { data.inventory.namespace[_].v1.Service[_] }");
    let joined = program(UNIQUE_HOST);
    let readers = [&narrow, &wide, &joined].map(|program| Reads::of(program).unwrap());
    let named = |inventory: &Inventory, namespace: &str| {
        let input = rego(&json!({"ns": namespace, "host": "a"}));
        readers.each_ref().map(|reads| {
            let error = inventory.select(reads, &input).err();
            // Whatever the input is, more is read.
            assert!(error.is_none() || inventory.read_by(reads).is_err() && inventory.whole().is_err());
            error.map(|error| error.path().join("/"))
        })
    };
    let service = || Some("namespace/a/v1/Service/x".to_owned());
    let ingress = || Some("namespace/a/networking.k8s.io/v1/Ingress/x".to_owned());
    let [at_service, at_ingress] = [
        &["namespace", "a", "v1", "Service", "x"],
        &["namespace", "a", "networking.k8s.io/v1", "Ingress", "x"],
    ]
    .map(|segments| path(segments));
    for served in [true, false] {
        let mut inventory = Inventory::default();
        if served {
            inventory.serve(readers.iter());
        }
        inventory.put(at_service.clone(), &deep);
        let before = inventory.clone();
        // The second time, the failure is the one that was kept.
        for _ in 0..2 {
            assert_eq!(named(&inventory, "a"), [service(), service(), None]);
            assert_eq!(named(&inventory, "b"), [None, service(), None]);
        }
        inventory.put(at_ingress.clone(), &deep);
        inventory.put(at_service.clone(), &self::named("x"));
        assert_eq!(named(&inventory, "a"), [None, None, ingress()]);
        inventory.remove(&at_ingress);
        assert_eq!(named(&inventory, "a"), [None, None, None]);
        assert_eq!(named(&before, "a"), [service(), service(), None]);
    }
}

#[test]
fn an_object_that_cannot_be_read_outdates_all_verdicts_that_would_read_it() {
    let program = program(UNIQUE_HOST);
    let reads = Reads::of(&program).unwrap();
    let deep =
        Document::from_json_string(format!("{{\"spec\": {}{}}}", "[".repeat(600), "]".repeat(600))).unwrap();
    let (place, readable) = ingress("a", "x", "one");
    let mut older = Inventory::default();
    older.put(place.clone(), &readable);
    let mut newer = older.clone();
    newer.put(place, &deep);
    assert_eq!(newer.dependents(&older, &reads), Dependents::All);
    assert_eq!(older.dependents(&newer, &reads), Dependents::All);
}
