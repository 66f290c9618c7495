//! The wait before a request that failed is sent again.

use std::time::Duration;

/// Waits that double with each failure in a row.
///
/// With `first` 1 s and `longest` 15 s they are 1, 2, 4, 8, 15, 15, … s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub first: Duration,
    pub longest: Duration,
}

impl Waits {
    /// The wait after as many failures in a row; none after none.
    pub(crate) fn after(self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => self.first.saturating_mul(2_u32.saturating_pow(doublings)).min(self.longest),
        }
    }

    /// Waits after as many failures in a row; returns at once after none.
    pub(crate) async fn pause(self, failures: u32) {
        if failures > 0 {
            tokio::time::sleep(self.after(failures)).await;
        }
    }

    /// The wait that follows `wait`, which is zero before the first failure.
    pub(crate) fn following(self, wait: Duration) -> Duration {
        wait.saturating_mul(2).clamp(self.first, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(15) };
        let mut wait = Duration::ZERO;
        for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 15), (6, 15), (u32::MAX, 15)] {
            wait = waits.following(wait);
            assert_eq!([waits.after(failures), wait], [Duration::from_secs(seconds); 2]);
        }
        assert_eq!(waits.after(0), Duration::ZERO);
    }
}
