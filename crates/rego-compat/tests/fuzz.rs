//! A fuzz test that what the checks accept ends: with a value, undefined, or a typed error, whatever the input, and
//! nothing panics.
//!
//! `REGO_FUZZ_CASES` says how many cases to run, `REGO_FUZZ_SEED` with which to start, `REGO_FUZZ_SECONDS` for how long to
//! go on instead. A failure prints its seed; `REGO_FUZZ_LAST` names a file that holds the seed at work, for failures that
//! end the process. A case that does not end is ended by a watchdog, which aborts.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says no by panicking"
)]
#![allow(clippy::arithmetic_side_effects, reason = "seeds and counts stay small")]
#![allow(unreachable_pub, reason = "modules of a test are not visible outside")]

#[path = "fuzz/generate.rs"]
mod generate;
#[path = "fuzz/language.rs"]
mod language;
#[path = "hostile/templates.rs"]
#[expect(dead_code, reason = "only the texts are wanted here")]
mod templates;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use generate::Random;
use rego_compat::{Budget, EvalError, Module, Program, RegoVersion, Restrictions, Value, compile};
use serde_json::Value as Json;

/// Seconds after which a case counts as one that never ends. A case takes some milliseconds.
const WATCHDOG: u64 = 120;

/// Seeds of cases that failed once.
const REGRESSIONS: [u64; 3] = [1_556_541, 900_086_529, 2_000_308_471];

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn what_the_checks_accept_ends() {
    let corpus = corpus();
    let start = setting("REGO_FUZZ_SEED").unwrap_or(0);
    let seconds = setting("REGO_FUZZ_SECONDS").map(Duration::from_secs);
    let most = setting("REGO_FUZZ_CASES").unwrap_or(if seconds.is_some() { u64::MAX } else { 1_500 });
    let last = std::env::var_os("REGO_FUZZ_LAST").map(PathBuf::from);
    let since = Instant::now();
    watch();
    let mut tally = Tally::default();
    while tally.cases < most && seconds.is_none_or(|seconds| since.elapsed() < seconds) {
        let seed = start + tally.cases;
        if let Some(file) = &last {
            std::fs::write(file, seed.to_string()).unwrap();
        }
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(|| case(seed, &corpus));
        let outcome =
            outcome.unwrap_or_else(|_| panic!("seed {seed} fails: run again with REGO_FUZZ_SEED={seed}"));
        tally.count(seed, outcome, begun.elapsed());
        if tally.cases % 100_000 == 0 {
            println!("{tally:?}, {} s", since.elapsed().as_secs());
        }
    }
    println!(
        "from seed {start} in {} s over {} templates: {tally:?}",
        since.elapsed().as_secs(),
        corpus.len()
    );
    assert!(tally.cases < 500 || tally.answered > 0, "no module had an answer");
}

#[test]
fn what_failed_once_does_not_fail_again() {
    let corpus = corpus();
    for seed in REGRESSIONS {
        case(seed, &corpus);
    }
}

/// The progress of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unreadable,
    Refused,
    Stopped,
    Failed,
    Answered,
}

#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    unreadable: u64,
    refused: u64,
    stopped: u64,
    failed: u64,
    answered: u64,
    slowest_ms: u128,
    slowest_seed: u64,
}

impl Tally {
    fn count(&mut self, seed: u64, outcome: Outcome, took: Duration) {
        self.cases += 1;
        *match outcome {
            Outcome::Unreadable => &mut self.unreadable,
            Outcome::Refused => &mut self.refused,
            Outcome::Stopped => &mut self.stopped,
            Outcome::Failed => &mut self.failed,
            Outcome::Answered => &mut self.answered,
        } += 1;
        if took.as_millis() > self.slowest_ms {
            (self.slowest_ms, self.slowest_seed) = (took.as_millis(), seed);
        }
        if took.as_secs() >= 1 {
            println!("seed {seed} took {} ms", took.as_millis());
        }
    }
}

/// The case at work since the watchdog looked last.
static AT_WORK: AtomicU64 = AtomicU64::new(u64::MAX);

/// Aborts the process when one case takes too long: nothing else can end a case that hangs.
fn watch() {
    std::thread::spawn(|| {
        let mut seen = (u64::MAX, Instant::now());
        loop {
            std::thread::park_timeout(Duration::from_secs(1));
            let seed = AT_WORK.load(Ordering::Relaxed);
            if seed != seen.0 {
                seen = (seed, Instant::now());
            } else if seed != u64::MAX && seen.1.elapsed().as_secs() > WATCHDOG {
                eprintln!("seed {seed} does not end: run again with REGO_FUZZ_SEED={seed}");
                std::process::abort();
            }
        }
    });
}

fn case(seed: u64, corpus: &[String]) -> Outcome {
    AT_WORK.store(seed, Ordering::Relaxed);
    let r = &mut Random::new(seed);
    let (text, v1) = source(r, corpus);
    let version = if v1 { RegoVersion::V1 } else { RegoVersion::V0 };
    let outcome = judge(r, &text, version);
    AT_WORK.store(u64::MAX, Ordering::Relaxed);
    outcome
}

fn source(r: &mut Random, corpus: &[String]) -> (String, bool) {
    match r.below(20) {
        0..=12 => generate::module(r),
        13 | 14 => {
            let (text, v1) = generate::module(r);
            (generate::damaged(r, &text), v1)
        }
        15..=18 if !corpus.is_empty() => {
            let text = r.pick(corpus).clone();
            (generate::damaged(r, &text), r.chance(10))
        }
        _ => (generate::noise(r), r.chance(50)),
    }
}

