//! How long to wait before the next attempt. `feed` decides what counts as a failure and what as a success.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::config::Delays;

/// Growing delays that start over after a success.
#[derive(Debug)]
pub(crate) struct Backoff {
    builder: ExponentialBuilder,
    current: ExponentialBackoff,
    longest: Duration,
    failures: u32,
}

// === impl Backoff ===

impl Backoff {
    pub(crate) fn new(delays: Delays, seed: Option<u64>) -> Self {
        let builder = ExponentialBuilder::default()
            .with_factor(2.0)
            .with_min_delay(delays.min)
            .with_max_delay(delays.max)
            .without_max_times()
            .with_jitter();
        let builder = match seed {
            Some(seed) => builder.with_jitter_seed(seed),
            None => builder,
        };
        Self { builder, current: builder.build(), longest: delays.max, failures: 0 }
    }

    /// The delay after one more failure.
    pub(crate) fn next_delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.current.next().unwrap_or(self.longest)
    }

    /// Whether nothing has failed since the last success.
    pub(crate) fn is_fresh(&self) -> bool {
        self.failures == 0
    }

    /// It worked.
    pub(crate) fn reset(&mut self) {
        if self.failures > 0 {
            self.failures = 0;
            self.current = self.builder.build();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays() -> Delays {
        Delays { min: Duration::from_secs(1), max: Duration::from_secs(8) }
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
        let first = backoff.next_delay();
        backoff.next_delay();
        assert!(!backoff.is_fresh());
        backoff.reset();
        assert!(backoff.is_fresh());
        assert_eq!(backoff.next_delay(), first);
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
