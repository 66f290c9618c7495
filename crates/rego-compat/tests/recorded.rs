//! The answers of OPA 1.22.0 in `recorded/`: generated modules, and calls of every deterministic builtin function.
//!
//! A row prints its value with `sprintf("%v", …)`, so that a set is not an array and each digit counts. Rows are
//! written by `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`, which needs Go; this test does not.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::collections::BTreeMap;

use rego_compat::{Budget, Diagnostics, Module, Program, RegoVersion, Restrictions, Value, compile};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    modules: BTreeMap<String, String>,
    v0: bool,
    query: String,
    input: serde_json::Value,
    answer: Answer,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Text(String),
    Undefined,
    Refused,
    Failed,
}

impl Row {
    fn compile(&self) -> Result<Program, Diagnostics> {
        let version = if self.v0 { RegoVersion::V0 } else { RegoVersion::V1 };
        let parse = |(name, text): (&String, &String)| Module::parse(name, text, version);
        let modules: Vec<_> = self.modules.iter().map(parse).collect::<Result<_, _>>()?;
        compile(&modules, &self.query, &Restrictions::default())
    }

    fn ours(&self) -> Answer {
        let Ok(program) = self.compile() else { return Answer::Refused };
        let input = Value::from_json_str(&self.input.to_string()).expect("an input");
        match program.evaluate(&input, &Value::new_object(), &Budget::default()) {
            Ok(Some(Value::String(text))) => Answer::Text(text.to_string()),
            Ok(None) => Answer::Undefined,
            Err(_) => Answer::Failed,
            Ok(Some(other)) => panic!("not a string: {other}"),
        }
    }
}

/// Returns the number of rows with each answer, after comparing all of them.
fn agree(recorded: &str) -> [usize; 2] {
    let rows: Vec<Row> = recorded.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let differs = |row: &&Row| row.ours() != row.answer;
    let differences: Vec<String> = rows
        .iter()
        .filter(differs)
        .map(|row| {
            format!("OPA {:?}, ours {:?}\n{:?}\ninput {}", row.answer, row.ours(), row.modules, row.input)
        })
        .collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        rows.len(),
        differences.join("\n\n")
    );
    [rows.len(), rows.iter().filter(|row| matches!(row.answer, Answer::Text(_))).count()]
}

#[test]
fn modules_answer_as_in_opa() {
    let [rows, defined] = agree(include_str!("recorded/modules.jsonl"));
    assert!(rows >= 100 && defined >= rows / 3, "{defined} of {rows} rows have a value");
}

#[test]
fn builtin_functions_answer_as_in_opa() {
    let [rows, defined] = agree(include_str!("recorded/builtins.jsonl"));
    assert!(rows >= 400 && defined >= rows / 3, "{defined} of {rows} rows have a value");
}
