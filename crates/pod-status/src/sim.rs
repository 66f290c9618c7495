//! Predicts availability and the time to enforcement of a number of pods.
//!
//! A change is enforced when the slowest pod enforces it: the time is the maximum of `N` samples of a single
//! pod's delay. Not the mean but the tail of that delay decides, because a large `N` samples the tail. Measure
//! one pod, pass its samples as [`Distribution::Empirical`], and compare the prediction with what `N` pods did.
//!
//! ```
//! use pod_status::sim::{Distribution, Simulation, unavailability};
//!
//! // The mean of the maximum of N exponential delays is mean · (1 + 1/2 + … + 1/N).
//! let prediction = Simulation::new(3, Distribution::Exponential { mean: 0.5 }).run();
//! assert!((prediction.mean() - 0.917).abs() < 0.02);
//! // One pod in a hundred is down; one failure in twenty hits all pods at once.
//! assert!((unavailability(0.01, 0.05, 3, 1) - 5.0e-4).abs() < 1e-5);
//! ```

mod distribution;
mod exposure;
mod plot;

pub use distribution::{Distribution, ParseDistributionError};
pub use exposure::{Exposure, leak, unavailability};
pub use plot::{svg, table};

use distribution::Random;

/// A change of one parent, and pods that learn of it. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Simulation {
    /// The number of pods.
    pub pods: u32,
    /// The delay from the write of a parent until one pod enforces it: watch, queue and compilation.
    pub delay: Distribution,
    /// The part of the delay that all pods share in each change, added to `delay`: the write, and a busy API server.
    pub shared: Distribution,
    /// The share of the delay's variation that hits all pods together, such as a stall of the API server.
    pub common: f64,
    /// The delay from the slowest pod's enforcement until the status shows it.
    pub report: Distribution,
    /// Requests per second, for the number that is judged by the old generation.
    pub rate: f64,
    /// Changes that are simulated.
    pub samples: u32,
    /// The seed of the random numbers: the same seed gives the same prediction.
    pub seed: u64,
}

impl Simulation {
    /// Returns a simulation of `pods` that are independent, 200,000 changes, and a status that is visible at once.
    pub fn new(pods: u32, delay: Distribution) -> Self {
        let shared = Distribution::Constant(0.0);
        Self {
            pods,
            delay,
            shared,
            common: 0.0,
            report: Distribution::Constant(0.0),
            rate: 1.0,
            samples: 200_000,
            seed: 1,
        }
    }

    /// Sets the share of changes in which all pods have the same delay.
    #[must_use]
    pub fn common(mut self, share: f64) -> Self {
        self.common = share.clamp(0.0, 1.0);
        self
    }

    /// Sets the part of the delay that all pods share.
    #[must_use]
    pub fn shared(mut self, distribution: Distribution) -> Self {
        self.shared = distribution;
        self
    }

    /// Sets the delay until the status shows it.
    #[must_use]
    pub fn report(mut self, report: Distribution) -> Self {
        self.report = report;
        self
    }

    /// Sets the number of changes that are simulated.
    #[must_use]
    pub fn samples(mut self, samples: u32) -> Self {
        self.samples = samples.max(1);
        self
    }

    /// Simulates the changes. Takes time in proportion to changes times pods.
    pub fn run(&self) -> Prediction {
        let mut random = Random::new(self.seed);
        let (mut enforced, mut visible, mut exposure) = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..self.samples {
            let pods = self.pods.max(1);
            let is_common = random.uniform() < self.common;
            let shared = self.shared.sample(&mut random);
            let first = self.delay.sample(&mut random);
            let (mut slowest, mut sum) = (first, first);
            for _ in 1..pods {
                let delay = if is_common { first } else { self.delay.sample(&mut random) };
                (slowest, sum) = (slowest.max(delay), sum + delay);
            }
            enforced.push(shared + slowest);
            visible.push(shared + slowest + self.report.sample(&mut random));
            exposure += shared + sum / f64::from(pods);
        }
        enforced.sort_by(f64::total_cmp);
        visible.sort_by(f64::total_cmp);
        let exposed_requests = self.rate * exposure / f64::from(self.samples.max(1));
        Prediction { pods: self.pods, enforced, visible, exposed_requests }
    }
}

/// Measured delays of several pods, divided into the part that the pods share in each change and the part that each
/// has for itself.
///
/// Pods that wait for the same API server are not independent. If two pods took 1.0 and 1.2 s for one change and 3.0
/// and 3.2 s for another, where one is slow the others are slow too. Taken for independent, the slowest of
/// five would be predicted at 3.2 s nearly always; it is at 1.2 s half the time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SplitDelays {
    /// The mean of each change, less what the pods' own parts make of it.
    pub shared: Distribution,
    /// The distances from the mean.
    pub own: Distribution,
}

