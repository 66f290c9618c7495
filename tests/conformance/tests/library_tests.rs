//! The public library's own unit tests in Rego, with the virtual machine's verdicts: what a test asks a policy under
//! `with input as …` is asked of the policy's program on that back end, and the test judges the answer.
//!
//! Under the interpreter they run as they stand, in the tests of `webtroller rego test`. Where there is no checkout of
//! the library the test counts as ignored, under a name that says what to set.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use conformance::library;
use libtest_mimic::{Arguments, Failed, Trial};
use regex::Regex;
use rego_compat::{
    Backend, Budget, EvalError, Externals, Module, Program, RegoVersion, Rules, Silent, Suite, Value, compile,
};

/// The function that asks the machine; its argument names the rule, the input and the data.
const ASK: &str = "ask_machine";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sources = library::folder().map(|folder| folder.join("src")).ok().filter(|sources| sources.is_dir());
    let trial = match sources {
        Some(sources) => Trial::test("library_tests_pass_with_the_machines_answers", move || all(&sources)),
        None => {
            let name = format!(
                "library_tests_pass_with_the_machines_answers (set {} to a checkout)",
                library::VARIABLE
            );
            Trial::test(name, || Ok(())).with_ignored_flag(true)
        }
    };
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

fn all(sources: &Path) -> Result<(), Failed> {
    let mut folders = Vec::new();
    find(sources, &mut folders);
    let (mut tests, mut asked, mut failed) = (0, 0, Vec::new());
    for folder in &folders {
        let ran = run(folder);
        tests += ran.tests;
        asked += ran.asked;
        failed.extend(ran.failed.into_iter().map(|name| format!("{}: {name}", folder.display())));
    }
    println!(
        "{} folders, {tests} tests, {asked} questions to the machine, {} failed",
        folders.len(),
        failed.len()
    );
    if failed.is_empty() && tests > 900 && asked > 900 {
        return Ok(());
    }
    Err(failed.join("\n").into())
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, found);
        } else if path.file_name().is_some_and(|name| name == "src_test.rego") {
            found.push(folder.to_owned());
        }
    }
}

struct Ran {
    tests: usize,
    asked: usize,
    failed: Vec<String>,
}

fn run(folder: &Path) -> Ran {
    let (mut policy, mut tests) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".rego") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if name.ends_with("_test.rego") {
            tests.push(Module::parse(name, &asking(&text), RegoVersion::V0).unwrap());
        } else {
            policy.push(Module::parse(name, &text, RegoVersion::V0).unwrap());
        }
    }
    let machines =
        Machines { policy: policy.clone(), programs: RefCell::default(), asked: RefCell::default() };
    policy.extend(tests);
    let suite = Suite::compile(&policy, &Rules::default().with_external_functions([ASK])).unwrap();
    let fails = |test| match suite.run(test, &Value::new_object(), &Budget::default(), &machines) {
        Ok(outcome) if outcome.passed => None,
        outcome => Some(format!("{} {outcome:?}", test.name)),
    };
    let failed = suite.tests().iter().filter_map(fails).collect();
    Ran { tests: suite.tests().len(), asked: *machines.asked.borrow(), failed }
}

/// A test file whose questions to the policy go to the machine. No `with` is left.
fn asking(text: &str) -> String {
    let package = Regex::new(r"(?m)^package (\S+)").unwrap().captures(text).unwrap()[1].to_owned();
    let question = Regex::new(r"(\w+) with input as (\w+)( with data\.inventory as (\w+))?").unwrap();
    let text = question.replace_all(text, |found: &regex::Captures<'_>| {
        let data = found
            .get(4)
            .map_or_else(|| "{}".to_owned(), |data| format!("{{\"inventory\": {}}}", data.as_str()));
        format!(
            "{ASK}({{\"rule\": \"data.{package}.{}\", \"input\": {}, \"data\": {data}}})",
            &found[1], &found[2]
        )
    });
    assert!(
        !text.contains(" with input") && !text.contains(" with data"),
        "a question in another form: {text}"
    );
    text.into_owned()
}

/// A policy's rules as programs of the machine.
struct Machines {
    policy: Vec<Module>,
    programs: RefCell<HashMap<String, Program>>,
    asked: RefCell<usize>,
}

impl Machines {
    fn program(&self, rule: &str) -> Program {
        let mut programs = self.programs.borrow_mut();
        let made = programs.entry(rule.to_owned()).or_insert_with(|| {
            let program = compile(&self.policy, rule, &Rules::default()).unwrap();
            program.with_backend(Backend::Rvm).unwrap()
        });
        made.clone()
    }
}

impl Externals for Machines {
    fn call(&self, function: &str, question: &Value) -> Result<Option<Value>, EvalError> {
        assert_eq!(function, ASK);
        *self.asked.borrow_mut() += 1;
        let Value::Object(question) = question else { panic!("asked {question:?}") };
        let part = |name: &str| question.get(&name.into()).unwrap();
        let Value::String(rule) = part("rule") else { panic!("asked for no rule: {question:?}") };
        let program = self.program(rule);
        program.evaluate_with(part("input"), part("data"), &Budget::default(), &Silent)
    }
}
