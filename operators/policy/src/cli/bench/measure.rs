//! The measurement: rounds over all rows in turn, so that a machine that slows down slows all of them.
//!
//! One thread unless more are asked for, no clock but the monotonic one. Knows nothing of files and tables.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{Document, Review, ReviewSource};

use crate::cli::assemble::Assembly;
use crate::cli::judge::{Unplaced, review_of, verdict};
use crate::cli::nanoseconds::nanoseconds;
use crate::cli::progress::Progress;

use super::memory;
use super::record::{Collector, Latency, Memory, Record};

/// The extent of a measurement.
pub(super) struct Plan {
    pub(super) iterations: u64,
    pub(super) rounds: u64,
    pub(super) warmup: u64,
    pub(super) threads: u64,
}

/// The work that one row measures.
enum Work {
    /// As a request is served: from the text, with nothing parsed.
    Whole(Vec<String>),
    /// The cost that a constraint adds to a review that others have begun.
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

    /// Reviews each object as often as `times` says, on several threads, which share the times. Returns the violations of
    /// one pass over the objects.
    fn pass(&mut self, times: u64, threads: u64, measured: bool) -> usize {
        let Self { policies, work, collector, .. } = self;
        let (policies, work) = (&**policies, &*work);
        let mut violations = 0;
        let mut take = |(found, times): (usize, Option<Collector>)| {
            violations = found.max(violations);
            if let (Some(collector), Some(times)) = (collector.as_mut().filter(|_| measured), times) {
                collector.take(&times);
            }
        };
        if threads == 1 {
            take(work.repeat(policies, times));
            return violations;
        }
        let all: Vec<_> = std::thread::scope(|scope| {
            let part = |thread| scope.spawn(move || work.repeat(policies, share(times, threads, thread)));
            let parts: Vec<_> = (0..threads).map(part).collect();
            parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        all.into_iter().for_each(take);
        violations
    }
}

impl Work {
    /// Reviews each object so often on this thread, and returns the violations of one pass and how long reviews took.
    fn repeat(&self, policies: &PolicySet, times: u64) -> (usize, Option<Collector>) {
        let mut collector = Collector::new();
        let mut violations = 0;
        for _ in 0..times {
            violations = self.once(policies, &mut |elapsed| {
                if let Some(collector) = &mut collector {
                    collector.add(nanoseconds(elapsed));
                }
            });
        }
        (violations, collector)
    }

    fn once(&self, policies: &PolicySet, collect: &mut dyn FnMut(Duration)) -> usize {
        let mut violations = 0_usize;
        let mut timed = |review: &mut dyn FnMut() -> usize| {
            let started = Instant::now();
            violations = violations.saturating_add(review());
            collect(started.elapsed());
        };
        match self {
            Self::Whole(texts) => {
                for text in texts {
                    let mut copy = Some(text.clone());
                    timed(&mut || copy.take().map_or(0, |text| from_text(text, policies)));
                }
            }
            Self::Alone(reviews) => {
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
    Document::from_json_string(text).map_or(0, |object| {
        black_box(verdict(&review_of(object, ReviewSource::Original, policies, Unplaced::Nowhere), policies))
            .violations()
            .len()
    })
}

/// Measures reviews of all objects, by all constraints together and by each alone.
pub(super) fn measure(assembly: &mut Assembly, plan: &Plan, set_up: Duration, grown: Option<u64>) -> Record {
    let mut rows = rows(assembly);
    let rounds = plan.rounds.min(plan.iterations);
    let progress =
        Progress::new(usize::try_from(rounds).unwrap_or(usize::MAX).saturating_mul(rows.len()), "rounds");
    let (mut violations, mut busy) = (0, Duration::ZERO);
    for row in &mut rows {
        row.pass(plan.warmup.saturating_mul(plan.threads), plan.threads, false);
    }
    for round in 0..rounds {
        for row in &mut rows {
            let started = Instant::now();
            let found = row.pass(share(plan.iterations, rounds, round), plan.threads, true);
            if row.name.is_none() {
                violations = found;
                busy = busy.saturating_add(started.elapsed());
            }
            if let Some(collector) = &mut row.collector {
                collector.end_round();
            }
            progress.advance();
        }
    }
    drop(progress);
    record(assembly, plan, rows, Facts { set_up, grown, violations, rounds, busy })
}

struct Facts {
    set_up: Duration,
    grown: Option<u64>,
    violations: usize,
    rounds: u64,
    /// The time that the reviews by all constraints took.
    busy: Duration,
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
            .map(|subject| {
                review_of(subject.object.clone(), ReviewSource::Original, &policies, Unplaced::Nowhere)
            })
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
        threads: plan.threads,
        reviews_per_second: rate(all.as_ref(), facts.busy),
        set_up: nanoseconds(facts.set_up),
        violations: facts.violations,
        memory,
        all: all.unwrap_or_else(Latency::none),
        constraints,
    }
}

/// Reviews in a second.
fn rate(all: Option<&Latency>, busy: Duration) -> u64 {
    let reviews = u128::from(all.map_or(0, |latency| latency.reviews)).saturating_mul(1_000_000_000);
    reviews.checked_div(busy.as_nanos()).and_then(|rate| u64::try_from(rate).ok()).unwrap_or_default()
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
