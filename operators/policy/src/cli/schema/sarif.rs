//! SARIF 2.1.0, which code scanning services read.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::report::{Level, Note, Report};

pub(super) fn render(report: &Report) -> String {
    let rules: BTreeSet<&str> = report.notes.iter().map(|note| note.rule).collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let results: Vec<Value> = report.notes.iter().map(result).collect();
    let sarif = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "webtroller schema", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "results": results,
        }],
    });
    format!("{sarif:#}\n")
}

fn result(note: &Note) -> Value {
    let level = match note.level {
        Level::Error => "error",
        Level::Warning | Level::Lint => "warning",
        Level::Note => "note",
    };
    json!({
        "ruleId": note.rule,
        "level": level,
        "message": {"text": note.text},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": note.file}, "region": {"startLine": note.line.max(1)}},
            "logicalLocations": [{"fullyQualifiedName": note.pointer}],
        }],
    })
}
