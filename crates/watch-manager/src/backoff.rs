//! The delay before the next attempt. `watcher` decides what counts as a failure and what as a success.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::config::BackoffRange;

/// Growing delays that start over after a success.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    delays: BackoffRange,
    failures: u32,
    /// State of the generator of the random part (SplitMix64).
    random: u64,
}

// === impl Backoff ===

impl Backoff {
    pub(crate) fn new(delays: BackoffRange, seed: Option<u64>) -> Self {
        Self { delays, failures: 0, random: seed.unwrap_or_else(|| RandomState::new().hash_one(0)) }
    }

    /// The delay after one more failure: doubled each time up to the longest, and up to as much again at random.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let factor = 2_u32.checked_pow(self.failures).unwrap_or(u32::MAX);
        let base = self.delays.min.saturating_mul(factor).min(self.delays.max);
        self.failures = self.failures.saturating_add(1);
        base.saturating_add(base.mul_f64(self.fraction()))
    }

    /// Returns true if no attempt has failed since the last success.
    pub(crate) fn is_fresh(&self) -> bool {
        self.failures == 0
    }

    /// Starts over after a success.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// A number between 0 and 1.
    fn fraction(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays() -> BackoffRange {
        BackoffRange { min: Duration::from_secs(1), max: Duration::from_secs(8) }
    }

    #[test]
    fn delays_double_up_to_the_longest_and_at_most_as_much_again_is_random() {
        let mut backoff = Backoff::new(delays(), Some(7));
        for base in [1, 2, 4, 8, 8, 8] {
            let (least, most) = (Duration::from_secs(base), Duration::from_secs(base * 2));
            let delay = backoff.next_delay();
            assert!(delay >= least && delay <= most, "{delay:?} is outside {least:?}..{most:?}");
        }
    }

    #[test]
    fn success_starts_over() {
        let mut backoff = Backoff::new(delays(), Some(7));
        assert!(backoff.is_fresh());
        backoff.next_delay();
        backoff.next_delay();
        assert!(!backoff.is_fresh());
        backoff.reset();
        assert!(backoff.is_fresh());
        assert!(backoff.next_delay() <= Duration::from_secs(2));
    }

    #[test]
    fn a_thousand_failures_do_not_overflow() {
        let mut backoff = Backoff::new(delays(), None);
        assert!((0..1_000).all(|_| backoff.next_delay() <= Duration::from_secs(16)));
    }

    #[test]
    fn without_a_seed_two_kinds_do_not_return_together() {
        let series = || {
            let mut backoff = Backoff::new(delays(), None);
            (0..8).map(|_| backoff.next_delay()).collect::<Vec<_>>()
        };
        assert_ne!(series(), series());
    }
}
