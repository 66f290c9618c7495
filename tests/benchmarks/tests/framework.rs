//! Every scenario, small and once: both sides must give the same answers, and table and chart must show them.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test says no by panicking")]

use std::path::Path;
use std::time::Duration;

use benchmarks::framework::round::{Effort, run};
use benchmarks::framework::scenario::{Scale, all, library};
use benchmarks::framework::theirs::Theirs;
use benchmarks::framework::{chart, table};
use libtest_mimic::{Arguments, Trial};

const ONCE: Effort = Effort { rounds: 1, turn: Duration::ZERO };

fn main() {
    let small = Trial::test("both_sides_agree_on_every_scenario_when_it_is_small", || {
        both_sides_agree_on_every_scenario();
        Ok(())
    });
    let library = match conformance::library::folder() {
        Ok(folder) => Trial::test("both_sides_agree_on_the_policy_library", move || {
            both_sides_agree_on_the_library(&folder);
            Ok(())
        }),
        Err(reason) => Trial::test(format!("both_sides_agree_on_the_policy_library: {reason}"), || Ok(()))
            .with_ignored_flag(true),
    };
    libtest_mimic::run(&Arguments::from_args(), vec![small, library]).exit();
}

fn both_sides_agree_on_every_scenario() {
    let mut theirs = Theirs::start().expect("the Go program");
    let scenarios = all(Scale { divisor: 50, large: false });
    let outcome = |scenario| run(scenario, ONCE, &mut theirs, &|| 0).expect("the same answers");
    let outcomes: Vec<_> = scenarios.iter().map(outcome).collect();
    let (table, chart) = (table::table(&outcomes), chart::chart(&outcomes));
    for outcome in &outcomes {
        assert!(table.contains(&outcome.name), "{} in\n{table}", outcome.name);
        assert!(chart.contains(&outcome.name), "{} in the chart", outcome.name);
    }
    assert_eq!(table.lines().skip(2).count(), outcomes.len());
}

fn both_sides_agree_on_the_library(folder: &Path) {
    let mut theirs = Theirs::start().expect("the Go program");
    for scenario in library(folder).expect("the library") {
        run(&scenario, ONCE, &mut theirs, &|| 0).expect("the same answers");
    }
}
