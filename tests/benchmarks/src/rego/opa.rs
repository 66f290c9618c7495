//! OPA's prepared query, in the judge's process: the judge holds the clock, the pipe is outside of what it times.

use anyhow::{Result, bail};
use conformance::Judge;
use conformance::library::Subject;
use serde_json::{Value as Json, json};

/// Gives the judge a template, data, and inputs to parse. `key` names what it then holds.
///
/// # Errors
/// OPA refuses the modules.
pub fn load(judge: &mut Judge, key: &str, subject: &Subject, data: &Json, inputs: &[&Json]) -> Result<()> {
    said(judge.ask(&json!({
        "op": "bench_load", "key": key, "modules": subject.sources.to_json(), "v0": subject.sources.v0,
        "query": subject.query, "data": data, "inputs": inputs,
    }))?)?;
    Ok(())
}

/// Nanoseconds of `count` evaluations of one of the inputs, and what the last answered.
///
/// # Errors
/// The evaluation failed.
pub fn run(judge: &mut Judge, key: &str, case: usize, count: u32) -> Result<(u64, Option<Json>)> {
    let mut answer =
        said(judge.ask(&json!({"op": "bench_run", "key": key, "case": case, "rounds": count}))?)?;
    let result = answer.get_mut("result").map(Json::take);
    Ok((nanos(&answer), result))
}

/// Nanoseconds of `count` ways from the text of the modules to a prepared query.
///
/// # Errors
/// OPA refuses the modules.
pub fn compile(judge: &mut Judge, subject: &Subject, count: u32) -> Result<u64> {
    let answer = said(judge.ask(&json!({
        "op": "bench_compile", "modules": subject.sources.to_json(), "v0": subject.sources.v0,
        "query": subject.query, "rounds": count,
    }))?)?;
    Ok(nanos(&answer))
}

fn nanos(answer: &Json) -> u64 {
    answer.get("nanos").and_then(Json::as_u64).unwrap_or_default()
}

fn said(answer: Json) -> Result<Json> {
    match answer.get("error") {
        Some(error) => bail!("OPA: {error}"),
        None => Ok(answer),
    }
}