fn judge(r: &mut Random, text: &str, version: RegoVersion) -> Outcome {
    let module = match Module::parse("fuzz.rego", text, version) {
        Ok(module) => module,
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty() && !diagnostics.to_string().is_empty());
            return Outcome::Unreadable;
        }
    };
    let package = module.package().join(".");
    let name = module.rule_names().next().map(str::to_owned);
    let query = match name {
        Some(name) if r.chance(70) => format!("data.{package}.{name}"),
        _ => format!("data.{package}"),
    };
    let restrictions = Restrictions::default().with_external_functions(["external_data"]);
    let program = match compile(&[module], &query, &restrictions) {
        Ok(program) => program,
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty() && diagnostics.iter().all(|diagnostic| diagnostic.line > 0));
            return Outcome::Refused;
        }
    };
    if r.chance(30) && program.analysis().is_deterministic() {
        reads_only_what_it_says(r, &program);
    }
    (0..3).map(|_| evaluate(r, &program)).last().unwrap_or(Outcome::Refused)
}

/// Asserts that what a program does not read, by its own account, does not change its answer.
fn reads_only_what_it_says(r: &mut Random, program: &Program) {
    let document =
        |r: &mut Random| -> Json { serde_json::from_str(&generate::json(r, 4)).unwrap_or(Json::Null) };
    let (input, data) = (document(r), document(r));
    let value = |json: &Json| Value::from_json_str(&json.to_string()).unwrap();
    let budget = Budget::default().with_time(Duration::from_secs(1)).with_instructions(1_000_000);
    let whole = program.evaluate(&value(&input), &value(&data), &budget);
    let (input_paths, data_paths) = (program.analysis().input_paths(), program.analysis().data_paths());
    let (less_input, less_data) = (reduced(&input, input_paths), reduced(&data, data_paths));
    let part = program.evaluate(&value(&less_input), &value(&less_data), &budget);
    if let (Ok(whole), Ok(part)) = (&whole, &part) {
        assert_eq!(whole, part, "{input} and {data} reduced to {input_paths:?} and {data_paths:?}");
    }
}

/// A document without what is under none of the paths.
fn reduced<P: AsRef<[String]>>(document: &Json, paths: &[P]) -> Json {
    let Json::Object(fields) = document else { return document.clone() };
    if paths.iter().any(|path| path.as_ref().is_empty()) {
        return document.clone();
    }
    let kept = fields.iter().filter_map(|(name, field)| {
        let below: Vec<&[String]> = paths
            .iter()
            .filter_map(|path| path.as_ref().split_first().filter(|(first, _)| *first == name))
            .map(|(_, rest)| rest)
            .collect();
        (!below.is_empty()).then(|| (name.clone(), reduced(field, &below)))
    });
    Json::Object(kept.collect())
}

fn evaluate(r: &mut Random, program: &Program) -> Outcome {
    let document = |r: &mut Random| Value::from_json_str(&generate::json(r, 4)).unwrap_or(Value::Null);
    let (input, data) = (document(r), document(r));
    let budget = Budget::default()
        .with_time(Duration::from_millis(100))
        .with_instructions(*r.pick(&[100, 10_000, 1_000_000]))
        .with_memory(*r.pick(&[1 << 12, 1 << 20, 1 << 26]))
        .with_output(1 << 20);
    let once = program.evaluate(&input, &data, &budget);
    match &once {
        Ok(None) => Outcome::Answered,
        Ok(Some(value)) => {
            // A value whose keys are not strings has no JSON, which its `Display` says with an error.
            let mut text = String::new();
            let _ = write!(text, "{value}");
            if program.analysis().is_deterministic() {
                let again = program.evaluate(&input, &data, &budget);
                let timed_out = matches!(again, Err(EvalError::Budget(_)));
                assert!(timed_out || again == once, "two evaluations differ: {once:?} {again:?}");
            }
            Outcome::Answered
        }
        Err(EvalError::Budget(_)) => Outcome::Stopped,
        Err(EvalError::Internal(message)) => panic!("{message}"),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Outcome::Failed
        }
    }
}

/// Templates to damage: those of the policy library where there is one (`GATEKEEPER_LIBRARY`), and the hostile ones.
fn corpus() -> Vec<String> {
    let folder = std::env::var_os("GATEKEEPER_LIBRARY").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("without templates of the policy library: GATEKEEPER_LIBRARY names no clone of it");
    }
    let mut found = Vec::new();
    folder.iter().for_each(|folder| read_templates(&folder.join("library"), &mut found));
    found.extend(templates::all().into_iter().map(|hostile| hostile.text).filter(|text| text.len() < 4_000));
    found
}

fn read_templates(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_templates(&path, found);
        } else if path.file_name().is_some_and(|name| name == "template.yaml") {
            found.extend(blocks(&std::fs::read_to_string(&path).unwrap_or_default()));
        }
    }
}

/// The literal blocks of a YAML document that are Rego: those that begin with `package`.
fn blocks(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_end().ends_with('|')) {
        let inner =
            lines[at + 1..].iter().take_while(|next| next.trim().is_empty() || indent(next) > indent(line));
        let block: String = inner.map(|next| format!("{}\n", next.trim_start_matches(' '))).collect();
        if block.trim_start().starts_with("package") {
            found.push(block);
        }
    }
    found
}
