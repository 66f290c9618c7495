//! Every deterministic builtin function on random arguments, compared with OPA's.
//!
//! `divergent.txt` lists the functions that may still differ, with a reason each; like `unclaimed.txt` it may
//! only shrink.

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

use conformance::argument::settled;
use conformance::calls::{Function, calls, functions};
use conformance::ours::{Sources, evaluate};
use conformance::{Judge, Verdict, scale, tagged};
use rego_compat::Value;
use rego_compat::{Budget, Program, Restrictions};
use serde_json::{Value as Json, json};

const DIVERGENT: &str = include_str!("divergent.txt");

/// Our side of one function: a module that calls it.
fn called(function: &Function) -> Result<Program, Verdict> {
    let operands: Vec<String> = (0..function.types.len()).map(|index| format!("input[{index}]")).collect();
    let text = format!("package b\n\np = {}\n", function.call(&operands));
    let sources = Sources { modules: vec![("b.rego".to_owned(), text)], v0: true };
    sources.compile("data.b.p", &Restrictions::default())
}

/// A module that calls a function with constants.
fn constant(function: &Function, operands: &[Json]) -> Sources {
    let operands: Vec<String> = operands.iter().map(|one| tagged::term(one).expect("a term")).collect();
    let text = format!("package b\n\np := {}\n", function.call(&operands));
    Sources { modules: vec![("b.rego".to_owned(), text)], v0: false }
}

/// OPA checks the types of constants when it compiles; arguments from the input have no type there.
#[test]
fn calls_with_constants_are_refused_as_in_opa() {
    let count = scale::from_env("CONFORMANCE_CONSTANTS", 30);
    let mut judge = Judge::opa().expect("a judge");
    let of = |function: &Function| -> Vec<Sources> {
        calls(function, count).iter().map(|operands| constant(function, operands)).collect()
    };
    let asked: Vec<Sources> = functions(&mut judge).expect("the functions").iter().flat_map(of).collect();
    let question = |sources: &Sources| {
        json!({"op": "evals", "modules": sources.to_json(), "v0": false, "query": "data.b.p", "inputs": []})
            .to_string()
    };
    let (mut refused, mut differences) = (0, Vec::new());
    let hear = |position: usize, said: Json| {
        let sources: &Sources = &asked[position];
        let is_refused = said.get("answers").is_none();
        refused += usize::from(is_refused);
        let ours = sources.compile("data.b.p", &Restrictions::default()).err();
        if ours.is_some() != is_refused {
            differences.push(format!("{}OPA {said}\nours {ours:?}", sources.modules[0].1));
        }
    };
    judge.ask_all(asked.iter().map(question).collect::<Vec<_>>().into_iter(), hear).expect("answers");
    println!("{} calls, {refused} refused, {} differences", asked.len(), differences.len());
    let shown: Vec<_> = differences.iter().take(10).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), asked.len(), shown.join("\n"));
    assert!(refused * 10 > asked.len(), "only {refused} of {} calls are refused", asked.len());
}

fn asked_of_us(program: &Program, args: &[Value]) -> Verdict {
    let input = Value::from(args.to_vec());
    let call = || evaluate(program, &input, &Value::new_object(), &Budget::default());
    let panicked = |_| Verdict::Failed("panicked".to_owned());
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_or_else(panicked) {
        // What would take more memory than there is is an answer to neither side.
        Verdict::Failed(reason) if reason.contains("budget") => Verdict::Undefined,
        verdict => verdict,
    }
}

#[test]
fn builtins_answer_as_in_opa() {
    let calls_each = scale::from_env("CONFORMANCE_CALLS", 300);
    let only = std::env::var("CONFORMANCE_BUILTIN").unwrap_or_default();
    let mut judge = Judge::opa().expect("a judge");
    let divergent: BTreeMap<&str, &str> = DIVERGENT
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(" -- ").unwrap_or_else(|| panic!("no reason in divergent.txt: {line}")))
        .collect();
    let (mut complaints, mut agreeing) = (Vec::new(), 0);
    for function in functions(&mut judge)
        .expect("the functions")
        .iter()
        .filter(|function| function.name.starts_with(&only))
    {
        let differences = differences(&mut judge, function, calls_each);
        match (differences.first(), divergent.contains_key(function.name.as_str())) {
            (None, false) => agreeing += 1,
            (Some(_), true) => {}
            (None, true) if !only.is_empty() || calls_each < 300 => {}
            (None, true) => {
                complaints.push(format!("{} agrees: remove it from divergent.txt", function.name))
            }
            (Some(_), false) => {
                let shown: Vec<String> = differences.iter().take(6).cloned().collect();
                complaints.push(format!(
                    "{}: {} of {calls_each} differ\n{}",
                    function.name,
                    differences.len(),
                    shown.join("\n")
                ));
            }
        }
    }
    println!("{agreeing} functions agree, {} may differ", divergent.len());
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

fn differences(judge: &mut Judge, function: &Function, calls_each: usize) -> Vec<String> {
    let asked = calls(function, calls_each);
    let questions =
        asked.iter().map(|args| json!({"op": "call", "name": function.name, "args": args}).to_string());
    let program = called(function);
    let mut differences = Vec::new();
    judge
        .ask_all(questions, |position, answer| {
            // An error of a builtin function is undefined to a policy that is not evaluated strictly.
            let opa = match Verdict::of_judge(&answer) {
                Verdict::Failed(_) | Verdict::Refused(_) => Verdict::Undefined,
                other => other,
            };
            let args: Vec<Value> = asked[position].iter().map(|arg| tagged::read(arg).unwrap()).collect();
            let ours = program.as_ref().map_or_else(Clone::clone, |program| asked_of_us(program, &args));
            let opa = settled(&function.name, opa);
            if !settled(&function.name, ours.clone()).agrees(&opa) {
                let said = answer["error"]["message"].as_str().unwrap_or("");
                let args: Vec<String> = args.iter().map(ToString::to_string).collect();
                differences
                    .push(format!("  ({})\n    OPA  {opa:?} {said}\n    ours {ours:?}", args.join(", ")));
            }
        })
        .expect("answers");
    differences
}