impl SplitDelays {
    /// Divides delays: one list for each change, with one delay for each pod. `None` if no change has the delays of
    /// two pods: one alone does not separate the parts.
    pub fn of(changes: &[Vec<f64>]) -> Option<Self> {
        let (mut means, mut own, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for delays in changes.iter().filter(|delays| delays.len() >= 2) {
            let pods = f64::from(u32::try_from(delays.len()).ok()?);
            let mean = delays.iter().sum::<f64>() / pods;
            // A mean of few is itself drawn towards each of them.
            let scale = (pods / (pods - 1.0)).sqrt();
            means.push(mean);
            shares.push(1.0 / pods);
            own.extend(delays.iter().map(|delay| (delay - mean) * scale));
        }
        let shared =
            shrunk(&means, mean(&own.iter().map(|own| own * own).collect::<Vec<f64>>()) * mean(&shares));
        (!own.is_empty())
            .then_some(Self { shared: Distribution::Empirical(shared), own: Distribution::Empirical(own) })
    }
}

/// `means` drawn together, so that their variance is less by `noise`.
///
/// The mean of n pods with own parts of variance σ² varies by σ²/n although they share nothing. If that stayed in the shared
/// part, the own parts would count twice: of five pods that take 20 to 100 ms each, independently, the slowest would be
/// predicted 8 % too early at p10 and 10 % too late at p90.
fn shrunk(means: &[f64], noise: f64) -> Vec<f64> {
    let middle = mean(means);
    let variance = mean(&means.iter().map(|mean| (mean - middle).powi(2)).collect::<Vec<f64>>());
    let factor = if variance > noise { (1.0 - noise / variance).sqrt() } else { 0.0 };
    means.iter().map(|mean| middle + factor * (mean - middle)).collect()
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / f64::from(u32::try_from(samples.len()).unwrap_or(u32::MAX).max(1))
}

/// The simulated changes, sorted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The number of pods.
    pub pods: u32,
    /// The times until all pods enforced a change.
    pub enforced: Vec<f64>,
    /// The times until the status showed it.
    pub visible: Vec<f64>,
    /// Requests that pods judge by the old generation, per change, with uniform routing.
    pub exposed_requests: f64,
}

impl Prediction {
    /// Returns the mean time until all pods enforce a change.
    pub fn mean(&self) -> f64 {
        let count = u32::try_from(self.enforced.len()).unwrap_or(u32::MAX);
        self.enforced.iter().sum::<f64>() / f64::from(count.max(1))
    }

    /// Returns the time within which this share of changes is enforced by all pods.
    pub fn quantile(&self, share: f64) -> f64 {
        quantile(&self.enforced, share)
    }

    /// Returns the share of changes that all pods enforce within `seconds`.
    pub fn probability(&self, seconds: f64) -> f64 {
        let within = self.enforced.partition_point(|time| *time <= seconds);
        let share = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        share(within) / share(self.enforced.len()).max(1.0)
    }
}

