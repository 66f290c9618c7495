//! The pace of requests: debounced, limited in rate, and later after failures; and for how
//! long its answer is waited for. What to send is decided elsewhere.

use std::future::Future;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use kube::core::Status;
use tokio::time::{Instant, sleep};

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
        Self { quiet, limit: limit.max(quiet), first: None, last: None }
    }

    /// Something changed.
    pub(crate) fn changed(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Returns when to act on the changes so far. Nothing without changes.
    pub(crate) fn due(&self) -> Option<Instant> {
        let quiet = self.last?.checked_add(self.quiet)?;
        let limit = self.first?.checked_add(self.limit)?;
        Some(quiet.min(limit))
    }

    /// The changes so far are being acted on. Returns the time of the first.
    pub(crate) fn clear(&mut self) -> Option<Instant> {
        self.last = None;
        self.first.take()
    }
}

/// A token bucket: `burst` writes at once, then one per `interval`.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    /// The lag of the schedule behind the clock that the burst allows.
    slack: Duration,
    /// The time when the next token of an unlimited burst would be due.
    next: Instant,
}

impl Bucket {
    pub(crate) fn new(interval: Duration, burst: u32, now: Instant) -> Self {
        let slack = interval.saturating_mul(burst.saturating_sub(1));
        Self { interval, slack, next: now.checked_sub(slack).unwrap_or(now) }
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
    longest: Duration,
}

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// The longest advice that is followed. kube-apiserver itself asks for at most 32 s (`maxRetryAfter` of its priority
/// and fairness filter); a proxy may ask for anything.
const LONGEST_ADVICE: Duration = Duration::from_secs(60);

impl Retry {
    pub(crate) fn new() -> Self {
        Self::up_to(LONGEST_DELAY)
    }

    /// Creates a schedule like [`Retry::new`], with delays of at most `longest`, jitter and the server's advice excepted.
    pub(crate) fn up_to(longest: Duration) -> Self {
        let longest = longest.min(LONGEST_DELAY);
        let delays = ExponentialBuilder::default()
            .with_min_delay(FIRST_DELAY.min(longest))
            .with_max_delay(longest)
            .without_max_times()
            .with_jitter()
            .build();
        Self { delays, longest }
    }

    /// The delay after one more failure.
    pub(crate) fn next_delay(&mut self) -> Duration {
        self.delays.next().unwrap_or(self.longest)
    }

    /// Returns how long to wait after `error`: never less than the server asks for, up to a minute.
    pub(crate) fn after(&mut self, error: &kube::Error) -> Duration {
        let delay = self.next_delay();
        match error {
            kube::Error::Api(status) => delay.max(asked(status)),
            _ => delay,
        }
    }

    /// An attempt succeeded.
    pub(crate) fn reset(&mut self) {
        *self = Self::up_to(self.longest);
    }
}

/// The times before which a reporter sends nothing, after failures: one for everything, and an earlier one for the
/// renewal of its registration, which is due before the time that a server may ask to wait.
///
/// With a fence of 60 s, `Retry-After: 60` holds for the entries, and the registration is tried again after 10 s.
/// Otherwise one such answer would stop a pod that is connected.
#[derive(Debug)]
pub(crate) struct Pause {
    retry: Retry,
    renews: bool,
    retry_at: Instant,
    renew_at: Instant,
}

impl Pause {
    /// `heartbeat` is the period of the renewals, if there are any.
    pub(crate) fn new(heartbeat: Option<Duration>, now: Instant) -> Self {
        let longest = heartbeat.and_then(|period| period.checked_div(2)).unwrap_or(LONGEST_DELAY);
        Self { retry: Retry::up_to(longest), renews: heartbeat.is_some(), retry_at: now, renew_at: now }
    }

    /// Notes a failure. Returns the time until the next attempt.
    pub(crate) fn failed(&mut self, error: &kube::Error, now: Instant) -> Duration {
        let delay = self.retry.after(error);
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        self.renew_at = now.checked_add(delay.min(self.retry.longest)).unwrap_or(now);
        delay
    }

    pub(crate) fn succeeded(&mut self) {
        self.retry.reset();
    }

    /// Sends nothing before `at`.
    pub(crate) fn extend(&mut self, at: Instant) {
        (self.retry_at, self.renew_at) = (self.retry_at.max(at), self.renew_at.max(at));
    }

