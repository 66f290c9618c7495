//! Metrics, through the `metrics` facade with the feature `metrics`; without it, every function does nothing.
//!
//! | metric | type | labels |
//! |---|---|---|
//! | `watch_manager_watched_gvk` | gauge | |
//! | `watch_manager_intended_watch_gvk` | gauge | |
//! | `watch_manager_requests_total` | counter | `group`, `version`, `kind`, `verb`, `result` |
//! | `watch_manager_starts_total` | counter | `group`, `version`, `kind` |
//! | `watch_manager_restarts_total` | counter | `group`, `version`, `kind`, `reason` |
//! | `watch_manager_undecodable_total` | counter | `group`, `version`, `kind` |
//! | `watch_manager_relists_total` | counter | `group`, `version`, `kind` |
//! | `watch_manager_ready_seconds` | histogram | `group`, `version`, `kind` |
//! | `watch_manager_fanout_seconds` | histogram | |
//! | `watch_manager_objects` | gauge | `group`, `version`, `kind` |
//! | `watch_manager_bytes` | gauge | `group`, `version`, `kind` |
//! | `watch_manager_backlog_depth` | gauge | `registrar` |
//! | `watch_manager_backlog_age_seconds` | gauge | `registrar` |
//!
//! The last four are written by `WatchManager::record_metrics`. The first two are sums over the managers of the process.
//! `fanout` is the time in which a change, or a page of a list, is stored and queued for every registrar.

#[cfg(feature = "metrics")]
use std::time::Duration;

use kube::core::GroupVersionKind;

use crate::event::Verb;
use crate::source::{SourceError, SourceEvent};

/// Counts a request. `result` is `ok` or the kind of the error.
#[cfg(feature = "metrics")]
pub(crate) fn request(gvk: &GroupVersionKind, verb: Verb, error: Option<&SourceError>) {
    let mut labels = labels(gvk);
    labels.push(metrics::Label::new("verb", verb.to_string()));
    labels.push(metrics::Label::from_static_parts("result", error.map_or("ok", name)));
    metrics::counter!("watch_manager_requests_total", labels).increment(1);
}

#[cfg(feature = "metrics")]
fn name(error: &SourceError) -> &'static str {
    match error {
        SourceError::NotServed => "not_served",
        SourceError::Forbidden(_) => "forbidden",
        SourceError::Expired => "expired",
        SourceError::Busy { .. } => "busy",
        SourceError::Undecodable(_) => "undecodable",
        SourceError::Rejected(_) => "rejected",
        SourceError::Unavailable(_) => "unavailable",
    }
}

/// Counts the start of a watch: the first registrar asks for it, or its selectors change.
#[cfg(feature = "metrics")]
pub(crate) fn started(gvk: &GroupVersionKind) {
    metrics::counter!("watch_manager_starts_total", labels(gvk)).increment(1);
}

/// Counts the end of an open watch, after which it is opened again.
#[cfg(feature = "metrics")]
pub(crate) fn ended(gvk: &GroupVersionKind, end: End<'_>) {
    let reason = match end {
        End::Closed => "closed",
        End::Silent => "silent",
        End::Failed(error) => name(error),
    };
    let mut labels = labels(gvk);
    labels.push(metrics::Label::from_static_parts("reason", reason));
    metrics::counter!("watch_manager_restarts_total", labels).increment(1);
}

/// Runs `work`, which stores a change and queues it for every registrar, and reports its time.
#[cfg(feature = "metrics")]
pub(crate) fn fan_out(work: impl FnOnce()) {
    let begun = std::time::Instant::now();
    work();
    metrics::histogram!("watch_manager_fanout_seconds").record(begun.elapsed());
}

/// Counts a message that is not an object.
#[cfg(feature = "metrics")]
pub(crate) fn undecodable(gvk: &GroupVersionKind) {
    metrics::counter!("watch_manager_undecodable_total", labels(gvk)).increment(1);
}

/// The end of an open watch.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "read with the feature `metrics`"))]
pub(crate) enum End<'a> {
    /// The server closed it.
    Closed,
    /// Nothing came for longer than the server is ever silent.
    Silent,
    Failed(&'a SourceError),
}

// === impl End ===

