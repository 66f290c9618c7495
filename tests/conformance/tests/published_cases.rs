//! OPA's published conformance cases, read from the pinned Go module and judged by OPA itself.
//!
//! `unclaimed.txt` lists what we do not claim, with a reason each. A case in it that agrees fails the test,
//! as does a claimed one that differs: the list may only shrink.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeMap;

use conformance::ours::{Sources, evaluate};
use conformance::{Judge, Verdict, tagged};
use rego_compat::Value;
use rego_compat::{Budget, Restrictions};
use serde_json::{Map, Value as Json, json};

const UNCLAIMED: &str = include_str!("unclaimed.txt");
const QUERY: &str = "data.conformance__.answers";

struct Case {
    name: String,
    sources: Sources,
    question: Json,
    input: Option<Value>,
    data: Value,
}

/// The names of `unclaimed.txt` with their reasons. A name that ends in `*` stands for all that start so.
fn unclaimed() -> BTreeMap<&'static str, &'static str> {
    let lines = UNCLAIMED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(" -- ").unwrap_or_else(|| panic!("no reason in unclaimed.txt: {line}")))
        .collect()
}

fn cases_of(judge: &mut Judge, version: &str) -> Vec<Case> {
    let folder = Judge::opa_module().expect("the pinned module").join("v1/test/cases/testdata").join(version);
    let v0 = version == "v0";
    let answer = judge.ask(&json!({"op": "cases", "dir": folder, "v0": v0})).expect("the cases");
    let list = answer["cases"].as_array().unwrap_or_else(|| panic!("no cases: {answer}"));
    let mut seen = BTreeMap::new();
    list.iter()
        .filter(|case| case["skip"].is_null())
        .map(|case| read_case(case, version, &mut seen))
        .collect()
}

/// Two cases of one name are told apart by a number.
fn read_case(case: &Json, version: &str, seen: &mut BTreeMap<String, usize>) -> Case {
    let mut name = format!("{version}/{}", case["note"].as_str().unwrap_or_default());
    let times = seen.entry(name.clone()).or_insert(0);
    *times += 1;
    if *times > 1 {
        name = format!("{name}#{times}");
    }
    let texts = case["modules"].as_array().into_iter().flatten().chain([&case["query"]]);
    let modules = texts
        .enumerate()
        .map(|(i, text)| (format!("m{i:02}.rego"), text.as_str().unwrap_or_default().to_owned()));
    let sources = Sources { modules: modules.collect(), v0: version == "v0" };
    let mut question = json!({"op": "eval", "modules": sources.to_json(), "v0": sources.v0, "query": QUERY});
    for field in ["input", "input_term", "data"] {
        if !case[field].is_null() {
            question[field] = case[field].clone();
        }
    }
    let plain = |json: &Json| Value::from_json_str(&json.to_string()).unwrap();
    let input = match case.get("input_value") {
        Some(value) => tagged::read(value),
        None => case.get("input").map(plain),
    };
    let data = case.get("data").map_or_else(Value::new_object, plain);
    Case { name, sources, question, input, data }
}

/// Our side. A panic of the engine is an answer that never agrees.
fn ours(case: &Case) -> Verdict {
    let answer = std::panic::catch_unwind(|| match case.sources.compile(QUERY, &Restrictions::default()) {
        Ok(program) => evaluate(
            &program,
            case.input.as_ref().unwrap_or(&Value::Undefined),
            &case.data,
            &Budget::default(),
        ),
        Err(refused) => refused,
    });
    answer.unwrap_or_else(|_| Verdict::Value(Value::from("panicked")))
}

#[test]
fn published_cases_answer_as_in_opa() {
    let mut judge = Judge::opa().expect("a judge");
    let unclaimed = unclaimed();
    let mut excused: BTreeMap<&str, usize> = unclaimed.keys().map(|name| (*name, 0)).collect();
    let (mut claimed, mut complaints, mut report) = (0, Vec::new(), Map::new());
    for version in ["v0", "v1"] {
        let cases = cases_of(&mut judge, version);
        let questions = cases.iter().map(|case| case.question.to_string());
        judge
            .ask_all(questions, |position, answer| {
                let case = &cases[position];
                let (opa, ours) = (Verdict::of_judge(&answer), ours(case));
                let entry = unclaimed.keys().find(|entry| covers(entry, &case.name));
                let agreed = ours.agrees(&opa) && ours.same_conflict(&opa) != Some(false);
                match (entry, agreed) {
                    (None, true) => claimed += 1,
                    (None, false) => {
                        report.insert(
                            case.name.clone(),
                            json!([format!("{opa:?}"), format!("{ours:?}"), case.question]),
                        );
                        complaints.push(format!("{}: OPA {opa:?}\n  ours {ours:?}", case.name));
                    }
                    (Some(entry), false) => *excused.get_mut(entry).unwrap() += 1,
                    (Some(entry), true) if entry.ends_with('*') => {}
                    (Some(_), true) => {
                        complaints.push(format!("{} agrees: remove it from unclaimed.txt", case.name))
                    }
                }
            })
            .expect("answers");
    }
    let idle = excused.iter().filter(|(_, times)| **times == 0).map(|(name, _)| name);
    complaints.extend(idle.map(|name| format!("{name} covers no difference: remove it from unclaimed.txt")));
    println!("{claimed} cases agree, {} are not claimed", excused.values().sum::<usize>());
    if let Ok(path) = std::env::var("CONFORMANCE_REPORT") {
        std::fs::write(path, Json::Object(report).to_string()).unwrap();
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

fn covers(entry: &str, name: &str) -> bool {
    entry.strip_suffix('*').map_or(entry == name, |prefix| name.starts_with(prefix))
}
