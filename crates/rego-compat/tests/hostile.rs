//! Policies made to hang, exhaust or crash are refused or stopped within their budget, and do not affect others.
//!
//! `cargo run --release -p rego-compat --example hostile` measures what each costs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test says no by panicking"
)]
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test says no by panicking")]
#![allow(unreachable_pub, reason = "modules of a test are not visible outside")]

#[path = "hostile/templates.rs"]
mod templates;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rego_compat::{Budget, EvalError, Limit, Module, Program, RegoVersion, Restrictions, Value, compile};
use templates::{Fate, Hostile};

/// Seconds without any progress after which the process is ended: a hang is a failure, not a wait.
const WATCHDOG: u32 = 300;

/// Counts what got done, for the watchdog.
static PROGRESS: AtomicU64 = AtomicU64::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);

fn watch() {
    if WATCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    std::thread::spawn(|| {
        let (mut seen, mut idle) = (0, 0);
        while idle < WATCHDOG {
            std::thread::park_timeout(Duration::from_secs(1));
            let now = PROGRESS.load(Ordering::Relaxed);
            idle = if now == seen { idle + 1 } else { 0 };
            seen = now;
        }
        eprintln!("nothing got done in {WATCHDOG} s");
        std::process::abort();
    });
}

/// Small enough to be over soon in a debug build, too.
fn budget() -> Budget {
    Budget::default().with_instructions(1_000_000).with_memory(32 << 20).with_time(Duration::from_secs(20))
}

fn compiled(text: &str) -> Result<Program, rego_compat::Diagnostics> {
    let module = Module::parse("hostile.rego", text, RegoVersion::V0)?;
    compile(&[module], "data.t.p", &Restrictions::default())
}

fn fate(hostile: &Hostile) -> (Fate, String) {
    let program = match compiled(&hostile.text) {
        Ok(program) => program,
        Err(diagnostics) => return (Fate::Refused, diagnostics.iter().next().unwrap().to_string()),
    };
    let input = Value::from_json_str(r#"{"a": 1}"#).unwrap();
    match program.evaluate(&input, &Value::new_object(), &budget()) {
        Ok(value) => (Fate::Answered, format!("{}", value.is_some())),
        Err(error @ EvalError::Budget(_)) => (Fate::Stopped, error.to_string()),
        Err(error) => (Fate::Ends, error.to_string()),
    }
}

#[test]
fn hostile_policies_are_refused_or_stopped() {
    watch();
    let mut wrong = Vec::new();
    for hostile in templates::all() {
        let (got, why) = fate(&hostile);
        PROGRESS.fetch_add(1, Ordering::Relaxed);
        if hostile.fate != Fate::Ends && got != hostile.fate {
            wrong.push(format!("{}: wanted {:?}, got {got:?}: {why:.100}", hostile.name, hostile.fate));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_unique() {
    let all = templates::all();
    let names: BTreeSet<&str> = all.iter().map(|hostile| hostile.name).collect();
    assert_eq!(names.len(), all.len());
}

const PEACEFUL: &str = "package t
p[{\"msg\": msg}] {
    container := input.spec.containers[_]
    not startswith(container.image, \"registry.example.com/\")
    msg := sprintf(\"container <%v> has image <%v>\", [container.name, container.image])
}";

fn pod(images: usize) -> Value {
    let containers: Vec<String> =
        (0..images).map(|n| format!("{{\"name\": \"c{n}\", \"image\": \"docker.io/i{n}\"}}")).collect();
    Value::from_json_str(&format!("{{\"spec\": {{\"containers\": [{}]}}}}", containers.join(","))).unwrap()
}

#[test]
fn others_get_their_answers_meanwhile() {
    watch();
    let program = compiled(PEACEFUL).unwrap();
    let input = pod(20);
    let alone = program.evaluate(&input, &Value::new_object(), &Budget::default()).unwrap();
    let hostile: Vec<Hostile> =
        templates::all().into_iter().filter(|hostile| hostile.fate == Fate::Stopped).step_by(3).collect();
    let done = AtomicBool::new(false);
    let mut answers = 0u32;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let hostile = &hostile;
                scope.spawn(move || {
                    for hostile in hostile.iter().skip(worker).step_by(2) {
                        fate(hostile);
                        PROGRESS.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) || answers == 0 {
            let budget = Budget::default().with_time(Duration::from_secs(600));
            let beside = program.evaluate(&input, &Value::new_object(), &budget).unwrap();
            assert_eq!(beside, alone);
            answers += 1;
        }
    });
}

#[test]
fn the_same_steps_are_counted_each_time() {
    let program = compiled("package t\np { a := numbers.range(1, 200); a[_] + a[_] == 0 - 1 }").unwrap();
    let ends = |instructions: u64| {
        let budget = Budget::default().with_instructions(instructions).with_time(Duration::from_secs(600));
        program.evaluate(&Value::Null, &Value::new_object(), &budget)
    };
    let (mut short, mut enough) = (0u64, 2_000_000u64);
    assert_eq!(ends(enough), Ok(None));
    while enough - short > 1 {
        let middle = u64::midpoint(short, enough);
        if ends(middle).is_ok() { enough = middle } else { short = middle }
    }
    assert_eq!(ends(short), Err(EvalError::Budget(Limit::Instructions)));
    assert_eq!(ends(enough), Ok(None));
    assert!(enough > 40_000, "40,000 pairs take at least as many steps, not {enough}");
}

#[test]
fn deep_documents_do_not_end_the_process() {
    let mut deep = Value::Null;
    for _ in 0..2_000 {
        deep = Value::from(vec![deep]);
    }
    for body in [
        "p { walk(input, [_, \"x\"]) }",
        "p { input == [input] }",
        "p = x { x := json.marshal(input) }",
        "p = x { x := sprintf(\"%v\", [input]) }",
        "p = x { x := {input} }",
        "p = x { x := {input: 1} }",
        "p = x { x := [input] }",
        "p = x { x := sort([input, [input]]) }",
        "p = x { x := input }",
        "p { input[_][_][_][_][_][_] == 1 }",
    ] {
        let program = compiled(&format!("package t\n{body}")).unwrap();
        let answer = program.evaluate(&deep, &Value::new_object(), &budget());
        assert!(matches!(answer, Ok(None) | Err(EvalError::Budget(_))), "{body}: {answer:?}");
    }
}