impl<'a> End<'a> {
    /// The end that a message means for its watch. A watch goes on after what is not a message.
    pub(crate) fn of(message: Option<&'a Result<SourceEvent, SourceError>>) -> Option<Self> {
        match message {
            None => Some(Self::Closed),
            Some(Ok(_) | Err(SourceError::Undecodable(_))) => None,
            Some(Err(error)) => Some(Self::Failed(error)),
        }
    }
}

/// The numbers of kinds that one manager watches, and is asked for. The gauges are the sums of all managers of the
/// process, so each adds its differences, and what it added is taken back when it ends.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    #[cfg(feature = "metrics")]
    watched: usize,
    #[cfg(feature = "metrics")]
    intended: usize,
}

#[cfg(feature = "metrics")]
impl Kinds {
    /// Reports the present numbers.
    pub(crate) fn set(&mut self, watched: usize, intended: impl FnOnce() -> usize) {
        let intended = intended();
        add("watch_manager_watched_gvk", self.watched, watched);
        add("watch_manager_intended_watch_gvk", self.intended, intended);
        (self.watched, self.intended) = (watched, intended);
    }
}

#[cfg(feature = "metrics")]
impl Drop for Kinds {
    fn drop(&mut self) {
        self.set(0, || 0);
    }
}

#[cfg(feature = "metrics")]
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn add(gauge: &'static str, before: usize, now: usize) {
    metrics::gauge!(gauge).increment(now as f64 - before as f64);
}

/// Reports a complete list: the first of a watch with the time since its start, each later one as repeated.
#[cfg(feature = "metrics")]
pub(crate) fn listed(gvk: &GroupVersionKind, since_start: Option<Duration>) {
    match since_start {
        Some(time) => metrics::histogram!("watch_manager_ready_seconds", labels(gvk)).record(time),
        None => metrics::counter!("watch_manager_relists_total", labels(gvk)).increment(1),
    }
}

/// Reports the number of objects of a kind and the length of their texts.
#[cfg(feature = "metrics")]
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(crate) fn objects(gvk: &GroupVersionKind, (count, bytes): (usize, usize)) {
    metrics::gauge!("watch_manager_objects", labels(gvk)).set(count as f64);
    metrics::gauge!("watch_manager_bytes", labels(gvk)).set(bytes as f64);
}

/// The gauges of a kind that is not watched any more, until they are set again.
#[cfg(feature = "metrics")]
pub(crate) fn stopped(gvk: &GroupVersionKind) {
    objects(gvk, (0, 0));
}

/// The gauges of a registrar that is gone.
#[cfg(feature = "metrics")]
pub(crate) fn left(registrar: &str) {
    backlog(registrar, 0, Duration::ZERO);
}

/// Reports the backlog of a registrar.
#[cfg(feature = "metrics")]
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(crate) fn backlog(registrar: &str, depth: usize, age: Duration) {
    let labels = vec![metrics::Label::new("registrar", registrar.to_owned())];
    metrics::gauge!("watch_manager_backlog_depth", labels.clone()).set(depth as f64);
    metrics::gauge!("watch_manager_backlog_age_seconds", labels).set(age.as_secs_f64());
}

#[cfg(feature = "metrics")]
fn labels(gvk: &GroupVersionKind) -> Vec<metrics::Label> {
    [("group", &gvk.group), ("version", &gvk.version), ("kind", &gvk.kind)]
        .map(|(name, value)| metrics::Label::new(name, value.clone()))
        .to_vec()
}

#[cfg(not(feature = "metrics"))]
pub(crate) fn request(_: &GroupVersionKind, _: Verb, _: Option<&SourceError>) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn started(_: &GroupVersionKind) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn stopped(_: &GroupVersionKind) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn left(_: &str) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn ended(_: &GroupVersionKind, _: End<'_>) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn fan_out(work: impl FnOnce()) {
    work();
}

#[cfg(not(feature = "metrics"))]
pub(crate) fn undecodable(_: &GroupVersionKind) {}

#[cfg(not(feature = "metrics"))]
impl Kinds {
    #[expect(clippy::unused_self, reason = "the other implementation uses it")]
    pub(crate) fn set(&mut self, _: usize, _: impl FnOnce() -> usize) {}
}

#[cfg(not(feature = "metrics"))]
pub(crate) fn listed(_: &GroupVersionKind, _: Option<std::time::Duration>) {}
