//! A circuit breaker: after three failures in a row a plug-in is left alone for a second, then one call may try.
//!
//! Time is an argument, so the tests need no clock.

use std::time::{Duration, Instant};

const FAILURES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breaker {
    /// Calls go through; so many of the last ones failed.
    Closed(u32),
    /// No call goes through before this time.
    Open(Instant),
    /// One call is under way, and decides.
    HalfOpen,
}

// === impl Breaker ===

impl Breaker {
    /// True if a call may be made; its result has to be recorded.
    pub(crate) fn permits(&mut self, now: Instant) -> bool {
        match *self {
            Self::Closed(_) => true,
            Self::Open(until) if now >= until => {
                *self = Self::HalfOpen;
                true
            }
            Self::Open(_) | Self::HalfOpen => false,
        }
    }

    pub(crate) fn record(&mut self, succeeded: bool, now: Instant) {
        let open = || Self::Open(now.checked_add(PAUSE).unwrap_or(now));
        *self = match (*self, succeeded) {
            (_, true) => Self::Closed(0),
            (Self::Closed(failures), false) if failures.saturating_add(1) < FAILURES => {
                Self::Closed(failures.saturating_add(1))
            }
            (Self::Closed(_) | Self::HalfOpen, false) => open(),
            (Self::Open(until), false) => Self::Open(until),
        };
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Closed(_) => "Closed",
            Self::Open(_) => "Open",
            Self::HalfOpen => "HalfOpen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_three_failures_lets_one_call_try_and_closes_with_its_success() {
        let (mut breaker, start) = (Breaker::Closed(0), Instant::now());
        for failures in 1..=FAILURES {
            assert!(breaker.permits(start), "call {failures}");
            breaker.record(false, start);
        }
        assert!(!breaker.permits(start), "open");
        let later = start + PAUSE;
        assert!(breaker.permits(later) && !breaker.permits(later), "one call, and no second one");
        breaker.record(false, later);
        assert!(!breaker.permits(later), "open again");
        let much_later = later + PAUSE;
        assert!(breaker.permits(much_later));
        breaker.record(true, much_later);
        assert_eq!(breaker, Breaker::Closed(0));
    }

    #[test]
    fn a_success_in_between_starts_the_count_anew() {
        let (mut breaker, now) = (Breaker::Closed(0), Instant::now());
        for succeeded in [false, false, true, false, false] {
            breaker.record(succeeded, now);
        }
        assert!(breaker.permits(now));
    }
}
