//! The times until the slowest of five processes enforces a change: measured, and predicted by the simulator.
//!
//! `delays.txt` was measured with `POD_STATUS_CHANGES=400 POD_STATUS_DELAYS=FILE cargo test -p pod-status-tests --test processes
//! no_request`: a line for each change, with the milliseconds until each of five processes judged by it.

use pod_status::sim::{Distribution, Simulation, SplitDelays, quantile};

/// One quantile of the times, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Quantile {
    #[expect(dead_code, reason = "printed when an assertion fails")]
    part: f64,
    measured: f64,
    /// In which the quantile of the distribution is, with a confidence of 95 %.
    interval: (f64, f64),
    predicted: f64,
}

impl Quantile {
    /// Within 10 % of the measured one.
    fn agrees(&self) -> bool {
        (self.predicted / self.measured - 1.0).abs() <= 0.1
    }

    /// Within 10 % of what the quantile may be, considering how few changes were measured.
    pub fn agrees_within_its_interval(&self) -> bool {
        let (from, to) = self.interval;
        (from * 0.9..=to * 1.1).contains(&self.predicted)
    }
}

/// Predicts every second change from the others, and prints both. Neighbours meet the same machine: with the first half
/// of the changes against the second, a load that comes or goes would look like an error of the model.
pub fn compare(delays: &[Vec<f64>]) -> Vec<Quantile> {
    let known: Vec<Vec<f64>> = delays.iter().step_by(2).cloned().collect();
    let slowest: Vec<f64> = delays.iter().skip(1).step_by(2).map(|delays| ends(delays).1).collect();
    let split = SplitDelays::of(&known).unwrap();
    let alone = Simulation::new(5, Distribution::Empirical(known.concat())).run();
    let prediction = Simulation::new(5, split.own).shared(split.shared).run();
    let (known, others) = (known.len(), slowest.len());
    println!("{known} changes predict {others} others; times until the slowest of 5 enforces");
    let compare = |part: f64| {
        let (measured, predicted) = (share(&slowest, part), prediction.quantile(part));
        let (from, to) = interval(&slowest, part);
        println!(
            "p{:.0}: measured {measured:.3} s (95 % interval {from:.3} to {to:.3}), predicted {predicted:.3} s \
             ({:+.0} %); if the pods had nothing in common {:.3} s",
            part * 100.0,
            (predicted / measured - 1.0) * 100.0,
            alone.quantile(part)
        );
        Quantile { part, measured, interval: (from, to), predicted }
    };
    [0.1, 0.5, 0.9].map(compare).to_vec()
}

/// The interval in which the quantile of the distribution is, with a confidence of 95 %. Of n samples the number below
/// the true quantile q is binomial: n·q ± 1.96·√(n·q·(1 − q)). Of 10 samples the median is between the 2nd and the 8th.
fn interval(samples: &[f64], part: f64) -> (f64, f64) {
    let count = f64::from(u32::try_from(samples.len()).unwrap());
    let margin = 1.96 * (part * (1.0 - part) / count).sqrt();
    (share(samples, (part - margin).max(0.0)), share(samples, (part + margin).min(1.0)))
}

pub fn ends(delays: &[f64]) -> (f64, f64) {
    delays.iter().fold((f64::MAX, 0.0), |(least, most), delay| (delay.min(least), delay.max(most)))
}

pub fn share(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, part)
}

/// Writes the delays to the file that `POD_STATUS_DELAYS` names.
pub fn record(delays: &[Vec<f64>]) {
    let Some(path) = std::env::var_os("POD_STATUS_DELAYS") else { return };
    let line = |delays: &Vec<f64>| {
        let words: Vec<String> = delays.iter().map(|seconds| format!("{:.1}", seconds * 1000.0)).collect();
        words.join(" ") + "\n"
    };
    std::fs::write(path, delays.iter().map(line).collect::<String>()).unwrap();
}

/// The real distribution, measured once: live measurements would have to be as long, on a machine as calm.
#[test]
fn the_simulator_agrees_with_what_five_processes_did_within_ten_percent() {
    let line = |line: &str| -> Vec<f64> {
        line.split(' ').map(|millis| millis.parse::<f64>().unwrap() / 1000.0).collect()
    };
    let delays: Vec<Vec<f64>> = include_str!("delays.txt").lines().map(line).collect();
    assert!(delays.len() >= 399 && delays.iter().all(|change| change.len() == 5));
    for quantile in compare(&delays) {
        assert!(quantile.agrees(), "{quantile:?}");
    }
}

#[test]
fn a_wrong_prediction_does_not_agree() {
    let quantile = Quantile { part: 0.9, measured: 1.0, interval: (0.9, 1.1), predicted: 1.11 };
    assert!(!quantile.agrees() && quantile.agrees_within_its_interval());
    assert!(!Quantile { predicted: 1.22, ..quantile }.agrees_within_its_interval());
}
