//! Times the constraint framework beside Gatekeeper's and prints a table; `--svg FILE` draws a chart too.
//!
//! ```text
//! cargo run --release -p benchmarks --bin framework -- [--svg FILE] [NAME...]
//! ```
//!
//! A NAME keeps the scenarios that contain it. `BENCH_ROUNDS` (5) and `BENCH_MILLISECONDS` (300, a side's turn in a
//! round) set the effort, `BENCH_DIVISOR` (1) shrinks every scenario, `BENCH_LARGE=1` adds 100,000 objects, and
//! `GATEKEEPER_LIBRARY` says where the policy library is.

use std::alloc::System;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use benchmarks::core_of_one;
use benchmarks::framework::round::{Effort, Outcome, run};
use benchmarks::framework::scenario::{Scale, Scenario, all, library};
use benchmarks::framework::theirs::Theirs;
use benchmarks::framework::{chart, table};
use cap::Cap;
use conformance::scale::from_env;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

struct Arguments {
    svg: Option<PathBuf>,
    names: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    let core = core_of_one::settle().context("cannot keep to one core")?;
    eprintln!("on core {core}, both sides in turns");
    let scenarios = scenarios(&arguments.names)?;
    let mut theirs = Theirs::start()?;
    let effort = Effort {
        rounds: from_env("BENCH_ROUNDS", 5).max(1),
        turn: Duration::from_millis(u64::try_from(from_env("BENCH_MILLISECONDS", 300))?),
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    for scenario in &scenarios {
        let outcome = run(scenario, effort, &mut theirs, &|| HEAP.allocated())?;
        eprintln!("{}: {:.1}", outcome.name, outcome.ratio.median);
        outcomes.push(outcome);
    }
    println!("{}", table::table(&outcomes));
    if let Some(path) = arguments.svg {
        std::fs::write(&path, chart::chart(&outcomes)).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut all = std::env::args().skip(1);
    let mut arguments = Arguments { svg: None, names: Vec::new() };
    while let Some(argument) = all.next() {
        match argument.as_str() {
            "--svg" => arguments.svg = Some(all.next().context("--svg needs a file")?.into()),
            name => arguments.names.push(name.to_owned()),
        }
    }
    Ok(arguments)
}

fn scenarios(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    let divisor = from_env("BENCH_DIVISOR", 1);
    let mut scenarios = all(Scale { divisor, large: from_env("BENCH_LARGE", 0) > 0 });
    match conformance::library::folder() {
        Ok(folder) => scenarios.extend(library(&folder)?),
        Err(reason) => eprintln!("without B5: {reason}"),
    }
    let wanted = |scenario: &Scenario| {
        let title = format!("{} {}", scenario.group, scenario.name);
        names.is_empty() || names.iter().any(|name| title.contains(name.as_str()))
    };
    scenarios.retain(wanted);
    Ok(scenarios)
}
