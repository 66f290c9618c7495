//! The measurement, and the format in which it is saved.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Changes when a saved measurement means something else than before.
const FORMAT: u32 = 1;
/// The name of the row that no constraint has: `/` is in all of theirs.
const ALL: &str = "all constraints";
/// Digits of a duration that are kept.
const DIGITS: u8 = 3;

/// One measurement. All durations are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) format: u32,
    /// The version of the webtroller that measured.
    pub(super) version: String,
    pub(super) templates: usize,
    pub(super) objects: usize,
    pub(super) iterations: u64,
    pub(super) rounds: u64,
    /// The number of threads that reviewed at the same time.
    #[serde(default = "one")]
    pub(super) threads: u64,
    /// By all constraints, on all threads together.
    #[serde(default)]
    pub(super) reviews_per_second: u64,
    /// To compile all templates and constraints and to take in all objects.
    pub(super) set_up: u64,
    pub(super) violations: usize,
    /// Bytes; absent where the system does not tell.
    pub(super) memory: Option<Memory>,
    /// Reviews by all constraints, from JSON text to verdict.
    pub(super) all: Latency,
    /// Reviews by one constraint alone, of objects that are parsed.
    pub(super) constraints: BTreeMap<String, Latency>,
}

/// Returns what versions before `--concurrency` measured with.
const fn one() -> u64 {
    1
}

/// Memory of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Memory {
    /// By how much it grew to hold policies and objects.
    pub(super) set_up: u64,
    /// The most it ever was.
    pub(super) peak: u64,
}

/// The times that reviews took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Latency {
    pub(super) reviews: u64,
    pub(super) min: u64,
    pub(super) mean: u64,
    pub(super) p50: u64,
    pub(super) p95: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
    /// The median of each round.
    pub(super) rounds: Vec<u64>,
}

/// Collects the durations of one row.
#[derive(Debug)]
pub(super) struct Collector {
    whole: Histogram<u64>,
    round: Histogram<u64>,
    medians: Vec<u64>,
}

impl Record {
    pub(super) const CURRENT: u32 = FORMAT;

    pub(super) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a saved measurement.
    ///
    /// # Errors
    /// Its actual kind.
    pub(super) fn from_json(text: &str) -> Result<Self, String> {
        let record: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if record.format == FORMAT {
            Ok(record)
        } else {
            Err(format!("its format is {}, and this version knows {FORMAT}", record.format))
        }
    }

    /// All rows, the whole first.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &Latency)> {
        let constraints = self.constraints.iter().map(|(name, latency)| (name.as_str(), latency));
        std::iter::once((ALL, &self.all)).chain(constraints)
    }
}

impl Latency {
    /// Nothing was measured.
    pub(super) const fn none() -> Self {
        Self { reviews: 0, min: 0, mean: 0, p50: 0, p95: 0, p99: 0, max: 0, rounds: Vec::new() }
    }

    /// The fastest and the slowest round, by their medians.
    pub(super) fn spread(&self) -> (u64, u64) {
        let fastest = self.rounds.iter().min().copied().unwrap_or(self.p50);
        let slowest = self.rounds.iter().max().copied().unwrap_or(self.p50);
        (fastest, slowest)
    }
}

impl Collector {
    /// Nothing collected. `None` if the histogram cannot be made, which no constant of this file leads to.
    pub(super) fn new() -> Option<Self> {
        let histogram = || Histogram::new(DIGITS).ok();
        Some(Self { whole: histogram()?, round: histogram()?, medians: Vec::new() })
    }

    pub(super) fn add(&mut self, nanoseconds: u64) {
        // It grows as it needs to, which `saturating_record` would not let it. It can grow to every number there is.
        let _ = self.round.record(nanoseconds);
    }

    /// Adds what another thread has collected in this round.
    pub(super) fn take(&mut self, other: &Self) {
        // Both have the same digits and grow as they need to.
        let _ = self.round.add(&other.round);
    }

    pub(super) fn end_round(&mut self) {
        self.medians.push(self.round.value_at_quantile(0.5));
        // Both have the same digits and grow as they need to.
        let _ = self.whole.add(&self.round);
        self.round.reset();
    }

    pub(super) fn finish(self) -> Latency {
        Latency {
            reviews: self.whole.len(),
            min: self.whole.min(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a mean of nanoseconds"
            )]
            mean: self.whole.mean() as u64,
            p50: self.whole.value_at_quantile(0.5),
            p95: self.whole.value_at_quantile(0.95),
            p99: self.whole.value_at_quantile(0.99),
            max: self.whole.max(),
            rounds: self.medians,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_times_are_told_apart() {
        let mut collector = Collector::new().unwrap();
        for round in [[100, 5_000, 90_000_000], [200, 6_000, 3_000_000_000]] {
            round.into_iter().for_each(|nanoseconds| collector.add(nanoseconds));
            collector.end_round();
        }
        let latency = collector.finish();
        let near = |found: u64, sought: u64| found.abs_diff(sought) <= sought / 500;
        assert_eq!((latency.reviews, latency.min), (6, 100));
        assert!(near(latency.p50, 5_000) && near(latency.max, 3_000_000_000), "{latency:?}");
        assert!(near(latency.rounds[0], 5_000) && near(latency.rounds[1], 6_000), "{latency:?}");
    }
}
