//! Predictions as a table and as a plot.

use std::fmt::Write;

use super::{Prediction, quantile};

const SHARES: [f64; 3] = [0.5, 0.9, 0.99];
const COLOURS: [&str; 6] = ["#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6f4e7c", "#444444"];
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 48.0;
/// Points of a curve.
const POINTS: u32 = 160;

/// One line for each prediction: the mean, the quantiles, and the requests judged by the old generation.
pub fn table(predictions: &[Prediction]) -> String {
    let mut text = "pods   mean    p50     p90     p99   visible p99   old requests per change\n".to_owned();
    for prediction in predictions {
        let [p50, p90, p99] = SHARES.map(|share| prediction.quantile(share));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:4} {:6.2}s {:6.2}s {:6.2}s {:6.2}s {:12.2}s {:12.2}",
            prediction.pods,
            prediction.mean(),
            p50,
            p90,
            p99,
            quantile(&prediction.visible, 0.99),
            prediction.exposed_requests,
        );
    }
    text
}

/// The share of changes that all pods enforce within a time, one curve for each prediction.
pub fn svg(predictions: &[Prediction]) -> String {
    let longest = predictions.iter().map(|prediction| prediction.quantile(0.99)).fold(0.1, f64::max);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"24\">Share of changes that all pods enforce within a time</text>\n"
    );
    (0..=4u32).for_each(|quarter| grid_line(&mut text, longest, f64::from(quarter) / 4.0));
    for (prediction, (index, colour)) in predictions.iter().zip((0u32..).zip(COLOURS.iter().cycle())) {
        curve(&mut text, longest, prediction, f64::from(index), colour);
    }
    text.push_str("</svg>\n");
    text
}

fn x(seconds: f64, longest: f64) -> f64 {
    MARGIN + seconds / longest * (WIDTH - 2.0 * MARGIN)
}

fn y(share: f64) -> f64 {
    HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN)
}

// Writing to a string cannot fail: the results of `writeln!` are ignored.
fn grid_line(text: &mut String, longest: f64, share: f64) {
    let (seconds, height, right) = (longest * share, y(share), WIDTH - MARGIN);
    let line = format!("x1=\"{MARGIN}\" x2=\"{right}\" y1=\"{height:.1}\" y2=\"{height:.1}\"");
    let _ = writeln!(text, "<line {line} stroke=\"#ddd\"/>");
    let _ = writeln!(text, "<text x=\"12\" y=\"{:.1}\">{share:.2}</text>", height + 4.0);
    let (left, bottom) = (x(seconds, longest) - 10.0, HEIGHT - 24.0);
    let _ = writeln!(text, "<text x=\"{left:.1}\" y=\"{bottom}\">{seconds:.1} s</text>");
}

fn curve(text: &mut String, longest: f64, prediction: &Prediction, index: f64, colour: &str) {
    let point = |point: u32| {
        let seconds = longest * f64::from(point) / f64::from(POINTS);
        format!("{:.1},{:.1}", x(seconds, longest), y(prediction.probability(seconds)))
    };
    let points = (0..=POINTS).map(point).collect::<Vec<String>>().join(" ");
    let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
    let _ = writeln!(text, "<polyline points=\"{points}\" {style}/>");
    let (left, line) = (WIDTH - MARGIN - 64.0, HEIGHT - MARGIN - 12.0 - 16.0 * index);
    let pods = prediction.pods;
    let _ = writeln!(text, "<text x=\"{left:.1}\" y=\"{line:.1}\" fill=\"{colour}\">{pods} pods</text>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Law, Simulation};

    #[test]
    fn every_prediction_has_a_row_and_a_curve() {
        let predict = |pods| Simulation::new(pods, Law::Exponential { mean: 0.5 }).samples(2000).run();
        let predictions = [1, 3, 60].map(predict);
        let rows: Vec<String> = table(&predictions).lines().map(str::to_owned).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows[3].trim_start().starts_with("60 "));
        let svg = svg(&predictions);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert!(svg.contains(">60 pods<") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN"));
    }
}
