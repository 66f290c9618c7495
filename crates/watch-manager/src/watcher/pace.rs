//! The bound on the request rate of one watch. It knows nothing of answers, so no pattern of answers defeats it.

use std::time::{Duration, Instant};

use crate::config::RateLimit;

/// A rate limiter: in any period `t` it grants at most `burst + t / interval` requests.
///
/// It keeps one instant, the time at which all granted requests are paid for. Worked example with a burst of 3
/// and an interval of 1 s: requests at 0 s, 0 s, 0 s move `paid_until` to 3 s. A request is granted while
/// `paid_until` is at most `(burst - 1) * interval` = 2 s ahead, so the fourth waits until 1 s.
#[derive(Debug, Clone)]
pub(super) struct Pacer {
    interval: Duration,
    ahead: Duration,
    paid_until: Option<Instant>,
}

// === impl Pacer ===

impl Pacer {
    pub(super) fn new(limit: RateLimit) -> Self {
        let ahead = limit.interval.saturating_mul(limit.burst.saturating_sub(1));
        Self { interval: limit.interval, ahead, paid_until: None }
    }

    /// The time to wait for the next request; zero if it may be sent now.
    pub(super) fn delay(&self, now: Instant) -> Duration {
        let debt = self.paid_until.map_or(Duration::ZERO, |paid| paid.saturating_duration_since(now));
        debt.saturating_sub(self.ahead)
    }

    /// Counts a request sent at `now`.
    pub(super) fn take(&mut self, now: Instant) {
        let from = self.paid_until.map_or(now, |paid| paid.max(now));
        self.paid_until = from.checked_add(self.interval);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Requests wanted at any times: in every period, no more are granted than the bound allows.
        #[test]
        fn no_period_has_more_requests_than_the_bound(
            gaps in proptest::collection::vec(0_u64..3_000, 1..200),
            burst in 1_u32..10,
        ) {
            let limit = RateLimit { burst, interval: Duration::from_secs(1) };
            let mut pacer = Pacer::new(limit);
            let start = Instant::now();
            let mut now = start;
            let mut granted = Vec::new();
            for gap in gaps {
                now += Duration::from_millis(gap);
                now += pacer.delay(now);
                pacer.take(now);
                granted.push(now);
            }
            for (first, from) in granted.iter().enumerate() {
                for (last, to) in granted.iter().enumerate().skip(first) {
                    let allowed = u128::from(burst) + to.duration_since(*from).as_millis() / 1_000;
                    prop_assert!((last - first + 1) as u128 <= allowed);
                }
            }
        }
    }
}