    /// The end of the pause. A renewal is the next write, or becomes it when it is due.
    pub(crate) fn until(&self, is_renewal_next: bool, renewal_due: Instant) -> Instant {
        if !self.renews {
            return self.retry_at;
        }
        let renewal = if is_renewal_next { self.renew_at } else { self.renew_at.max(renewal_due) };
        self.retry_at.min(renewal)
    }
}

/// The answer to a request, if it comes within half a minute: longer than a slow API server needs, and than
/// kube's client follows a few pieces of advice to retry. Without a limit one lost answer would silence a
/// driver for good.
pub(crate) async fn answered<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    answered_within(LONGEST_REQUEST, request).await
}

/// Sends a request like [`answered`], and sends it again within that time when the server asks for that with an advice in
/// seconds (429). Such a request has not been carried out.
pub(crate) async fn answered_patiently<T, F>(request: impl Fn() -> F) -> kube::Result<T>
where
    F: Future<Output = kube::Result<T>>,
{
    let repeated = async {
        loop {
            match request().await {
                Err(error) if advice(&error) > Duration::ZERO => sleep(advice(&error)).await,
                other => return other,
            }
        }
    };
    answered(repeated).await
}

/// The time that a refusal for too many requests asks to wait, if there is one.
fn advice(error: &kube::Error) -> Duration {
    match error {
        kube::Error::Api(status) if status.code == 429 => asked(status),
        _ => Duration::ZERO,
    }
}

/// The time that the server asks to wait, within bounds. A holder that waited for an hour would keep the Lease and
/// aggregate nothing, and a pod would stay behind unseen.
fn asked(status: &Status) -> Duration {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(u64::from(seconds)).min(LONGEST_ADVICE)
}

/// The answer to a request, if it comes within `limit`.
pub(crate) async fn answered_within<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> kube::Result<T> {
    let answer = tokio::time::timeout(limit, request).await;
    answer.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))
}

/// The longest wait for an answer.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(30);

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers; a test may overflow loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(start: Instant, millis: u64) -> Instant {
        start.checked_add(Duration::from_millis(millis)).unwrap()
    }

    #[test]
    fn a_burst_is_due_when_it_is_quiet_or_has_lasted_too_long() {
        let start = Instant::now();
        let mut debounce = Debounce::new(Duration::from_millis(300), Duration::from_millis(1000));
        assert_eq!(debounce.due(), None);
        debounce.changed(start);
        assert_eq!(debounce.due(), Some(after(start, 300)));
        debounce.changed(after(start, 200));
        assert_eq!(debounce.due(), Some(after(start, 500)));
        debounce.changed(after(start, 900));
        assert_eq!(debounce.due(), Some(after(start, 1000)));
        debounce.clear();
        assert_eq!(debounce.due(), None);
    }

    proptest! {
        #[test]
        fn no_window_of_time_sees_more_than_burst_and_rate(gaps in prop::collection::vec(0..400u64, 1..60)) {
            let start = Instant::now();
            let interval = 200;
            let mut bucket = Bucket::new(Duration::from_millis(interval), 5, start);
            let mut asked = 0;
            let mut sent: Vec<u64> = Vec::new();
            for gap in gaps {
                asked = (asked + gap).max(sent.last().copied().unwrap_or_default());
                let at = bucket.take(after(start, asked));
                sent.push(u64::try_from(at.duration_since(start).as_millis()).unwrap());
            }
            for (first, from) in sent.iter().enumerate() {
                for (count, until) in sent[first..].iter().enumerate() {
                    prop_assert!(count as u64 <= 5 + (until - from) / interval);
                }
            }
        }
    }

    #[test]
    fn the_server_may_ask_for_more_patience_but_not_for_less() {
        let error = |seconds: u32| {
            let status = serde_json::json!({"code": 429, "details": {"retryAfterSeconds": seconds}});
            kube::Error::Api(serde_json::from_value(status).unwrap())
        };
        let mut retry = Retry::new();
        assert!(retry.after(&error(17)) >= Duration::from_secs(17));
        assert_eq!(retry.after(&error(u32::MAX)), LONGEST_ADVICE);
        let delays: Vec<Duration> = (0..12).map(|_| retry.after(&error(0))).collect();
        assert!(
            delays.iter().all(|delay| *delay >= FIRST_DELAY && *delay <= LONGEST_DELAY.saturating_mul(2))
        );
        assert!(delays[11] >= LONGEST_DELAY, "it doubles until the limit");
        retry.reset();
        assert!(retry.after(&error(0)) < Duration::from_secs(2), "a success starts anew");
    }
}
