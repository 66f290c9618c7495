//! The JSON and YAML lists of `gator test`, with the place of each object added.

use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Value, json};

use crate::cli::judge::Offence;
use crate::yaml;

const TARGET: &str = "admission.k8s.gatekeeper.sh";

/// An entry of the JSON list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    target: &'static str,
    msg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    constraint: &'a Value,
    enforcement_action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scoped_actions: Option<Vec<&'a str>>,
    violating_object: &'a Value,
    source: Source,
    trace: Option<String>,
}

/// Where the object stands.
#[derive(Serialize)]
struct Source {
    file: String,
    line: u64,
}

/// An entry of the YAML list, which has another shape.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    result: BlockResult<'a>,
    violating_object: &'a Value,
    source: Source,
    trace: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
struct BlockResult<'a> {
    target: &'static str,
    msg: &'a str,
    metadata: Value,
    constraint: BlockConstraint<'a>,
    #[serde(rename = "enforcementaction")]
    action: &'a str,
    #[serde(rename = "scopedenforcementactions")]
    scoped: Vec<&'a str>,
}

#[derive(Serialize)]
struct BlockConstraint<'a> {
    object: &'a Value,
}

pub(super) fn json(offences: &[Offence<'_>]) -> String {
    let entries: Vec<_> = offences.iter().map(entry).collect();
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "));
    // Everything in it came from JSON, so it goes back there.
    let _ = entries.serialize(&mut writer);
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}

pub(super) fn yaml(offences: &[Offence<'_>]) -> String {
    let blocks: Vec<_> = offences.iter().map(block).collect();
    let text = serde_json::to_string(&blocks).unwrap_or_default();
    yaml::block(&text).unwrap_or(text)
}

fn entry<'a>(offence: &'a Offence<'_>) -> Entry<'a> {
    Entry {
        target: TARGET,
        msg: &offence.violation.message,
        metadata: metadata(offence),
        constraint: &offence.constraint.manifest,
        enforcement_action: offence.enforcement_action(),
        scoped_actions: offence.scoped_actions(),
        violating_object: offence.subject.object.json(),
        source: source(offence),
        trace: None,
    }
}

fn block<'a>(offence: &'a Offence<'_>) -> Block<'a> {
    let result = BlockResult {
        target: TARGET,
        msg: &offence.violation.message,
        metadata: metadata(offence).unwrap_or_else(|| json!({})),
        constraint: BlockConstraint { object: &offence.constraint.manifest },
        action: offence.enforcement_action(),
        scoped: offence.scoped_actions().unwrap_or_default(),
    };
    Block { result, violating_object: offence.subject.object.json(), source: source(offence), trace: None }
}

/// `None` from policies in CEL, which have no details, and from those that could not be asked.
fn metadata(offence: &Offence<'_>) -> Option<Value> {
    offence.violation.details.as_ref().map(|details| json!({ "details": details }))
}

fn source(offence: &Offence<'_>) -> Source {
    let place = &offence.subject.place;
    Source { file: place.file.display().to_string(), line: place.line }
}
