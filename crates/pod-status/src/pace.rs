//! When the next write may be sent: debounced, limited in rate, and later after failures. No I/O; the
//! caller says what time it is.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

/// Collects changes: a burst is written once, when it has been quiet for a while or has lasted too long.
#[derive(Debug)]
pub(crate) struct Debounce {
    quiet: Duration,
    limit: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Debounce {
    pub(crate) fn new(quiet: Duration, limit: Duration) -> Self {
        Self {
            quiet,
            limit: limit.max(quiet),
            first: None,
            last: None,
        }
    }

    /// Something changed.
    pub(crate) fn changed(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// When to act on the changes so far. Nothing without changes.
    pub(crate) fn due(&self) -> Option<Instant> {
        let quiet = self.last?.checked_add(self.quiet)?;
        let limit = self.first?.checked_add(self.limit)?;
        Some(quiet.min(limit))
    }

    /// The changes so far are being acted on.
    pub(crate) fn clear(&mut self) {
        (self.first, self.last) = (None, None);
    }
}

/// A token bucket: `burst` writes at once, then one per `interval`.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    /// How far the schedule may lag behind the clock, which is what the burst amounts to.
    slack: Duration,
    /// When the next token of an unlimited burst would be due.
    next: Instant,
}

impl Bucket {
    pub(crate) fn new(interval: Duration, burst: u32, now: Instant) -> Self {
        let slack = interval.saturating_mul(burst.saturating_sub(1));
        Self {
            interval,
            slack,
            next: now.checked_sub(slack).unwrap_or(now),
        }
    }

    /// Takes one token; the write may be sent at the returned time.
    pub(crate) fn take(&mut self, now: Instant) -> Instant {
        let oldest = now.checked_sub(self.slack).unwrap_or(now);
        let at = self.next.max(oldest);
        self.next = at.checked_add(self.interval).unwrap_or(at);
        at.max(now)
    }
}

/// Delays between attempts that fail: from half a second, doubling, with jitter, at most 30 seconds.
#[derive(Debug)]
pub(crate) struct Retry {
    delays: ExponentialBackoff,
}

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

impl Retry {
    pub(crate) fn new() -> Self {
        let delays = ExponentialBuilder::default()
            .with_min_delay(FIRST_DELAY)
            .with_max_delay(LONGEST_DELAY)
            .without_max_times()
            .with_jitter()
            .build();
        Self { delays }
    }

    /// How long to wait after `error`: never less than the server asks for.
    pub(crate) fn after(&mut self, error: &kube::Error) -> Duration {
        let delay = self.delays.next().unwrap_or(LONGEST_DELAY);
        match error {
            kube::Error::Api(status) => {
                let asked = status
                    .details
                    .as_ref()
                    .map_or(0, |details| details.retry_after_seconds);
                delay.max(Duration::from_secs(u64::from(asked)))
            }
            _ => delay,
        }
    }

    /// An attempt succeeded.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }
}
