//! Prints the figures of watch-manager beside those of kube-runtime and controller-runtime, as a Markdown table.
//!
//! `cargo run --release -p watch-benchmarks [NAME…]` keeps the scenarios whose names contain one of the arguments.
//! `BENCH_DIVISOR` (1) shrinks every scenario, `BENCH_ROUNDS` (5) sets the repetitions.

use anyhow::{Context, Result};
use watch_benchmarks::figures::Line;
use watch_benchmarks::scenario::{Scale, fan_out, join, memory, ready, requests, stalled};

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let scale = Scale { divisor: number("BENCH_DIVISOR", 1)?, rounds: number("BENCH_ROUNDS", 5)? };
    println!("| | watch-manager | beside | ratio | goal |\n|---|---|---|---|---|");
    for name in ["join", "fan-out", "stalled", "ready", "requests", "memory"] {
        if names.is_empty() || names.iter().any(|wanted| name.contains(wanted.as_str())) {
            let lines = measure(name, scale).with_context(|| format!("scenario {name}"))?;
            lines.iter().for_each(|line| println!("{line}"));
        }
    }
    Ok(())
}

/// Measures on one thread, so that no side wins by a second core.
fn measure(name: &str, scale: Scale) -> Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match name {
            "join" => join::run(scale).await,
            "fan-out" => fan_out::run(scale).await,
            "stalled" => stalled::run(scale).await,
            "ready" => ready::run(scale).await,
            "requests" => requests::run(scale).await,
            _ => memory::run(scale).await,
        }
    })
}

fn number(name: &str, default: usize) -> Result<usize> {
    std::env::var(name).map_or(Ok(default), |text| text.parse().with_context(|| name.to_owned()))
}
