//! Figures and the lines in which they are printed. An empty series has no figure, and gives NaN.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};

/// A measured figure beside its peer or its goal.
#[derive(Debug, Clone)]
pub struct Line {
    /// The measured quantity.
    pub what: String,
    /// The figure of watch-manager.
    pub ours: f64,
    /// The unit of both figures.
    pub unit: &'static str,
    /// The other side and its figure.
    pub peer: Option<(&'static str, f64)>,
    /// The goal that the project set itself.
    pub goal: &'static str,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, ours, unit, peer, goal } = self;
        write!(f, "| {what} | {} {unit} | ", rounded(*ours))?;
        match peer {
            Some((name, theirs)) => {
                write!(f, "{name}: {} {unit} | {:.1} % | ", rounded(*theirs), ours / theirs * 100.0)?;
            }
            None => f.write_str("| | ")?,
        }
        write!(f, "{goal} |")
    }
}

fn rounded(figure: f64) -> String {
    if figure.abs() < 10.0 { format!("{figure:.2}") } else { format!("{figure:.0}") }
}

/// The value below which `percent` of the series lie, by the nearest rank.
#[must_use]
pub fn percentile(series: &[f64], percent: usize) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let rank = last.saturating_mul(percent).saturating_add(50).checked_div(100).unwrap_or(0);
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}

/// The middle of the series.
#[must_use]
pub fn median(series: &[f64]) -> f64 {
    percentile(series, 50)
}

/// The smallest of the series: what the work costs when no neighbour takes caches and memory bandwidth away.
#[must_use]
pub fn least(series: &[f64]) -> f64 {
    series.iter().copied().fold(f64::NAN, f64::min)
}

/// Seconds that this thread has computed: what other processes take does not count.
#[must_use]
pub fn computed() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
