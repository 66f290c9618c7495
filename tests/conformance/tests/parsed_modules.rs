//! `rego.parse_module`: the syntax trees of the policy library, of OPA's published cases and of generated modules, and
//! what damaged copies of them answer, are those of OPA.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeSet;
use std::path::Path;

use conformance::generator::generate;
use conformance::library;
use conformance::ours::Sources;
use conformance::random::Random;
use conformance::{Judge, Verdict, ours, scale};
use rego_compat::{Restrictions, Value};
use serde_json::{Value as Json, json};

const ASKING: &str = "package ask\n\nanswer := rego.parse_module(\"m.rego\", input)\n";

/// Constructs that templates and published cases have seldom or never.
const WRITTEN: &str = include_str!("parsed-modules.txt");

/// Asks both about every text; how many are modules, and the differences.
fn compared(judge: &mut Judge, texts: &[String]) -> (usize, Vec<String>) {
    let sources = Sources { modules: vec![("ask.rego".to_owned(), ASKING.to_owned())], v0: false };
    let program = sources.compile("data.ask.answer", &Restrictions::default()).expect("a program");
    let questions = texts.chunks(100).map(|texts| {
        json!({
            "op": "evals", "modules": sources.to_json(), "v0": false, "query": "data.ask.answer", "inputs": texts,
        })
        .to_string()
    });
    let (mut defined, mut differences) = (0, Vec::new());
    judge
        .ask_all(questions.collect::<Vec<_>>().into_iter(), |position, answer| {
            let answers = answer["answers"].as_array().unwrap_or_else(|| panic!("no answers: {answer}"));
            for (text, answer) in texts.iter().skip(position * 100).zip(answers) {
                let opa = Verdict::of_judge(answer);
                let input = Value::from(text.as_str());
                let ours = ours::evaluate(&program, &input, &Value::new_object(), &ours::patience());
                defined += usize::from(matches!(opa, Verdict::Value(_)));
                if !ours.agrees(&opa) {
                    differences.push(format!("OPA  {opa:?}\nours {ours:?}\n{text}"));
                }
            }
        })
        .expect("answers");
    (defined, differences)
}

fn agree(what: &str, texts: BTreeSet<String>, at_least: usize) {
    let texts: Vec<String> = texts.into_iter().collect();
    let (defined, differences) = compared(&mut Judge::opa().expect("a judge"), &texts);
    println!("{what}: {} texts, {defined} modules, {} differences", texts.len(), differences.len());
    let limit = scale::from_env("CONFORMANCE_SHOWN", 5);
    let shown = differences.iter().take(limit).cloned().collect::<Vec<_>>().join("\n----\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
    assert!(defined >= at_least, "only {defined} of {} texts are modules of Rego v1", texts.len());
}

/// A module of Rego v0 as an author would bring it to v1, if it is simply written.
fn modern(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let begins = line.starts_with(|c: char| c.is_ascii_alphabetic()) || line.starts_with("} else");
        if !begins || line.contains("= {") || line.contains(" if {") {
            return line.to_owned();
        }
        let Some((head, rest)) = line.split_once(" {") else { return line.to_owned() };
        let head = match head.split_once('[').and_then(|(name, key)| Some((name, key.strip_suffix(']')?))) {
            Some((name, key)) if !name.contains(' ') => format!("{name} contains {key}"),
            _ => head.to_owned(),
        };
        format!("{head} if {{{rest}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Copies of a text that lack one of its lines or characters, or have one twice.
fn damaged(text: &str, random: &mut Random) -> Vec<String> {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
    let mut place = || places[random.below(places.len())];
    let mut copies = Vec::new();
    for _ in 0..4 {
        let (one, other) = (place(), place());
        let (begin, end) = (one.min(other), one.max(other));
        let near = places.iter().copied().find(|place| *place > begin).unwrap_or(begin);
        copies.push(format!("{}{}", &text[..begin], &text[near..]));
        copies.push(format!("{}{}", &text[..begin], &text[end..]));
    }
    copies
}

fn with_damaged(texts: Vec<String>) -> BTreeSet<String> {
    let mut random = Random::new(7);
    let copies: Vec<String> = texts.iter().flat_map(|text| damaged(text, &mut random)).collect();
    texts.into_iter().chain(copies).collect()
}

#[test]
fn library_modules_are_parsed_as_in_opa() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
    let library = library::folder().inspect_err(|reason| eprintln!("the examples only: {reason}"));
    let folders = [Some(examples), library.ok().map(|folder| folder.join("library"))];
    let subjects = folders.into_iter().flatten().flat_map(|folder| library::subjects(&folder).unwrap());
    let modules = subjects.flat_map(|subject| subject.sources.modules);
    let texts: Vec<String> = modules.flat_map(|(_, text)| [modern(&text), text]).collect();
    let most = texts.iter().collect::<BTreeSet<_>>().len() / 3;
    agree("library", with_damaged(texts), most);
}

#[test]
fn published_modules_are_parsed_as_in_opa() {
    let mut judge = Judge::opa().expect("a judge");
    let folder = Judge::opa_module().expect("the pinned module").join("v1/test/cases/testdata");
    let mut texts = Vec::new();
    for version in ["v0", "v1"] {
        let question = json!({"op": "cases", "dir": folder.join(version), "v0": version == "v0"});
        let answer = judge.ask(&question).expect("the cases");
        let modules =
            answer["cases"].as_array().into_iter().flatten().flat_map(|case| case["modules"].as_array());
        texts.extend(modules.flatten().filter_map(Json::as_str).map(str::to_owned));
    }
    agree("published", texts.into_iter().collect(), 500);
}

#[test]
fn generated_modules_are_parsed_as_in_opa() {
    let count = scale::from_env("CONFORMANCE_PARSED", 600);
    let texts = (1..=count as u64).flat_map(|seed| generate(seed, 0).sources.modules).map(|(_, text)| text);
    agree("generated", with_damaged(texts.collect()), count / 4);
}

#[test]
fn written_modules_are_parsed_as_in_opa() {
    let texts: BTreeSet<String> =
        WRITTEN.split("\n====\n").map(|text| format!("package a\n{text}")).collect();
    let most = texts.len() / 2;
    agree("written", texts, most);
}
