//! Modules that a grammar writes: OPA and we evaluate them on the same inputs.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use conformance::generator::{Generated, generate};
use conformance::{Judge, Verdict, ours, scale};
use rego_compat::Restrictions;
use rego_compat::Value;
use serde_json::{Value as Json, json};

/// Modules asked about at once, which bounds what is held in memory.
const BATCH: usize = 500;

/// Modules asked about every day.
const EVERYDAY: usize = 20_000;

#[derive(Default)]
struct Tally {
    refused: usize,
    defined: usize,
    /// Evaluations that end with a conflict, and those of them that tell of it as OPA does. Which of several conflicts is
    /// told depends on what is run first.
    conflicts: usize,
    told_alike: usize,
    differences: Vec<String>,
}

#[test]
fn generated_modules_answer_as_in_opa() {
    let count = scale::from_env("CONFORMANCE_MODULES", EVERYDAY);
    let first = scale::from_env("CONFORMANCE_SEED", 1);
    let mut judge = Judge::opa().expect("a judge");
    let mut tally = Tally::default();
    for start in (0..count).step_by(BATCH) {
        let seeds = (start..count.min(start + BATCH)).map(|offset| (first + offset) as u64);
        let modules: Vec<(u64, Generated)> = seeds.map(|seed| (seed, generate(seed, 3))).collect();
        let questions = modules.iter().map(|(_, module)| question(module));
        judge
            .ask_all(questions, |position, answer| {
                let (seed, module) = &modules[position];
                if let Err(difference) = compare(module, &answer, &mut tally) {
                    let text = &module.sources.modules[0].1;
                    tally
                        .differences
                        .push(format!("seed {seed}, v0 {}: {difference}\n{text}", module.sources.v0));
                }
            })
            .expect("answers");
    }
    println!(
        "{count} modules, {} refused, {} defined answers, {} of {} conflicts told alike, {} differences",
        tally.refused,
        tally.defined,
        tally.told_alike,
        tally.conflicts,
        tally.differences.len()
    );
    assert!(
        tally.told_alike * 100 >= tally.conflicts * 95,
        "{} of {} conflicts are told alike",
        tally.told_alike,
        tally.conflicts
    );
    // A generator whose modules hardly compile asks nothing.
    assert!(tally.refused * 2 < count, "OPA refuses {} of {count} modules", tally.refused);
    assert!(
        tally.differences.is_empty(),
        "{} differences:\n{}",
        tally.differences.len(),
        shown(&tally.differences)
    );
}

fn shown(differences: &[String]) -> String {
    let limit = scale::from_env("CONFORMANCE_SHOWN", 10);
    differences.iter().take(limit).map(String::as_str).collect::<Vec<_>>().join("\n----\n")
}

fn question(module: &Generated) -> String {
    json!({
        "op": "evals", "modules": module.sources.to_json(), "v0": module.sources.v0, "query": module.query,
        "inputs": module.inputs,
    })
    .to_string()
}

fn compare(module: &Generated, answer: &Json, tally: &mut Tally) -> Result<(), String> {
    let compiled = module.sources.compile(module.query, &Restrictions::default());
    let Some(answers) = answer["answers"].as_array() else {
        tally.refused += 1;
        let opa = Verdict::of_judge(answer);
        return match compiled {
            Err(ours) if ours.agrees(&opa) => Ok(()),
            Err(ours) => Err(format!("OPA {opa:?}, ours {ours:?}")),
            Ok(_) => Err(format!("OPA {opa:?}, ours compiles it")),
        };
    };
    let program = compiled.map_err(|refused| format!("OPA compiles it, ours {refused:?}"))?;
    for (input, answer) in module.inputs.iter().zip(answers) {
        let opa = Verdict::of_judge(answer);
        let value = Value::from_json_str(&input.to_string()).map_err(|error| error.to_string())?;
        tally.defined += usize::from(matches!(opa, Verdict::Value(_)));
        let ours = ours::evaluate(&program, &value, &Value::new_object(), &ours::patience());
        if let Some(alike) = ours.same_conflict(&opa) {
            tally.conflicts += 1;
            tally.told_alike += usize::from(alike);
        }
        if !ours.agrees(&opa) {
            return Err(format!("OPA {opa:?}\n  ours {ours:?}\n  input {input}"));
        }
    }
    Ok(())
}
