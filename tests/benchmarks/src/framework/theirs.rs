//! Gatekeeper's side: the pinned framework in a Go program, which takes its own times.

use std::time::Duration;

use anyhow::{Context, bail};
use conformance::Judge;
use serde_json::{Value, json};

use super::scenario::Policies;
use super::{Found, Ingest, Passes, details_text, message_text};

/// The Go program with one client in it.
#[derive(Debug)]
pub struct Theirs {
    judge: Judge,
}

impl Theirs {
    /// Starts the program.
    ///
    /// # Errors
    /// Go is missing, or the program does not build.
    pub fn start() -> anyhow::Result<Self> {
        Ok(Self { judge: Judge::gatekeeper()? })
    }

    /// Takes in policies and inventory, in place of those before.
    ///
    /// # Errors
    /// A manifest that is refused.
    pub fn ingest(&mut self, policies: &Policies) -> anyhow::Result<Ingest> {
        self.ask(json!({"op": "forget", "key": KEY}))?;
        let answer = self.ask(json!({
            "op": "ingest", "key": KEY, "templates": policies.templates, "constraints": policies.constraints,
            "inventory": policies.inventory,
        }))?;
        Ok(Ingest { nanoseconds: number(&answer, "ns")?, bytes: number(&answer, "bytes")? })
    }

    /// Reviews all requests again and again until the time is up; at least once.
    ///
    /// # Errors
    /// An invalid request, or a review that fails as a whole.
    pub fn bench(&mut self, requests: &[String], time: Duration) -> anyhow::Result<Passes> {
        let question = json!({
            "op": "bench", "key": KEY, "reviews": requests, "ms": u64::try_from(time.as_millis())?,
        });
        let answer = self.ask(question)?;
        let nanoseconds = list(&answer, "ns")?.iter().filter_map(Value::as_f64).collect();
        let found = list(&answer, "results")?.iter().map(found).collect::<anyhow::Result<_>>()?;
        Ok(Passes { nanoseconds, found })
    }

    fn ask(&mut self, question: Value) -> anyhow::Result<Value> {
        let answer = self.judge.ask(&question)?;
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => bail!("Gatekeeper says: {message}"),
            None => Ok(answer),
        }
    }
}

const KEY: &str = "bench";

fn number(answer: &Value, field: &str) -> anyhow::Result<f64> {
    answer.get(field).and_then(Value::as_f64).with_context(|| format!("no `{field}` in the answer"))
}

fn list<'a>(answer: &'a Value, field: &str) -> anyhow::Result<&'a [Value]> {
    let list = answer.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).with_context(|| format!("no `{field}` in the answer"))
}

fn found(review: &Value) -> anyhow::Result<Vec<Found>> {
    let results = review.as_array().context("the results of a review are no list")?;
    let mut all: Vec<Found> = results.iter().map(found_one).collect();
    all.sort();
    Ok(all)
}

fn found_one(result: &Value) -> Found {
    let text = |field: &str| result.get(field).and_then(Value::as_str).unwrap_or_default();
    Found {
        constraint: format!("{}/{}", text("kind"), text("name")),
        message: message_text(text("msg")),
        details: details_text(result.get("details")),
        action: text("action").to_owned(),
    }
}
