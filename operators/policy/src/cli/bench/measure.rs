//! The measurement: rounds over all rows in turn, so that a machine that slows down slows all of them.
//!
//! One thread, no clock but the monotonic one. Knows nothing of files and tables.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{Document, Review};

use crate::cli::assemble::Assembly;
use crate::cli::judge::{Unplaced, review_of, verdict};
use crate::cli::progress::Progress;

use super::memory;
use super::record::{Collector, Latency, Memory, Record};

/// How much to measure.
pub(super) struct Plan {
    pub(super) iterations: u64,
    pub(super) rounds: u64,
    pub(super) warmup: u64,
}

/// What one row measures.
enum Work {
    /// As a request is served: from the text, with nothing parsed.
    Whole(Vec<String>),
    /// What a constraint adds to a review that others have begun.
    Alone(Vec<Review>),
}

struct Row {
    name: Option<String>,
    policies: Arc<PolicySet>,
    work: Work,
    collector: Option<Collector>,
}

impl Row {
    fn new(name: Option<String>, policies: Arc<PolicySet>, work: Work) -> Self {
        Self { name, policies, work, collector: Collector::new() }
    }

    /// Reviews each object once, and says how many violations that gave.
    fn pass(&mut self, measured: bool) -> usize {
        let mut violations = 0_usize;
        let Self { policies, work, collector, .. } = self;
        let mut timed = |review: &mut dyn FnMut() -> usize| {
            let started = Instant::now();
            violations = violations.saturating_add(review());
            let elapsed = nanoseconds(started.elapsed());
            if let Some(collector) = collector.as_mut().filter(|_| measured) {
                collector.add(elapsed);
            }
        };
        match work {
            Work::Whole(texts) => {
                for text in texts {
                    let mut copy = Some(text.clone());
                    timed(&mut || copy.take().map_or(0, |text| from_text(text, policies)));
                }
            }
            Work::Alone(reviews) => {
                for review in reviews {
                    timed(&mut || black_box(verdict(review, policies)).violations().len());
                }
            }
        }
        violations
    }
}

fn from_text(text: String, policies: &PolicySet) -> usize {
    // The texts were written by the serializer, so they are read back.
    Document::from_text(text).map_or(0, |object| {
        black_box(verdict(&review_of(object, policies, Unplaced::Nowhere), policies)).violations().len()
    })
}

/// Measures reviews of all objects, by all constraints together and by each alone.
pub(super) fn measure(assembly: &mut Assembly, plan: &Plan, set_up: Duration, grown: Option<u64>) -> Record {
    let mut rows = rows(assembly);
    let rounds = plan.rounds.min(plan.iterations);
    let progress =
        Progress::new(usize::try_from(rounds).unwrap_or(usize::MAX).saturating_mul(rows.len()), "rounds");
    let mut violations = 0;
    for row in &mut rows {
        for _ in 0..plan.warmup {
            row.pass(false);
        }
    }
    for round in 0..rounds {
        for row in &mut rows {
            for _ in 0..share(plan.iterations, rounds, round) {
                let found = row.pass(true);
                if row.name.is_none() {
                    violations = found;
                }
            }
            if let Some(collector) = &mut row.collector {
                collector.end_round();
            }
            progress.advance();
        }
    }
    drop(progress);
    record(assembly, plan, rows, Facts { set_up, grown, violations, rounds })
}

struct Facts {
    set_up: Duration,
    grown: Option<u64>,
    violations: usize,
    rounds: u64,
}

fn rows(assembly: &mut Assembly) -> Vec<Row> {
    let texts = assembly.subjects.iter().map(|subject| subject.object.body().text().to_owned()).collect();
    let mut rows = vec![Row::new(None, assembly.policies.clone(), Work::Whole(texts))];
    let ids: Vec<_> = assembly.constraints.keys().cloned().collect();
    for id in ids {
        let policies = assembly.only(&id);
        let reviews = assembly
            .subjects
            .iter()
            .map(|subject| review_of(subject.object.clone(), &policies, Unplaced::Nowhere))
            .collect();
        rows.push(Row::new(Some(id.to_string()), policies, Work::Alone(reviews)));
    }
    rows
}

/// The iterations of one round: the first ones take what does not divide.
fn share(iterations: u64, rounds: u64, round: u64) -> u64 {
    let each = iterations.checked_div(rounds).unwrap_or_default();
    let rest = iterations.checked_rem(rounds).unwrap_or_default();
    each.saturating_add(u64::from(round < rest))
}

fn record(assembly: &Assembly, plan: &Plan, rows: Vec<Row>, facts: Facts) -> Record {
    let mut constraints = BTreeMap::new();
    let mut all = None;
    for row in rows {
        match (row.name, row.collector.map(Collector::finish)) {
            (Some(name), Some(latency)) => {
                constraints.insert(name, latency);
            }
            (None, latency) => all = latency,
            (Some(_), None) => {}
        }
    }
    let memory = facts.grown.zip(memory::peak()).map(|(set_up, peak)| Memory { set_up, peak });
    Record {
        format: Record::CURRENT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        templates: assembly.templates.len(),
        objects: assembly.subjects.len(),
        iterations: plan.iterations,
        rounds: facts.rounds,
        set_up: nanoseconds(facts.set_up),
        violations: facts.violations,
        memory,
        all: all.unwrap_or_else(Latency::none),
        constraints,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_share_all_iterations() {
        for (iterations, rounds) in [(10, 3), (3, 3), (1000, 7), (1, 1)] {
            let shares: Vec<_> = (0..rounds).map(|round| share(iterations, rounds, round)).collect();
            assert_eq!(shares.iter().sum::<u64>(), iterations);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
    }
}
