//! The templates of the policy library and of `examples/policies`: every sample and many damaged copies of
//! it, evaluated by OPA and by us.
//!
//! Where there is no policy library its tests count as ignored, under a name that says what to set.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::path::Path;
use std::process::ExitCode;

use conformance::library::{self, Subject};
use conformance::mutation::mutated;
use conformance::random::Random;
use conformance::{Judge, Verdict, ours, scale};
use libtest_mimic::{Arguments, Failed, Trial};
use rego_compat::Restrictions;
use rego_compat::Value;
use serde_json::{Value as Json, json};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
    let mut trials = vec![Trial::test("examples_policies_answer_as_in_opa", move || compare(&examples))];
    trials.push(match library::folder() {
        Ok(folder) => {
            Trial::test("library_templates_answer_as_in_opa", move || compare(&folder.join("library")))
        }
        Err(reason) => {
            eprintln!("library_templates_answer_as_in_opa is ignored: {reason}");
            let name = format!("library_templates_answer_as_in_opa (set {})", library::VARIABLE);
            Trial::test(name, || Ok(())).with_ignored_flag(true)
        }
    });
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn compare(folder: &Path) -> Result<(), Failed> {
    let subjects = library::subjects(folder)?;
    let mutations = scale::from_env("CONFORMANCE_MUTATIONS", 100);
    let mut judge = Judge::opa().map_err(|error| Failed::from(error.to_string()))?;
    let (mut evaluated, mut differences) = (0_usize, Vec::new());
    for subject in &subjects {
        for case in &subject.cases {
            let mut random = Random::new(seed_of(&case.name));
            let mut inputs = vec![case.input.clone()];
            inputs.extend((0..mutations).map(|_| mutated(&case.input, &mut random)));
            evaluated += inputs.len();
            differences.extend(differences_of(&mut judge, subject, &case.data, &inputs)?);
        }
    }
    println!("{} templates, {evaluated} evaluations, {} differences", subjects.len(), differences.len());
    let shown = differences.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    if evaluated == 0 {
        return Err(format!("{} has no suite with Rego in it", folder.display()).into());
    }
    if differences.is_empty() {
        Ok(())
    } else {
        Err(format!("{} differences:\n{shown}", differences.len()).into())
    }
}

/// A seed that does not depend on the order of the folders.
fn seed_of(name: &str) -> u64 {
    name.bytes().fold(17, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn differences_of(
    judge: &mut Judge,
    subject: &Subject,
    data: &Json,
    inputs: &[Json],
) -> Result<Vec<String>, Failed> {
    let question = json!({
        "op": "evals", "modules": subject.sources.to_json(), "v0": subject.sources.v0, "query": subject.query,
        "data": data, "inputs": inputs,
    });
    let answer = judge.ask(&question).map_err(|error| Failed::from(error.to_string()))?;
    let compiled = subject.sources.compile(&subject.query, &Restrictions::default());
    let Some(answers) = answer["answers"].as_array() else {
        let opa = Verdict::of_judge(&answer);
        let refused = compiled.err();
        let agreed = refused.as_ref().is_some_and(|ours| ours.agrees(&opa));
        return Ok(if agreed {
            vec![]
        } else {
            vec![format!("{}: OPA {opa:?}, ours {refused:?}", subject.name)]
        });
    };
    let program = match compiled {
        Ok(program) => program,
        Err(refused) => {
            return Ok(vec![format!("{}: OPA compiles it, ours {refused:?}", subject.name)]);
        }
    };
    let data = Value::from_json_str(&data.to_string()).map_err(|error| error.to_string())?;
    let mut differences = Vec::new();
    for (input, answer) in inputs.iter().zip(answers) {
        let opa = Verdict::of_judge(answer);
        let value = Value::from_json_str(&input.to_string()).map_err(|error| error.to_string())?;
        let ours = ours::evaluate(&program, &value, &data, &ours::patience());
        if !ours.agrees(&opa) {
            differences.push(format!("{}: OPA {opa:?}\n  ours {ours:?}\n  input {input}", subject.name));
        }
    }
    Ok(differences)
}
