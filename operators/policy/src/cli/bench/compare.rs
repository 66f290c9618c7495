//! The comparison of a measurement with an earlier one.
//!
//! Medians are compared: on a machine that does other things as well, the slowest hundredth says more about those.

use std::collections::BTreeSet;
use std::time::Duration;

use super::record::{Latency, Record};

/// The tolerated slowdown. Both must be exceeded.
pub(super) struct Tolerance {
    pub(super) percent: f64,
    pub(super) growth: Duration,
}

/// All rows of two measurements.
#[derive(Debug, PartialEq)]
pub(super) struct Comparison {
    pub(super) rows: Vec<Row>,
    /// The differences besides the times, so that these may not be comparable.
    pub(super) caveats: Vec<String>,
}

/// One row of both.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) change: Change,
}

/// The change of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// It was not measured before.
    New,
    /// It is not measured any more.
    Gone,
    /// From one median to another.
    Times { before: u64, after: u64, percent: f64, verdict: Verdict },
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Beyond the tolerance, and even its fastest round took longer than the slowest one before.
    Slower,
    /// Beyond the tolerance, but some rounds took as long before: noise may explain it.
    Unclear,
    /// Within the tolerance, or faster.
    Fine,
}

impl Comparison {
    /// Returns true if any row is.
    pub(super) fn is_slower(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.change, Change::Times { verdict: Verdict::Slower, .. }))
    }
}

/// Holds a measurement against an earlier one, row by row.
pub(super) fn compare(before: &Record, after: &Record, tolerance: &Tolerance) -> Comparison {
    let row = |(name, latency): (&str, &Latency)| {
        let change = match before.rows().find(|(earlier, _)| *earlier == name) {
            Some((_, earlier)) => change(earlier, latency, tolerance),
            None => Change::New,
        };
        Row { name: name.to_owned(), change }
    };
    let mut rows: Vec<_> = after.rows().map(row).collect();
    let kept: BTreeSet<_> = after.rows().map(|(name, _)| name).collect();
    let gone = before.rows().filter(|(name, _)| !kept.contains(name));
    rows.extend(gone.map(|(name, _)| Row { name: name.to_owned(), change: Change::Gone }));
    Comparison { rows, caveats: caveats(before, after) }
}

fn change(before: &Latency, after: &Latency, tolerance: &Tolerance) -> Change {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a review are far below 2^52")]
    let percent = match before.p50 {
        0 => 0.0,
        earlier => (after.p50 as f64 / earlier as f64 - 1.0) * 100.0,
    };
    let grown = Duration::from_nanos(after.p50.saturating_sub(before.p50));
    let beyond = percent > tolerance.percent && grown > tolerance.growth;
    let verdict = match (beyond, after.spread().0 > before.spread().1) {
        (true, true) => Verdict::Slower,
        (true, false) => Verdict::Unclear,
        (false, _) => Verdict::Fine,
    };
    Change::Times { before: before.p50, after: after.p50, percent, verdict }
}

fn caveats(before: &Record, after: &Record) -> Vec<String> {
    let counts = [
        ("templates", before.templates, after.templates),
        ("constraints", before.constraints.len(), after.constraints.len()),
        ("objects", before.objects, after.objects),
        ("violations", before.violations, after.violations),
        ("threads", threads(before), threads(after)),
    ];
    let differs = counts.iter().filter(|(_, before, after)| before != after);
    differs.map(|(what, before, after)| format!("{before} {what} then, {after} now")).collect()
}

fn threads(record: &Record) -> usize {
    usize::try_from(record.threads).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn latency(rounds: &[u64]) -> Latency {
        let mut sorted = rounds.to_vec();
        sorted.sort_unstable();
        Latency { reviews: 1, p50: sorted[sorted.len() / 2], rounds: rounds.to_vec(), ..Latency::none() }
    }

    fn record(all: &[u64], constraints: &[(&str, &[u64])]) -> Record {
        let constraints: BTreeMap<_, _> =
            constraints.iter().map(|(name, rounds)| ((*name).to_owned(), latency(rounds))).collect();
        Record {
            format: Record::CURRENT,
            version: String::new(),
            templates: 1,
            objects: 1,
            iterations: 1,
            rounds: 1,
            threads: 1,
            reviews_per_second: 1,
            set_up: 1,
            violations: 0,
            memory: None,
            all: latency(all),
            constraints,
        }
    }

    #[track_caller]
    fn check(before: &[u64], after: &[u64], tolerance: (f64, u64), expected: Verdict) {
        let tolerance = Tolerance { percent: tolerance.0, growth: Duration::from_nanos(tolerance.1) };
        let comparison = compare(&record(before, &[]), &record(after, &[]), &tolerance);
        let Change::Times { verdict, .. } = comparison.rows[0].change else { panic!("both have the row") };
        assert_eq!(verdict, expected, "{before:?} {after:?}");
        assert_eq!(comparison.is_slower(), expected == Verdict::Slower);
    }

    #[test]
    fn slower_is_beyond_the_threshold_and_beyond_the_noise() {
        check(&[100, 101, 102], &[120, 121, 122], (10.0, 0), Verdict::Slower);
        check(&[100, 101, 130], &[120, 121, 122], (10.0, 0), Verdict::Unclear);
        check(&[100, 101, 102], &[109, 110, 111], (10.0, 0), Verdict::Fine);
        check(&[100, 101, 102], &[50, 51, 52], (0.0, 0), Verdict::Fine);
        check(&[100, 101, 102], &[120, 121, 122], (10.0, 20), Verdict::Fine);
        check(&[100, 101, 102], &[120, 121, 122], (10.0, 19), Verdict::Slower);
        check(&[0], &[5], (10.0, 0), Verdict::Fine);
    }

    #[test]
    fn rows_come_and_go() {
        let tolerance = Tolerance { percent: 10.0, growth: Duration::ZERO };
        let comparison = compare(
            &record(&[1], &[("A/a", &[1]), ("B/b", &[1])]),
            &record(&[1], &[("B/b", &[1]), ("C/c", &[1])]),
            &tolerance,
        );
        let changes: Vec<_> = comparison.rows.iter().map(|row| (row.name.as_str(), &row.change)).collect();
        assert!(
            matches!(
                changes.as_slice(),
                [
                    (_, Change::Times { .. }),
                    ("B/b", Change::Times { .. }),
                    ("C/c", Change::New),
                    ("A/a", Change::Gone)
                ]
            ),
            "{changes:?}"
        );
        assert!(!comparison.is_slower());
    }

    #[test]
    fn other_inputs_are_told() {
        let tolerance = Tolerance { percent: 10.0, growth: Duration::ZERO };
        let mut after = record(&[1], &[]);
        after.objects = 7;
        assert_eq!(compare(&record(&[1], &[]), &after, &tolerance).caveats, ["1 objects then, 7 now"]);
    }
}
