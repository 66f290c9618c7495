//! Decides which reviews are judged at once, on the thread that has read them: a short review takes less time than to wake
//! another thread for it and to be woken by that.
//!
//! The thread keeps connections alive as well, so it is not lent for long: to one review at a time, to none that is
//! large, and not again for a while after one that took too long there and had to begin anew on a thread of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The time that a review may take on a thread that keeps connections alive.
pub(super) const LONGEST: Duration = Duration::from_millis(2);
/// The bytes of a larger request take long to parse, which nothing interrupts.
const MOST_BYTES: usize = 64 << 10;
/// Reviews that go to threads of their own after one that took too long.
const PAUSE: u32 = 256;

#[derive(Debug, Default)]
pub(super) struct AtOnce {
    /// Reviews that still go to threads of their own.
    pause: AtomicU32,
}

impl AtOnce {
    /// Returns true if a request of so many bytes is judged at once, where no other review is being judged if `alone`.
    pub(super) fn takes(&self, bytes: usize, alone: bool) -> bool {
        if !alone || bytes > MOST_BYTES {
            return false;
        }
        let one_less = |pause: u32| pause.checked_sub(1);
        self.pause.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
    }

    /// A review took too long.
    pub(super) fn overran(&self) {
        self.pause.store(PAUSE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_reviews_that_are_alone_are_judged_at_once_but_not_after_one_that_took_too_long() {
        let at_once = AtOnce::default();
        assert!(at_once.takes(1000, true));
        assert!(!at_once.takes(1000, false) && !at_once.takes(1 << 20, true));
        at_once.overran();
        assert_eq!((0..1000).position(|_| at_once.takes(1000, true)), Some(256));
    }
}
