//! The outcomes as a table for people.

use comfy_table::{CellAlignment, Table, presets};

use super::round::Outcome;
use super::scenario::Measure;

/// A Markdown table, a line for each outcome.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["scenario", "webtroller", "Gatekeeper", "ratio", "rounds from … to", "goal"]);
    for outcome in outcomes {
        let ratio = outcome.ratio;
        table.add_row([
            outcome.name.clone(),
            figure(outcome.ours, outcome.measure),
            figure(outcome.theirs, outcome.measure),
            times(ratio.median),
            format!("{} … {}", times(ratio.low), times(ratio.high)),
            outcome.goal.map(|goal| verdict(goal, ratio.median)).unwrap_or_default(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// A ratio in three figures.
pub(super) fn times(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 1 } else { 0 };
    format!("{ratio:.digits$}×")
}

fn verdict(goal: f64, reached: f64) -> String {
    let word = if reached >= goal { "met" } else { "missed" };
    format!("{} {word}", times(goal))
}

fn figure(value: f64, measure: Measure) -> String {
    match measure {
        Measure::Review | Measure::Ingest => duration(value),
        Measure::Memory => format!("{:.1} KB", value / 1e3),
    }
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use crate::spread::Spread;

    use super::*;

    #[test]
    fn a_line_says_both_figures_and_whether_the_goal_is_met() {
        let outcome = Outcome {
            name: "B1 a".to_owned(),
            measure: Measure::Review,
            ours: 2_000.0,
            theirs: 30_000_000.0,
            ratio: Spread { low: 14_000.0, median: 15_000.0, high: 15_100.0 },
            goal: Some(20_000.0),
        };
        let table = table(&[outcome]);
        for word in ["2.0 µs", "30.00 ms", "15000×", "14000× … 15100×", "20000× missed"] {
            assert!(table.contains(word), "{word} in\n{table}");
        }
    }
}
