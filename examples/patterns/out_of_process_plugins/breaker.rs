//! A circuit breaker: after three failures in a row a plug-in is left alone for a second, then one call may try; and what is written
//! about it.
//!
//! Time is an argument, so the tests need no clock.

use std::sync::{Mutex, PoisonError};
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

/// State of the calls of one process to a plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) circuit: &'static str,
    pub(crate) saturated: bool,
}

/// The load that this process has last written about its calls. Another process of the controller has calls of its own:
/// two that corrected each other would not come to an end.
#[derive(Debug, Default)]
pub(crate) struct Reported(Mutex<Option<Load>>);

// === impl Reported ===

impl Reported {
    /// The load, if it is not the one that was written.
    pub(crate) fn news(&self, load: Load) -> Option<Load> {
        let reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (*reported != Some(load)).then_some(load)
    }

    pub(crate) fn written(&self, load: Load) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(load);
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

    /// One reaches the plug-in and one does not, and each acts on what the other has written.
    #[test]
    fn two_processes_that_judge_a_plug_in_differently_do_not_correct_each_other() {
        let loads = ["Open", "Closed"].map(|circuit| Load { circuit, saturated: false });
        let (processes, mut status, mut writes) = ([Reported::default(), Reported::default()], "", 0);
        for turn in 0..10 {
            let (process, load) = (&processes[turn % 2], loads[turn % 2]);
            if let Some(load) = process.news(load) {
                (status, writes) = (load.circuit, writes + 1);
                process.written(load);
            }
        }
        assert_eq!((status, writes), ("Closed", 2));
        let closed = Load { circuit: "Closed", saturated: true };
        assert_eq!(processes[1].news(closed), Some(closed), "what changes is written");
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