/// Returns the value below which `share` of the sorted `samples` are; not a number if there are none.
pub fn quantile(samples: &[f64], share: f64) -> f64 {
    let last = u32::try_from(samples.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let rank = (f64::from(last) * share.clamp(0.0, 1.0)).round();
    // A whole number between 0 and `last`.
    samples.get(rank as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64, share: f64) -> bool {
        (value - expected).abs() <= expected * share
    }

    #[test]
    fn the_maximum_of_exponential_delays_has_its_closed_form() {
        for pods in [1, 3, 5, 10, 20, 60] {
            let harmonic: f64 = (1..=pods).map(|n| 1.0 / f64::from(n)).sum();
            let prediction = Simulation::new(pods, Distribution::Exponential { mean: 0.5 }).run();
            assert!(is_near(prediction.mean(), 0.5 * harmonic, 0.01), "{} pods: {}", pods, prediction.mean());
            for share in [0.5, 0.9, 0.99] {
                // P(max ≤ t) = (1 − e^(−t/μ))^N, solved for t.
                let exact = -0.5 * (1.0 - f64::powf(share, 1.0 / f64::from(pods))).ln();
                assert!(is_near(prediction.quantile(share), exact, 0.02), "{pods} pods, quantile {share}");
                assert!(is_near(prediction.probability(exact), share, 0.01));
            }
        }
    }

    #[test]
    fn the_tail_decides() {
        let broken = Distribution::Uniform { from: 5.0, to: 30.0 };
        let distribution =
            Distribution::Mixture(vec![(0.98, Distribution::Exponential { mean: 0.3 }), (0.02, broken)]);
        let means = [(1, 0.65), (3, 1.55), (10, 3.97), (60, 14.4)];
        for (pods, mean) in means {
            let prediction = Simulation::new(pods, distribution.clone()).run();
            assert!(is_near(prediction.mean(), mean, 0.03), "{pods} pods: {}", prediction.mean());
        }
    }

    #[test]
    fn pods_that_stall_together_are_as_slow_as_one() {
        let distribution = Distribution::LogNormal { median: 0.5, sigma: 0.8 };
        let one = Simulation::new(1, distribution.clone()).run().mean();
        let together = Simulation::new(20, distribution.clone()).common(1.0).run().mean();
        assert!(is_near(together, one, 0.02));
        assert!(is_near(one, 0.69, 0.02));
        assert!(is_near(Simulation::new(20, distribution).run().mean(), 2.46, 0.02));
    }

    #[test]
    fn what_pods_have_in_common_is_found_in_their_delays() {
        // A tenth of the changes meets a stall of a second; each pod adds up to 0.1 s of its own.
        let mut random = Random::new(7);
        let mut change = |pods: u32| {
            let stall = if random.uniform() < 0.1 { 1.0 } else { 0.0 };
            (0..pods).map(|_| stall + 0.1 * random.uniform()).collect::<Vec<f64>>()
        };
        let known: Vec<Vec<f64>> = (0..2000).map(|_| change(3)).collect();
        let mut slowest: Vec<f64> = (0..2000).map(|_| change(10).into_iter().fold(0.0, f64::max)).collect();
        slowest.sort_by(f64::total_cmp);
        let split = SplitDelays::of(&known).unwrap();
        let prediction = Simulation::new(10, split.own).shared(split.shared).run();
        let alone = Simulation::new(10, Distribution::Empirical(known.concat())).run();
        for share in [0.5, 0.95] {
            let (measured, predicted) = (quantile(&slowest, share), prediction.quantile(share));
            assert!(is_near(predicted, measured, 0.1), "{share}: {predicted} {measured}");
        }
        assert!(alone.quantile(0.5) > 1.0, "as if ten pods met ten stalls");
        assert_eq!(SplitDelays::of(&[]), None);
    }

    #[test]
    fn pods_that_have_nothing_in_common_are_predicted_like_that() {
        let mut random = Random::new(7);
        let mut change = || (0..5).map(|_| 0.02 + 0.08 * random.uniform()).collect::<Vec<f64>>();
        let known: Vec<Vec<f64>> = (0..4000).map(|_| change()).collect();
        let split = SplitDelays::of(&known).unwrap();
        let prediction = Simulation::new(5, split.own).shared(split.shared).run();
        for share in [0.1f64, 0.5, 0.9] {
            // P(max ≤ t) = ((t − 0.02) / 0.08)^5, solved for t.
            let exact = 0.02 + 0.08 * share.powf(0.2);
            let predicted = prediction.quantile(share);
            assert!(is_near(predicted, exact, 0.06), "{share}: {predicted} {exact}");
        }
    }

    /// P(all enforce within t) = c·P(t) + (1 − c)·P(t)^N, where the share c of changes has one delay for all pods.
    #[test]
    fn common_causes_have_their_closed_form() {
        let (common, pods) = (0.2, 5);
        let prediction = Simulation::new(pods, Distribution::Exponential { mean: 0.5 }).common(common).run();
        for seconds in [0.25f64, 0.5, 1.0, 2.0] {
            let one = 1.0 - (-seconds / 0.5).exp();
            let exact = common * one + (1.0 - common) * one.powf(f64::from(pods));
            assert!((prediction.probability(seconds) - exact).abs() < 0.005, "{seconds} s");
        }
    }

    #[test]
    fn a_prediction_repeats_and_follows_measured_samples() {
        let samples: Vec<f64> = (1..=100).map(|n| f64::from(n) / 100.0).collect();
        let simulation =
            Simulation::new(3, Distribution::Empirical(samples)).report(Distribution::Constant(1.0));
        let prediction = simulation.run();
        assert_eq!(prediction, simulation.run());
        assert!(is_near(prediction.quantile(0.5), 0.5f64.powf(1.0 / 3.0), 0.02));
        assert!(is_near(quantile(&prediction.visible, 0.5), 1.0 + prediction.quantile(0.5), 0.001));
    }
}
