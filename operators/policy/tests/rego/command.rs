//! Command lines, and what is printed for them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use regex::Regex;
use serde_json::Value;

use super::{here, trial};

/// The outcome of a program.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
}

struct Expected {
    line: String,
    ran: Ran,
}

/// One trial for each command line of a recording.
pub(crate) fn trials(recording: &Path) -> Vec<Trial> {
    read(recording)
        .into_iter()
        .map(|expected| {
            trial(expected.line.clone(), move || {
                let ours = run(ours(), &expected.line, &here("files"));
                compare(&expected.ran, &ours)
            })
        })
        .collect()
}

/// The program under test.
pub(crate) fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    command.arg("rego");
    command
}

/// Asks the real OPA again and writes down what it says.
pub(crate) fn record(recording: &Path, opa: &Path) {
    let mut text = String::new();
    for Expected { line, .. } in read(recording) {
        let ran = run(Command::new(opa), &line, &here("files"));
        text.push_str(&format!("$ {line}\nexit {}\n{}", ran.code, ran.out));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    std::fs::write(recording, text).unwrap();
}

fn read(recording: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(recording).unwrap();
    let blocks = text.split("$ ").skip(1);
    let blocks = blocks.filter(|block| !block.is_empty());
    blocks
        .map(|block| {
            let (line, rest) = block.split_once('\n').unwrap();
            let (exit, out) = rest.split_once('\n').unwrap_or(("exit 0", ""));
            let code = exit.trim_start_matches("exit ").parse().unwrap_or_default();
            Expected { line: line.to_owned(), ran: Ran { code, out: out.to_owned() } }
        })
        .collect()
}

/// Runs a command line in a folder; what follows `<<<` is its standard input.
pub(crate) fn run(mut program: Command, line: &str, folder: &Path) -> Ran {
    let (line, input) = line.split_once("<<<").unwrap_or((line, ""));
    program.args(words(line)).current_dir(folder);
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not want its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.trim().as_bytes());
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: timeless(&out) }
}

/// The words of a command line; quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let word = Regex::new(r"'([^']*)'|(\S+)").unwrap();
    word.captures_iter(line)
        .map(|found| found.get(1).or_else(|| found.get(2)).unwrap().as_str().to_owned())
        .collect()
}

/// The text without how long things took.
fn timeless(text: &str) -> String {
    let text = Regex::new(r"\([0-9.]+(ns|µs|ms|s|m|h)[0-9.smh]*\)").unwrap().replace_all(text, "(0s)");
    Regex::new(r#""duration": \d+"#).unwrap().replace_all(&text, "\"duration\": 0").into_owned()
}

/// The same code and text; JSON may lack what crates/rego-compat/README.md says it lacks.
fn compare(expected: &Ran, ours: &Ran) -> Result<(), String> {
    let same = expected.out.trim_end() == ours.out.trim_end()
        || matches!((json(&expected.out), json(&ours.out)), (Some(a), Some(b)) if a == b);
    if expected.code == ours.code && same {
        return Ok(());
    }
    Err(format!("expected {}\n{}\ngot {}\n{}", expected.code, expected.out, ours.code, ours.out))
}

fn json(text: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    strip(&mut value);
    Some(value)
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["details", "stack_trace", "kinds"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(strip);
            // OPA does not sort the errors of one place.
            if let Some(Value::Array(errors)) = fields.get_mut("errors") {
                errors.sort_by_key(ToString::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
