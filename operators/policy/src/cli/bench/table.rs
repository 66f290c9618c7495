//! Measurements and comparisons as tables for people.

use std::fmt::Write;

use super::compare::{Change, Comparison, Verdict};
use super::record::{Latency, Record};
use crate::text::counted;

pub(super) fn record(record: &Record) -> String {
    let mut text = format!(
        "{}, {}, {} with {}; {} reviews of each object in {} rounds",
        counted(record.templates, "template"),
        counted(record.constraints.len(), "constraint"),
        counted(record.objects, "object"),
        counted(record.violations, "violation"),
        record.iterations,
        record.rounds
    );
    if record.threads > 1 {
        let (threads, rate) = (record.threads, record.reviews_per_second);
        let _ = write!(text, " on {threads} threads: {rate} reviews/s");
    }
    let _ = write!(text, "\nset-up {}", duration(record.set_up));
    if let Some(memory) = &record.memory {
        let _ =
            write!(text, ", {} of memory for it, {} at the peak", bytes(memory.set_up), bytes(memory.peak));
    }
    let width = record.rows().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let _ = writeln!(
        text,
        "\n\n{:width$}  {:>8} {:>8} {:>8} {:>8}  medians of rounds",
        "", "p50", "p95", "p99", "max"
    );
    for (name, latency) in record.rows() {
        let [p50, p95, p99, max] = [latency.p50, latency.p95, latency.p99, latency.max].map(duration);
        let _ = writeln!(text, "{name:width$}  {p50:>8} {p95:>8} {p99:>8} {max:>8}  {}", spread(latency));
    }
    text.push_str("\nAll constraints: from JSON text to verdict. One constraint: what it adds, with the object parsed.\n");
    text
}

pub(super) fn comparison(comparison: &Comparison) -> String {
    let width = comparison.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let mut text = format!("\n{:width$}  {:>8} {:>8} {:>9}\n", "median", "then", "now", "change");
    for row in &comparison.rows {
        let _ = match &row.change {
            Change::New => writeln!(text, "{:width$}  not measured then", row.name),
            Change::Gone => writeln!(text, "{:width$}  not measured now", row.name),
            Change::Times { before, after, percent, verdict } => {
                let (before, after) = (duration(*before), duration(*after));
                let end = match verdict {
                    Verdict::Slower => "  SLOWER",
                    Verdict::Unclear => "  unclear: rounds overlap; measure longer, or on a quiet machine",
                    Verdict::Fine => "",
                };
                writeln!(text, "{:width$}  {before:>8} {after:>8} {percent:>+8.1}%{end}", row.name)
            }
        };
    }
    for caveat in &comparison.caveats {
        let _ = writeln!(text, "not the same inputs: {caveat}");
    }
    text
}

fn spread(latency: &Latency) -> String {
    let (fastest, slowest) = latency.spread();
    format!("{} to {}", duration(fastest), duration(slowest))
}

/// Three digits and a unit.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn duration(nanoseconds: u64) -> String {
    scaled(nanoseconds as f64, 1000.0, &["ns", "µs", "ms", "s"])
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB"])
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter().peekable();
    loop {
        let unit = units.next().copied().unwrap_or_default();
        if value < 999.5 || units.peek().is_none() {
            let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
            return format!("{value:.decimals$} {unit}");
        }
        value /= step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (nanoseconds, expected) in [
            (0, "0.00 ns"),
            (12, "12.0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (1_234_567, "1.23 ms"),
            (99_960, "100 µs"),
            (5_000_000_000_000, "5000 s"),
        ] {
            assert_eq!(duration(nanoseconds), expected);
        }
        assert_eq!(bytes(3 << 20), "3.00 MiB");
    }
}
