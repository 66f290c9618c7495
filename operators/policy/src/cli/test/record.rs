//! The JSON and YAML lists of `gator test`, with the place of each object added.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::PrettyFormatter;
use serde_json::{Value, json};

use crate::cli::judge::Offence;
use crate::yaml;

use super::trace::Traces;

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
    violating_object: Value,
    source: Source,
    trace: Option<&'a str>,
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
    violating_object: Value,
    source: Source,
    trace: Option<&'a str>,
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

/// Writes the JSON list entry by entry, so that the whole text is never in memory.
pub(super) fn json(offences: &[Offence<'_>], traces: &Traces, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = serde_json::Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b"    "));
    let entries = offences.iter().enumerate().map(|(position, offence)| entry(offence, traces.get(position)));
    writer.collect_seq(entries)?;
    out.write_all(b"\n")
}

/// The YAML list.
pub(super) fn yaml(offences: &[Offence<'_>], traces: &Traces) -> String {
    let blocks = offences.iter().enumerate().map(|(position, offence)| block(offence, traces.get(position)));
    let text = serde_json::to_string(&blocks.collect::<Vec<_>>()).unwrap_or_default();
    yaml::block(&text).unwrap_or(text)
}

fn entry<'a>(offence: &'a Offence<'_>, trace: Option<&'a str>) -> Entry<'a> {
    Entry {
        target: TARGET,
        msg: &offence.violation.message,
        metadata: metadata(offence),
        constraint: &offence.constraint.manifest,
        enforcement_action: offence.enforcement_action(),
        scoped_actions: offence.scoped_actions(),
        violating_object: offence.subject.object.body().parse().unwrap_or_default(),
        source: source(offence),
        trace,
    }
}

fn block<'a>(offence: &'a Offence<'_>, trace: Option<&'a str>) -> Block<'a> {
    let result = BlockResult {
        target: TARGET,
        msg: &offence.violation.message,
        metadata: metadata(offence).unwrap_or_else(|| json!({})),
        constraint: BlockConstraint { object: &offence.constraint.manifest },
        action: offence.enforcement_action(),
        scoped: offence.scoped_actions().unwrap_or_default(),
    };
    Block {
        result,
        violating_object: offence.subject.object.body().parse().unwrap_or_default(),
        source: source(offence),
        trace,
    }
}

/// `None` from policies in CEL, which have no details, and from those that could not be asked.
fn metadata(offence: &Offence<'_>) -> Option<Value> {
    offence.violation.details.as_ref().map(|details| json!({ "details": details }))
}

fn source(offence: &Offence<'_>) -> Source {
    let place = &offence.subject.place;
    Source { file: place.file.display().to_string(), line: place.line }
}
