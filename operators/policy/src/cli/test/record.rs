//! The JSON and YAML lists of `gator test`, with the place of each object added.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::thread;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::cli::judge::PlacedViolation;
use go_compat::json::indent;
use go_compat::sigs_yaml;

use super::scorecard::Scorecard;
use super::stats::Entry as Stats;
use super::trace::Traces;

/// The spaces of a level, as gator has them.
const INDENT: &str = "    ";

/// An entry of the JSON list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    target: &'a str,
    msg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
    constraint: &'a RawValue,
    enforcement_action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scoped_actions: Option<Vec<&'a str>>,
    violating_object: &'a RawValue,
    source: Source,
    trace: Option<&'a str>,
}

/// The place of the object.
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
    violating_object: &'a RawValue,
    source: Source,
    trace: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
struct BlockResult<'a> {
    target: &'a str,
    msg: &'a str,
    metadata: Metadata<'a>,
    constraint: BlockConstraint<'a>,
    #[serde(rename = "enforcementaction")]
    action: &'a str,
    #[serde(rename = "scopedenforcementactions")]
    scoped: Vec<&'a str>,
}

#[derive(Serialize)]
struct BlockConstraint<'a> {
    object: &'a RawValue,
}

/// The metadata of a policy beside its message.
#[derive(Default, Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a RawValue>,
}

/// Writes the JSON list part by part, so that the whole text is never in memory; the parts are made on all cores, as an
/// object is formatted anew for each of its violations. Where there is something beside it, the list is the field `results` of an object.
pub(super) fn json(
    violations: &[PlacedViolation<'_>],
    traces: &Traces,
    beside: Beside<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !beside.is_empty() {
        let results = Entries { violations, traces, first: 0 };
        let text = serde_json::to_string(&Document { results, beside })?;
        out.write_all(indent(&text, "", INDENT).as_bytes())?;
        return out.write_all(b"\n");
    }
    out.write_all(b"[")?;
    let write = |position: usize, part: &[u8]| {
        out.write_all(if position == 0 { "\n" } else { ",\n" }.as_bytes())?;
        out.write_all(part)
    };
    in_parts(violations, traces, write)?;
    out.write_all(if violations.is_empty() { "]\n" } else { "\n]\n" }.as_bytes())
}

/// Entries that are formatted at a time by one thread.
const PART: usize = 512;

/// Parts of a thread that may wait to be written, so that none stops when another one has to wait for a core.
const AHEAD: usize = 4;

/// Gives the text of all entries to `write`, part by part and in order, without the brackets around them. While a part is
/// written, all cores format the next ones: thread 1 of 2 the parts 0, 2, 4, …, and at most [`AHEAD`] of them wait.
fn in_parts(
    violations: &[PlacedViolation<'_>],
    traces: &Traces,
    mut write: impl FnMut(usize, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let start = |first: usize| {
            let (sender, receiver) = mpsc::sync_channel(AHEAD);
            let mine = violations.chunks(PART).enumerate().skip(first).step_by(cores);
            scope.spawn(move || {
                for (number, violations) in mine {
                    let text = part(Entries { violations, traces, first: number.saturating_mul(PART) });
                    // The receiver is gone when a part could not be written.
                    if sender.send(text).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<_> = (0..cores).map(start).collect();
        let parts = violations.chunks(PART).zip(receivers.iter().cycle()).enumerate();
        for (position, (_, receiver)) in parts {
            let part = receiver.recv().map_err(io::Error::other)??;
            write(position, &part)?;
        }
        Ok(())
    })
}

fn part(entries: Entries<'_>) -> io::Result<Vec<u8>> {
    let mut text = indent(&serde_json::to_string(&entries)?, "", INDENT).into_bytes();
    // `[` and its line, and `]` and the line in front of it.
    text.truncate(text.len().saturating_sub(2));
    text.drain(..2.min(text.len()));
    Ok(text)
}

/// The YAML list, and the rest as in JSON.
pub(super) fn yaml(violations: &[PlacedViolation<'_>], traces: &Traces, beside: Beside<'_>) -> String {
    let blocks =
        violations.iter().enumerate().map(|(position, violation)| block(violation, traces.get(position)));
    let results = blocks.collect::<Vec<_>>();
    let text = if beside.is_empty() {
        serde_json::to_string(&results)
    } else {
        serde_json::to_string(&Document { results, beside })
    };
    let text = text.unwrap_or_default();
    sigs_yaml::block(&text).unwrap_or(text)
}

/// The parts that are printed beside violations where they are requested.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Beside<'a> {
    /// The cost of finding them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stats: Option<&'a [Stats]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scorecard: Option<&'a Scorecard>,
}

impl Beside<'_> {
    fn is_empty(&self) -> bool {
        self.stats.is_none() && self.scorecard.is_none()
    }
}

#[derive(Serialize)]
struct Document<'a, T> {
    results: T,
    #[serde(flatten)]
    beside: Beside<'a>,
}

/// The entries of the JSON list, made one after the other.
struct Entries<'a> {
    violations: &'a [PlacedViolation<'a>],
    traces: &'a Traces,
    /// The position of the first one among all.
    first: usize,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        let numbered = self.violations.iter().zip(self.first..);
        writer.collect_seq(numbered.map(|(violation, position)| entry(violation, self.traces.get(position))))
    }
}

fn entry<'a>(violation: &'a PlacedViolation<'_>, trace: Option<&'a str>) -> Entry<'a> {
    Entry {
        target: violation.subject.target(),
        msg: &violation.message,
        metadata: metadata(violation),
        constraint: &violation.constraint.text,
        enforcement_action: violation.enforcement_action(),
        scoped_actions: violation.scoped_actions(),
        violating_object: violation.subject.object.body().raw(),
        source: source(violation),
        trace,
    }
}

fn block<'a>(violation: &'a PlacedViolation<'_>, trace: Option<&'a str>) -> Block<'a> {
    let result = BlockResult {
        target: violation.subject.target(),
        msg: &violation.message,
        metadata: metadata(violation).unwrap_or_default(),
        constraint: BlockConstraint { object: &violation.constraint.text },
        action: violation.enforcement_action(),
        scoped: violation.scoped_actions().unwrap_or_default(),
    };
    Block {
        result,
        violating_object: violation.subject.object.body().raw(),
        source: source(violation),
        trace,
    }
}

/// `None` from policies in CEL, which have no details, and from those that could not be asked.
fn metadata<'a>(violation: &'a PlacedViolation<'_>) -> Option<Metadata<'a>> {
    violation.details.as_deref().map(|details| Metadata { details: Some(details) })
}

fn source(violation: &PlacedViolation<'_>) -> Source {
    let place = &violation.subject.place;
    Source { file: place.file.display().to_string(), line: place.line }
}
