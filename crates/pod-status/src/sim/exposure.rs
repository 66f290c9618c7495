//! The probability that too few pods are up, and that a request meets a pod that is behind.

/// The failures of pods, and the clients that meet pods which are behind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exposure {
    /// The probability that one pod is down. Default 0.01.
    pub down: f64,
    /// The share of failures that take all pods down at once. Default 0.05.
    pub common: f64,
    /// The pods that must be up. Default 1.
    pub needed: u32,
    /// The requests that a client sends, or repeats, while one pod is behind. Default 3.
    pub requests: i32,
}

impl Default for Exposure {
    fn default() -> Self {
        Self { down: 0.01, common: 0.05, needed: 1, requests: 3 }
    }
}

impl Exposure {
    /// Sets the probability that one pod is down, and the share of failures that take all down at once; both 0 to 1.
    #[must_use]
    pub fn down(mut self, probability: f64, common: f64) -> Self {
        (self.down, self.common) = (probability.clamp(0.0, 1.0), common.clamp(0.0, 1.0));
        self
    }

    /// Sets the number of pods that must be up.
    #[must_use]
    pub fn needed(mut self, pods: u32) -> Self {
        self.needed = pods;
        self
    }

    /// Sets the number of requests of one client.
    #[must_use]
    pub fn requests(mut self, requests: i32) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// Returns the probability that too few of `pods` are up.
    pub fn unavailability(&self, pods: u32) -> f64 {
        unavailability(self.down, self.common, pods, self.needed)
    }

    /// Returns the same probability if no failure took several pods down.
    pub fn independent(&self, pods: u32) -> f64 {
        unavailability(self.down, 0.0, pods, self.needed)
    }

    /// Returns the probability that a client meets the one of `pods` that is behind: with one request, and with all.
    pub fn leaks(&self, pods: u32) -> (f64, f64) {
        let leak = |requests| leak(pods.saturating_sub(1), pods, requests);
        (leak(1), leak(self.requests))
    }
}

/// Returns the probability that fewer than `needed` of `pods` are up, where each is down with `probability` and the
/// share `common` of failures takes all down at once.
pub fn unavailability(probability: f64, common: f64, pods: u32, needed: u32) -> f64 {
    let own = (1.0 - common) * probability;
    let up = 1.0 - own;
    let term = |running: u32| {
        let (running, down) = (f64::from(running), f64::from(pods.saturating_sub(running)));
        binomial(pods, running) * up.powf(running) * own.powf(down)
    };
    let too_few: f64 = (0..needed.min(pods.saturating_add(1))).map(term).sum();
    (common * probability + too_few).min(1.0)
}

fn binomial(n: u32, k: f64) -> f64 {
    let mut result = 1.0;
    let mut index = 0.0;
    while index < k {
        result *= (f64::from(n) - index) / (index + 1.0);
        index += 1.0;
    }
    result
}

/// Returns the probability that one of `requests`, routed at random, meets a pod that does not enforce yet, while
/// `enforcing` of `pods` do.
pub fn leak(enforcing: u32, pods: u32, requests: i32) -> f64 {
    1.0 - (f64::from(enforcing) / f64::from(pods.max(1))).powi(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64, share: f64) -> bool {
        (value - expected).abs() <= expected * share
    }

    #[test]
    fn more_than_three_replicas_do_not_help_against_common_causes() {
        for (pods, expected) in [(1, 1.0e-2), (2, 5.9e-4), (3, 5.0e-4), (5, 5.0e-4)] {
            assert!(is_near(unavailability(0.01, 0.05, pods, 1), expected, 0.01));
        }
        assert!(is_near(unavailability(0.01, 0.0, 3, 2), 3.0e-4, 0.01));
        assert!(is_near(unavailability(0.01, 0.0, 5, 3), 1.0e-5, 0.02));
        assert!(is_near(leak(2, 3, 1), 0.33, 0.02));
        assert!(is_near(leak(2, 3, 3), 0.70, 0.01));
    }

    #[test]
    fn all_pods_are_needed_or_one() {
        let exposure = Exposure::default().down(0.01, 0.0);
        assert!(is_near(exposure.independent(3), 1e-6, 1e-9));
        assert!(is_near(exposure.needed(3).unavailability(3), 1.0 - 0.99f64.powi(3), 1e-9));
        assert_eq!(exposure.needed(4).unavailability(3), 1.0, "more than there are");
        assert_eq!(Exposure::default().leaks(1), (1.0, 1.0), "the only pod is behind");
    }
}
