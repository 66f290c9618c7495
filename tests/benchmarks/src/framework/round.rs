//! Both sides take turns, and must give the same answers.

use std::time::Duration;

use anyhow::{Context, bail};

use crate::spread::Spread;

use super::ours::Ours;
use super::scenario::{Measure, Scenario};
use super::theirs::Theirs;
use super::{Found, Passes};

/// The length and number of repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds: in each, either side has one turn.
    pub rounds: usize,
    /// The time that a turn lasts at least; a pass over the requests is never cut short.
    pub turn: Duration,
}

/// The results of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The scenario's group and name.
    pub name: String,
    /// The measured quantity.
    pub measure: Measure,
    /// Our figure, a median: nanoseconds a request, nanoseconds a template, or bytes an item.
    pub ours: f64,
    /// Gatekeeper's figure.
    pub theirs: f64,
    /// Theirs divided by ours, round by round.
    pub ratio: Spread,
    /// The ratio that we want.
    pub goal: Option<f64>,
}

/// Runs a scenario on both sides.
///
/// # Errors
/// Either side fails, or the verdicts differ: then the first difference is told.
pub fn run(
    scenario: &Scenario,
    effort: Effort,
    theirs: &mut Theirs,
    heap: &dyn Fn() -> usize,
) -> anyhow::Result<Outcome> {
    let pairs = match scenario.measure {
        Measure::Review => reviews(scenario, effort, theirs, heap),
        Measure::Ingest | Measure::Memory => ingests(scenario, effort, theirs, heap),
    };
    outcome(scenario, &pairs.with_context(|| format!("{} {}", scenario.group, scenario.name))?)
}

/// Ours and theirs, of one round.
type Pair = (f64, f64);

fn reviews(
    scenario: &Scenario,
    effort: Effort,
    theirs: &mut Theirs,
    heap: &dyn Fn() -> usize,
) -> anyhow::Result<Vec<Pair>> {
    let (ours, _) = Ours::ingest(&scenario.policies, heap)?;
    theirs.ingest(&scenario.policies)?;
    // The first turn warms caches, and settles whether the answers agree.
    turn(&ours, theirs, scenario, Duration::ZERO)?;
    let per_request = |passes: &Passes| {
        let median = Spread::of(passes.nanoseconds.iter().copied()).map(|spread| spread.median);
        median.unwrap_or(f64::NAN) / scenario.requests.len() as f64
    };
    let mut pairs = Vec::new();
    for _ in 0..effort.rounds {
        let (mine, other) = turn(&ours, theirs, scenario, effort.turn)?;
        pairs.push((per_request(&mine), per_request(&other)));
    }
    Ok(pairs)
}

fn ingests(
    scenario: &Scenario,
    effort: Effort,
    theirs: &mut Theirs,
    heap: &dyn Fn() -> usize,
) -> anyhow::Result<Vec<Pair>> {
    let items = scenario.policies.items(scenario.measure) as f64;
    let mut pairs = Vec::new();
    for _ in 0..effort.rounds {
        let before = heap();
        let (ours, mut mine) = Ours::ingest(&scenario.policies, heap)?;
        let other = theirs.ingest(&scenario.policies)?;
        // What a review builds and keeps is memory too.
        turn(&ours, theirs, scenario, Duration::ZERO)?;
        mine.bytes = heap() as f64 - before as f64;
        pairs.push(match scenario.measure {
            Measure::Memory => (mine.bytes / items, other.bytes / items),
            Measure::Ingest | Measure::Review => (mine.nanoseconds / items, other.nanoseconds / items),
        });
    }
    Ok(pairs)
}

/// One turn of either side, and the same answers from both.
fn turn(
    ours: &Ours,
    theirs: &mut Theirs,
    scenario: &Scenario,
    time: Duration,
) -> anyhow::Result<(Passes, Passes)> {
    let mine = ours.bench(&scenario.requests, time)?;
    let other = theirs.bench(&scenario.requests, time)?;
    agree(&mine, &other)?;
    Ok((mine, other))
}

fn outcome(scenario: &Scenario, pairs: &[Pair]) -> anyhow::Result<Outcome> {
    let median = |figures: Vec<f64>| Spread::of(figures).map(|spread| spread.median).context("no rounds");
    Ok(Outcome {
        name: format!("{} {}", scenario.group, scenario.name),
        measure: scenario.measure,
        ours: median(pairs.iter().map(|pair| pair.0).collect())?,
        theirs: median(pairs.iter().map(|pair| pair.1).collect())?,
        ratio: Spread::of(pairs.iter().map(|(ours, theirs)| theirs / ours)).context("no rounds")?,
        goal: scenario.goal,
    })
}

/// Fails where the two sides answer differently: their times could not be compared.
fn agree(ours: &Passes, theirs: &Passes) -> anyhow::Result<()> {
    for (position, (mine, other)) in ours.found.iter().zip(&theirs.found).enumerate() {
        if mine != other {
            bail!("request {position}: {}", difference(mine, other));
        }
    }
    if ours.found.len() == theirs.found.len() {
        return Ok(());
    }
    bail!("{} answers from us, {} from Gatekeeper", ours.found.len(), theirs.found.len())
}

fn difference(ours: &[Found], theirs: &[Found]) -> String {
    let only = |these: &[Found], those: &[Found]| {
        these
            .iter()
            .find(|found| !those.contains(found))
            .map_or("nothing".to_owned(), |found| format!("{found:?}"))
    };
    format!("only we say {}; only Gatekeeper says {}", only(ours, theirs), only(theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(messages: &[&str]) -> Passes {
        let found = |message: &&str| Found {
            constraint: "K/a".to_owned(),
            message: (*message).to_owned(),
            details: "{}".to_owned(),
            action: "deny".to_owned(),
        };
        Passes { nanoseconds: vec![1.0], found: vec![messages.iter().map(found).collect()] }
    }

    #[test]
    fn another_message_is_a_difference() {
        assert!(agree(&passes(&["a"]), &passes(&["a"])).is_ok());
        let error = agree(&passes(&["a", "b"]), &passes(&["a"])).unwrap_err().to_string();
        assert!(error.contains("only we say") && error.contains("\"b\""), "{error}");
        assert!(error.ends_with("only Gatekeeper says nothing"), "{error}");
        assert!(agree(&passes(&[]), &Passes::default()).is_err());
    }
}
