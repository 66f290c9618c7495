//! Rate limit for writing Events: a burst, then a steady rate, so that many denials do not become as many requests to the
//! API server.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Writes that are not delayed after a quiet time.
const BURST: u32 = 100;
/// The time between two writes after that.
const INTERVAL: Duration = Duration::from_millis(200);

/// The times of writes, as a virtual clock that each write moves by the interval: it may be ahead of the real one by a burst.
#[derive(Debug)]
pub(super) struct Pace(Instant);

impl Pace {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    /// Waits until the next write may begin. Cancel-safe: a wait that is dropped counts for nothing.
    pub(super) async fn wait(&mut self) {
        let clock = self.0.max(Instant::now());
        let ahead = INTERVAL.saturating_mul(BURST);
        if let Some(at) = clock.checked_sub(ahead) {
            sleep_until(at).await;
        }
        self.0 = clock.checked_add(INTERVAL).unwrap_or(clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_not_delayed_and_what_follows_is() {
        let mut pace = Pace::new();
        let start = Instant::now();
        for _ in 0..BURST {
            pace.wait().await;
        }
        assert!(start.elapsed() <= INTERVAL, "{:?}", start.elapsed());
        for _ in 0..10 {
            pace.wait().await;
        }
        let elapsed = start.elapsed();
        assert!(elapsed >= INTERVAL * 9 && elapsed <= INTERVAL * 11, "{elapsed:?}");
    }
}
