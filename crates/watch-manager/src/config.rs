//! Settings of the manager: concurrency, deadlines, delays, and the bounds on its request rate. Plain values;
//! `watcher` applies them.

use std::collections::HashMap;
use std::time::Duration;

use kube::core::GroupVersionKind;

/// Settings of a [`WatchManager`](crate::WatchManager). Start from the defaults and change single fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Requests for discovery and lists that are in flight at the same time, and, counted separately, requests
    /// that open a watch. A request that is not answered soon gives its place to the next: after eight times the
    /// usual time to an answer, but between 0.5 and 5 seconds, and after 2 seconds while nothing is answered. One place in eight goes to the request that came last, and
    /// changes hands after a second at most. Default 16.
    pub max_concurrent_starts: usize,
    /// Objects per page of a list; 0 for all at once, as in the API. Default 500.
    pub page_size: u32,
    /// Deadline of each request, from the moment at which it is sent: discovery, a page of a list, the opening of a watch. One
    /// that hangs while later ones are answered and others wait is given up before. A
    /// kind that was ready and is not watched for this long is `Stale`, also while its request waits for others. Zero for none. Default 30 s.
    pub request_timeout: Duration,
    /// Time after which the server closes a watch, which is then renewed. Default 290 s, under the five minutes
    /// after which many proxies cut connections. A kind whose version is left to the server is discovered again at least
    /// as often. Zero for none.
    pub watch_timeout: Duration,
    /// Read deadline of a watch. A watch without an event or a bookmark for this long is closed and opened again.
    /// An API server sends a bookmark about every minute, so this also detects a half-open connection. A server
    /// that sends no bookmarks costs one request per `idle_timeout` and kind. Zero for none. Default 75 s.
    pub idle_timeout: Duration,
    /// The [`idle_timeout`](Self::idle_timeout) of single kinds, by the kind as it is asked for; at least 5 s. The server is asked
    /// to close such a watch after four fifths of it, so a healthy one is renewed in time, and a half-open connection is
    /// detected within it, for one request per four fifths of it. Default none.
    pub idle_timeouts: HashMap<GroupVersionKind, Duration>,
    /// Delays after a failed request or a broken watch. Those before a list that follows a watch that the server
    /// rejected grow to 30 s. Default 0.8 s to 5 s.
    pub retry: BackoffRange,
    /// Delays between discovery requests for a kind that is not served. Default 1 s to 30 s.
    pub discovery: BackoffRange,
    /// Delays after the server refused access (403), or offers no watch. The first are short, because a
    /// restarting API server answers 403 until its RBAC cache has synced. Default 1 s to 5 min.
    pub refused: BackoffRange,
    /// Bound on discovery requests, first pages and watch requests of one watch, whatever the server answers.
    /// Default: bursts of 20, then one per second.
    pub requests: RateLimit,
    /// Bound on further pages of lists of one watch. Default: bursts of 200, then one per 20 ms.
    pub pages: RateLimit,
    /// Keeps `metadata.managedFields` in the objects. Default false: it is often half of an object.
    pub keep_managed_fields: bool,
    /// Keeps the annotation `kubectl.kubernetes.io/last-applied-configuration`. Default true.
    pub keep_last_applied: bool,
    /// Keeps of each object its namespace, name, uid, version and labels, and nothing else: their text has no other field.
    /// For readers that take the objects elsewhere, and want to know which there are. Default false.
    pub identities_only: bool,
    /// Time for which a watch without registrars is kept, so that a registrar that returns finds it ready.
    /// Default 0.
    pub linger: Duration,
    /// Watches CustomResourceDefinitions (metadata only) as soon as a requested kind is not served, or not in namespaces, and
    /// discovers kinds of a changed definition's group at once. Where that is forbidden, or the kind comes from an
    /// aggregated API server, discovery is repeated after [`discovery`](Self::discovery) delays. Default true.
    pub watch_definitions: bool,
    /// Makes the random part of all delays the same in every run. For tests. Default none.
    pub jitter_seed: Option<u64>,
}

/// A range of growing delays. Each delay doubles the one before; up to as much again is added at random, so
/// that many clients that were cut off together do not return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackoffRange {
    /// The first delay.
    pub min: Duration,
    /// The longest delay, before the random part.
    pub max: Duration,
}

/// A bound on a request rate: in any period `t` at most `burst + t / interval` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// Requests that may follow each other without delay.
    pub burst: u32,
    /// Time between requests once the burst is used up.
    pub interval: Duration,
}

// === impl BackoffRange ===

impl BackoffRange {
    /// Creates a range from `min` to `max`.
    pub const fn new(min: Duration, max: Duration) -> Self {
        Self { min, max }
    }

    /// The same delays without values that overflow.
    pub(crate) fn bounded(self) -> Self {
        Self { min: self.min.min(FOREVER), max: self.max.min(FOREVER) }
    }
}

// === impl RateLimit ===

impl RateLimit {
    /// Allows `burst` requests at once, then one per `interval`.
    pub const fn new(burst: u32, interval: Duration) -> Self {
        Self { burst, interval }
    }
}

// === impl Config ===

/// Longer than any program runs, and short enough to be added to any time.
pub(crate) const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);

/// A watch that is renewed more often looks like one that the server closes at once.
const SHORTEST_IDLE: Duration = Duration::from_secs(5);

impl Config {
    /// The same settings without values that overflow or that leave no time: "never" must not become "at once".
    pub(crate) fn bounded(mut self) -> Self {
        for delays in [&mut self.retry, &mut self.discovery, &mut self.refused] {
            *delays = delays.bounded();
        }
        let intervals = [&mut self.requests.interval, &mut self.pages.interval];
        let times =
            [&mut self.request_timeout, &mut self.watch_timeout, &mut self.idle_timeout, &mut self.linger];
        let of_kinds = self.idle_timeouts.values_mut();
        for time in intervals.into_iter().chain(times).chain(of_kinds) {
            *time = (*time).min(FOREVER);
        }
        for limit in [&mut self.request_timeout, &mut self.watch_timeout, &mut self.idle_timeout] {
            if limit.is_zero() {
                *limit = FOREVER;
            }
        }
        if self.page_size == 0 {
            self.page_size = u32::MAX;
        }
        self
    }

    /// The read deadline of a watch of the kind, and the time after which the server closes it.
    pub(crate) fn idle_and_watch_timeout(&self, gvk: &GroupVersionKind) -> (Duration, Duration) {
        let Some(idle) = self.idle_timeouts.get(gvk).copied() else {
            return (self.idle_timeout, self.watch_timeout);
        };
        let idle = idle.max(SHORTEST_IDLE);
        (idle, self.watch_timeout.min(idle.mul_f64(0.8)))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_concurrent_starts: 16,
            page_size: 500,
            request_timeout: Duration::from_secs(30),
            watch_timeout: Duration::from_secs(290),
            idle_timeout: Duration::from_secs(75),
            idle_timeouts: HashMap::new(),
            retry: BackoffRange::new(Duration::from_millis(800), Duration::from_secs(5)),
            discovery: BackoffRange::new(Duration::from_secs(1), Duration::from_secs(30)),
            refused: BackoffRange::new(Duration::from_secs(1), Duration::from_secs(300)),
            requests: RateLimit::new(20, Duration::from_secs(1)),
            pages: RateLimit::new(200, Duration::from_millis(20)),
            keep_managed_fields: false,
            keep_last_applied: true,
            identities_only: false,
            linger: Duration::ZERO,
            watch_definitions: true,
            jitter_seed: None,
        }
    }
}
