//! Predictions as a table and as a plot.

use std::fmt::Write;

use super::{Exposure, Prediction, quantile};

const SHARES: [f64; 3] = [0.5, 0.9, 0.99];
const COLOURS: [&str; 6] = ["#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6f4e7c", "#444444"];
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// The panel of availability begins below the curves.
const SECOND: f64 = 360.0;
/// Smaller probabilities are drawn at the lower edge: 10 to the power of this.
const LEAST: i32 = -12;
const MARGIN: f64 = 48.0;
/// Points of a curve.
const POINTS: u32 = 160;

/// Formats one line for each prediction: the mean, the quantiles, and the requests judged by the old generation. Below it for
/// each number of pods the probability that too few are up, and that a client meets the one that is behind.
pub fn table(predictions: &[Prediction], exposure: &Exposure) -> String {
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
    exposures(&mut text, predictions, exposure);
    text
}

fn exposures(text: &mut String, predictions: &[Prediction], exposure: &Exposure) {
    let Exposure { needed, requests, .. } = exposure;
    let _ = writeln!(
        text,
        "\npods   fewer than {needed} up   if independent   one pod behind is met by 1 request   by one of {requests}"
    );
    for Prediction { pods, .. } in predictions {
        let (one, all) = exposure.leaks(*pods);
        let (down, independent) = (exposure.unavailability(*pods), exposure.independent(*pods));
        let _ = writeln!(text, "{pods:4} {down:16.1e} {independent:16.1e} {one:31.2} {all:13.2}");
    }
}

/// Draws the share of changes that all pods enforce within a time, one curve for each prediction; below it the probability
/// that too few pods are up, with common causes and without.
pub fn svg(predictions: &[Prediction], exposure: &Exposure) -> String {
    let longest = predictions.iter().map(|prediction| prediction.quantile(0.99)).fold(0.1, f64::max);
    let total = HEIGHT + SECOND;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{total}\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"24\">Share of changes that all pods enforce within a time</text>\n"
    );
    (0..=4u32).for_each(|quarter| grid_line(&mut text, longest, f64::from(quarter) / 4.0));
    for (prediction, (index, colour)) in predictions.iter().zip((0u32..).zip(COLOURS.iter().cycle())) {
        curve(&mut text, longest, prediction, f64::from(index), colour);
    }
    availability(&mut text, predictions, exposure);
    text.push_str("</svg>\n");
    text
}

/// The second panel: a logarithmic scale from 1 down to 10^LEAST.
fn availability(text: &mut String, predictions: &[Prediction], exposure: &Exposure) {
    let needed = exposure.needed;
    let top = HEIGHT + 24.0;
    let _ = writeln!(
        text,
        "<text x=\"{MARGIN}\" y=\"{top}\">Probability that fewer than {needed} pods are up</text>"
    );
    let level = |probability: f64| {
        let part = probability.log10().max(f64::from(LEAST)) / f64::from(LEAST);
        HEIGHT + MARGIN + part.clamp(0.0, 1.0) * (SECOND - 2.0 * MARGIN)
    };
    for exponent in (LEAST..=0).step_by(3) {
        let (height, right) = (level(10f64.powi(exponent)), WIDTH - MARGIN);
        let line = format!("x1=\"{MARGIN}\" x2=\"{right}\" y1=\"{height:.1}\" y2=\"{height:.1}\"");
        let _ = writeln!(text, "<line {line} stroke=\"#ddd\"/>");
        let _ = writeln!(text, "<text x=\"8\" y=\"{:.1}\">1e{exponent}</text>", height + 4.0);
    }
    let last = f64::from(u32::try_from(predictions.len()).unwrap_or(u32::MAX).saturating_sub(1).max(1));
    let place = |index: u32| MARGIN + f64::from(index) / last * (WIDTH - 2.0 * MARGIN);
    for (index, prediction) in (0u32..).zip(predictions) {
        let (left, bottom) = (place(index) - 16.0, HEIGHT + SECOND - 24.0);
        let _ = writeln!(text, "<text x=\"{left:.1}\" y=\"{bottom}\">{} pods</text>", prediction.pods);
    }
    for (name, colour, below, together) in
        [("with common causes", "#d1495b", 24.0, true), ("if independent", "#1b6ca8", 40.0, false)]
    {
        let point = |(index, prediction): (u32, &Prediction)| {
            let pods = prediction.pods;
            let probability =
                if together { exposure.unavailability(pods) } else { exposure.independent(pods) };
            format!("{:.1},{:.1}", place(index), level(probability))
        };
        let points = (0u32..).zip(predictions).map(point).collect::<Vec<String>>().join(" ");
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
        let _ = writeln!(text, "<polyline points=\"{points}\" {style}/>");
        let (left, height) = (WIDTH - MARGIN - 130.0, HEIGHT + below);
        let _ = writeln!(text, "<text x=\"{left}\" y=\"{height}\" fill=\"{colour}\">{name}</text>");
    }
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
    use crate::sim::{Distribution, Simulation};

    #[test]
    fn every_prediction_has_a_row_in_both_tables_and_a_curve() {
        let predict =
            |pods| Simulation::new(pods, Distribution::Exponential { mean: 0.5 }).samples(2000).run();
        let predictions = [1, 3, 60].map(predict);
        let exposure = Exposure::default();
        let table = table(&predictions, &exposure);
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.len(), 9);
        assert_eq!(rows[3][0], "60");
        assert_eq!(rows[7], ["3", "5.0e-4", "1.0e-6", "0.33", "0.70"]);
        let svg = svg(&predictions, &exposure);
        assert_eq!(svg.matches("<polyline").count(), 5, "three curves, and two lines of availability");
        assert!(svg.contains(">60 pods<") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("that fewer than 1 pods are up") && svg.contains(">with common causes<"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
