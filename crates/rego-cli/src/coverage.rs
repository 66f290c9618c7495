//! Coverage as `opa test --coverage` prints it: ranges by file, and percentages of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rego_compat::{FileCoverage, Range};

use crate::report::{self, Ran};
use crate::{Streams, json};

type Files = BTreeMap<String, FileCoverage>;

/// The coverage that is required.
pub(crate) struct Demand {
    /// The least percentage of covered lines.
    pub(crate) threshold: f64,
    pub(crate) verbose: bool,
}

/// Prints the report, or what kept the tests from passing: 1 for that, 2 for too little coverage, 0 otherwise.
pub(crate) fn print(
    demand: &Demand,
    ran: &[Ran<'_>],
    files: &Files,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    if let Some(error) = ran.iter().filter(|test| !test.test.skipped).find_map(|test| test.error()) {
        writeln!(streams.err, "{}", error.for_people())?;
        return Ok(1);
    }
    let failures: Vec<&Ran<'_>> = ran.iter().filter(|test| test.failed()).collect();
    if let Some(first) = failures.first() {
        streams.out.write_all(report::of_failures(&failures, demand.verbose).as_bytes())?;
        writeln!(streams.err, "{}\n", first.line())?;
        return Ok(1);
    }
    let total = Lines::total(files);
    if total.percentage() < demand.threshold {
        let text = below_threshold(demand, &total, files);
        streams.err.write_all(text.as_bytes())?;
        return Ok(2);
    }
    streams.out.write_all(to_json(files, &total).as_bytes())?;
    Ok(0)
}

/// Numbers of lines. A line that is partly covered counts on both sides.
#[derive(Clone, Copy, Default)]
struct Lines {
    covered: usize,
    not_covered: usize,
}

impl Lines {
    fn of(file: &FileCoverage) -> Self {
        Self { covered: rows(&file.covered).len(), not_covered: rows(&file.not_covered).len() }
    }

    fn total(files: &Files) -> Self {
        files.values().map(Self::of).fold(Self::default(), |sum, file| Self {
            covered: sum.covered.saturating_add(file.covered),
            not_covered: sum.not_covered.saturating_add(file.not_covered),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 lines")]
    fn percentage(self) -> f64 {
        let all = self.covered.saturating_add(self.not_covered);
        if all == 0 { 0.0 } else { 100.0 * self.covered as f64 / all as f64 }
    }
}

fn rows(ranges: &[Range]) -> BTreeSet<u32> {
    ranges.iter().flat_map(|range| range.start.0..=range.end.0).collect()
}

fn below_threshold(demand: &Demand, total: &Lines, files: &Files) -> String {
    let mut text = format!(
        "Code coverage threshold not met: got {:.2} instead of {:.2}\n",
        total.percentage(),
        demand.threshold
    );
    if demand.verbose {
        text.push_str("Lines not covered:\n");
        for (name, file) in files {
            for (first, last) in spans(&rows(&file.not_covered)) {
                let to = if first == last { String::new() } else { format!("-{last}") };
                text.push_str(&format!("\t{name}:{first}{to}\n"));
            }
        }
    }
    text
}

/// Returns the first and last row of each run of rows.
fn spans(rows: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for row in rows {
        match spans.last_mut().filter(|span| span.1.saturating_add(1) == *row) {
            Some(span) => span.1 = *row,
            None => spans.push((*row, *row)),
        }
    }
    spans
}

fn to_json(files: &Files, total: &Lines) -> String {
    let files = files.iter().map(|(name, file)| (name.as_str(), file_json(file)));
    json::indented(&json::object([
        ("files", json::object(files)),
        ("covered_lines", total.covered.to_string()),
        ("not_covered_lines", total.not_covered.to_string()),
        ("coverage", json::float(total.percentage())),
    ]))
}

fn file_json(file: &FileCoverage) -> String {
    let lines = Lines::of(file);
    let mut fields = Vec::new();
    for (name, ranges) in [("covered", &file.covered), ("not_covered", &file.not_covered)] {
        if !ranges.is_empty() {
            fields.push((name, json::array(ranges.iter().map(range_json))));
        }
    }
    for (name, count) in [("covered_lines", lines.covered), ("not_covered_lines", lines.not_covered)] {
        if count > 0 {
            fields.push((name, count.to_string()));
        }
    }
    if lines.covered > 0 {
        fields.push(("coverage", json::float(lines.percentage())));
    }
    json::object(fields)
}

fn range_json(range: &Range) -> String {
    let place =
        |(row, column): (u32, u32)| json::object([("row", row.to_string()), ("col", column.to_string())]);
    json::object([("start", place(range.start)), ("end", place(range.end))])
}
