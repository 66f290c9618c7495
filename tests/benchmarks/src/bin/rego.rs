//! Prints how fast Rego is evaluated and compiled, as ratios against OPA and plain regorus.
//!
//! `cargo run --release -p benchmarks --bin rego` takes the policy library from `GATEKEEPER_LIBRARY`, keeps to one
//! core, and fails if a verdict differs from OPA's.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use benchmarks::figure::{line, mean};
use benchmarks::rego::race::{self, Row, Times};
use benchmarks::rego::{ours, pod};
use benchmarks::timing::Pace;
use clap::Parser;
use conformance::Judge;
use conformance::library::{self, Subject};

/// Rego against OPA and plain regorus: ratios, in one run on one core.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only templates whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Rounds in which every contender has one turn.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Milliseconds of one turn.
    #[arg(long, default_value_t = 2)]
    turn: u64,
    /// Measures nothing: evaluates the templates' samples this many times, for a profiler to watch.
    #[arg(long)]
    repeat: Option<u32>,
    /// As `--repeat`, for compiling.
    #[arg(long)]
    repeat_compile: Option<u32>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let core = benchmarks::core_of_one::settle()?;
    let folder = library::folder().map_err(|reason| anyhow!("{reason}"))?.join("library");
    let mut subjects = library::subjects(&folder).map_err(|reason| anyhow!("{reason}"))?;
    subjects.retain(|subject| subject.name.contains(&arguments.only));
    if arguments.repeat.or(arguments.repeat_compile).is_some() {
        return watched(&subjects, &arguments);
    }
    println!("Everything on core {core}, in {} rounds.", arguments.rounds);
    let mut judge = Judge::opa()?;
    let pace = Pace { rounds: arguments.rounds, turn: Duration::from_millis(arguments.turn) };
    samples(&mut judge, &subjects, pace)?;
    one_pod(&mut judge, &subjects, pace)
}

fn watched(subjects: &[Subject], arguments: &Arguments) -> Result<()> {
    for subject in subjects {
        for _ in 0..arguments.repeat_compile.unwrap_or(0) {
            std::hint::black_box(ours::compiled(subject)?);
        }
        let program = ours::compiled(subject)?;
        for case in &subject.cases {
            ours::Loaded::new(&program, case)?.run(arguments.repeat.unwrap_or(0))?;
        }
    }
    Ok(())
}

fn samples(judge: &mut Judge, subjects: &[Subject], pace: Pace) -> Result<()> {
    let mut rows = Vec::with_capacity(subjects.len());
    println!("How many times as long as rego-compat takes. Evaluation: mean of the template's samples.");
    println!("{:42} evaluation {:40} compiling", "", "");
    println!("{:42} {HEAD}   {HEAD}", "template");
    for subject in subjects {
        let row = race::template(judge, subject, &subject.cases, pace)
            .with_context(|| format!("template {}", subject.name))?;
        println!("{:42} {}   {}", row.name, cells(&averaged(&row.samples)), cells(&row.compile));
        rows.push(row);
    }
    let evaluation: Vec<Times> = rows.iter().map(|row| averaged(&row.samples)).collect();
    let every: Vec<Times> = rows.iter().flat_map(|row| row.samples.clone()).collect();
    let compiling: Vec<Times> = rows.iter().map(|row| row.compile).collect();
    summary(&format!("Evaluation, {} templates", rows.len()), &evaluation);
    summary(&format!("Evaluation, {} samples", every.len()), &every);
    summary(&format!("Compiling, {} templates", rows.len()), &compiling);
    println!("\nNo contender, because the answer differs from OPA's:");
    for row in rows.iter().filter(|row| !row.remarks.is_empty()) {
        println!("  {} times: {}", row.remarks.len(), row.remarks.first().map_or("", String::as_str));
    }
    Ok(())
}

const HEAD: &str = "   ours µs      OPA  regorus interp.  regorus VM";

fn cells(times: &Times) -> String {
    let ratio = |other: Option<f64>| {
        other.map_or_else(|| "-".to_owned(), |other| format!("{:.2}", other / times.ours))
    };
    let (opa, interpreter, machine) =
        (ratio(Some(times.opa)), ratio(times.interpreter), ratio(times.machine));
    format!("{:10.2} {opa:>8} {interpreter:>16} {machine:>11}", times.ours / 1000.0)
}

/// The mean over samples; an engine that is not a contender on one of them is none.
fn averaged(samples: &[Times]) -> Times {
    let all = |pick: fn(&Times) -> Option<f64>| {
        let series: Option<Vec<f64>> = samples.iter().map(pick).collect();
        series.map(mean)
    };
    Times {
        ours: mean(samples.iter().map(|times| times.ours)),
        opa: mean(samples.iter().map(|times| times.opa)),
        interpreter: all(|times| times.interpreter),
        machine: all(|times| times.machine),
    }
}

fn summary(title: &str, times: &[Times]) {
    let series = |pick: fn(&Times) -> Option<f64>| -> Vec<f64> {
        times.iter().filter_map(|times| Some(pick(times)? / times.ours)).collect()
    };
    let total = |pick: fn(&Times) -> f64| mean(times.iter().map(pick)) / 1000.0;
    println!("\n{title}: ours {:.2} µs, OPA {:.2} µs (means)", total(|t| t.ours), total(|t| t.opa));
    println!("{:26} geo.mean  minimum      p10   median      p90  maximum", "  times as long as ours");
    println!("  {:24} {}", "OPA", line(&series(|times| Some(times.opa))));
    println!("  {:24} {}", "regorus interpreter", line(&series(|times| times.interpreter)));
    println!("  {:24} {}", "regorus virtual machine", line(&series(|times| times.machine)));
}

/// One Pod that every constraint which selects Pods sees: one evaluation of each template.
fn one_pod(judge: &mut Judge, subjects: &[Subject], pace: Pace) -> Result<()> {
    let mut rows: Vec<(Row, Times)> = Vec::new();
    for subject in subjects {
        if let Some(case) = pod::case_of(subject) {
            let row = race::template(judge, subject, &[case], pace)
                .with_context(|| format!("template {}", subject.name))?;
            let times = averaged(&row.samples);
            rows.push((row, times));
        }
    }
    rows.sort_by(|(_, a), (_, b)| b.ours.total_cmp(&a.ours));
    println!("\nOne Pod that {} constraints see, each evaluated once:", rows.len());
    println!("{:42} {HEAD}", "template");
    rows.iter().for_each(|(row, times)| println!("{:42} {}", row.name, cells(times)));
    let (comparable, rest): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, times)| times.machine.is_some());
    let sum = |rows: &[&(Row, Times)], pick: fn(&Times) -> f64| {
        rows.iter().map(|(_, times)| pick(times)).sum::<f64>() / 1000.0
    };
    let all: Vec<&(Row, Times)> = comparable.iter().chain(&rest).copied().collect();
    println!("All: ours {:.1} µs, OPA {:.1} µs", sum(&all, |t| t.ours), sum(&all, |t| t.opa));
    println!(
        "The {} that the regorus VM answers as OPA does: ours {:.1} µs, regorus VM {:.1} µs",
        comparable.len(),
        sum(&comparable, |t| t.ours),
        sum(&comparable, |t| t.machine.unwrap_or(f64::NAN)),
    );
    Ok(())
}
