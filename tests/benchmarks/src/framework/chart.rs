//! The ratios as a drawing: a bar for each outcome on a logarithmic scale, with a mark where the goal is.

use svg::Document;
use svg::node::element::{Line, Rectangle, Text, Title};

use super::round::Outcome;
use super::table::times;

const LABELS: f64 = 330.0;
const BARS: f64 = 480.0;
const ROW: f64 = 22.0;
const TOP: f64 = 44.0;

/// An SVG document.
pub fn chart(outcomes: &[Outcome]) -> String {
    let height = TOP + ROW * outcomes.len() as f64 + 12.0;
    let (width, decades) = (LABELS + BARS + 80.0, decades(outcomes));
    let mut document = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("font-family", "sans-serif")
        .set("font-size", 12)
        .add(Title::new("Gatekeeper's figure divided by webtroller's"))
        .add(Rectangle::new().set("width", width).set("height", height).set("fill", "#ffffff"));
    for decade in 0..=decades {
        document = grid(document, decade, decades, height);
    }
    for (row, outcome) in outcomes.iter().enumerate() {
        document = bar(document, outcome, TOP + ROW * row as f64, decades);
    }
    document.to_string()
}

/// The power of ten that no ratio and no goal is beyond.
fn decades(outcomes: &[Outcome]) -> i32 {
    let most = outcomes.iter().map(|outcome| outcome.ratio.median.max(outcome.goal.unwrap_or(1.0)));
    // A figure of zero makes a ratio without end.
    most.filter(|ratio| ratio.is_finite()).fold(10.0, f64::max).log10().ceil() as i32
}

fn place(ratio: f64, decades: i32) -> f64 {
    let share = ratio.max(1.0).log10() / f64::from(decades);
    LABELS + BARS * share.min(1.0)
}

fn grid(document: Document, decade: i32, decades: i32, height: f64) -> Document {
    let ratio = 10_f64.powi(decade);
    let x = place(ratio, decades);
    let line = Line::new().set("x1", x).set("x2", x).set("y1", TOP - 8.0).set("y2", height - 8.0);
    let label = Text::new(times(ratio)).set("x", x).set("y", TOP - 16.0).set("text-anchor", "middle");
    document.add(line.set("stroke", "#d8dee4")).add(label.set("fill", "#57606a"))
}

fn bar(document: Document, outcome: &Outcome, y: f64, decades: i32) -> Document {
    let end = place(outcome.ratio.median, decades);
    let is_met = outcome.goal.is_none_or(|goal| outcome.ratio.median >= goal);
    let colour = if is_met { "#2f6f9f" } else { "#b35900" };
    let name = Text::new(&outcome.name).set("x", LABELS - 8.0).set("y", y + 12.0).set("text-anchor", "end");
    let bar = Rectangle::new().set("x", LABELS).set("y", y).set("height", ROW - 7.0).set("fill", colour);
    let figure = Text::new(times(outcome.ratio.median)).set("x", end + 5.0).set("y", y + 12.0);
    let document = document.add(name).add(bar.set("width", (end - LABELS).max(1.0))).add(figure);
    match outcome.goal.map(|goal| place(goal, decades)) {
        Some(x) => {
            let mark = Line::new().set("x1", x).set("x2", x).set("y1", y - 2.0).set("y2", y + ROW - 5.0);
            document.add(mark.set("stroke", "#1f2328").set("stroke-width", 2))
        }
        None => document,
    }
}
