//! Metrics, through the `metrics` facade with the feature `metrics`; without it, every function does nothing.
//!
//! | metric | type | labels |
//! |---|---|---|
//! | `watch_manager_watched_gvk` | gauge | |
//! | `watch_manager_intended_watch_gvk` | gauge | |
//! | `watch_manager_requests_total` | counter | `group`, `version`, `kind`, `verb`, `result` |
//! | `watch_manager_restarts_total` | counter | `group`, `version`, `kind` |
//! | `watch_manager_undecodable_total` | counter | `group`, `version`, `kind` |
//!
//! Depth and age of the backlogs are read from `WatchManager::backlogs`.

use kube::core::GroupVersionKind;

use crate::event::Verb;
use crate::source::SourceError;

/// Counts a request. `result` is `ok` or the kind of the error.
#[cfg(feature = "metrics")]
pub(crate) fn request(gvk: &GroupVersionKind, verb: Verb, error: Option<&SourceError>) {
    let result = match error {
        None => "ok",
        Some(SourceError::NotServed) => "not_served",
        Some(SourceError::Forbidden(_)) => "forbidden",
        Some(SourceError::Expired) => "expired",
        Some(SourceError::Busy { .. }) => "busy",
        Some(SourceError::Undecodable(_)) => "undecodable",
        Some(SourceError::Unavailable(_)) => "unavailable",
    };
    let mut labels = labels(gvk);
    labels.push(metrics::Label::new("verb", verb.to_string()));
    labels.push(metrics::Label::from_static_parts("result", result));
    metrics::counter!("watch_manager_requests_total", labels).increment(1);
}

/// Counts the start of a watch, the first and each later one.
#[cfg(feature = "metrics")]
pub(crate) fn started(gvk: &GroupVersionKind) {
    metrics::counter!("watch_manager_restarts_total", labels(gvk)).increment(1);
}

/// Counts a message that is not an object.
#[cfg(feature = "metrics")]
pub(crate) fn undecodable(gvk: &GroupVersionKind) {
    metrics::counter!("watch_manager_undecodable_total", labels(gvk)).increment(1);
}

/// Reports the number of kinds that are watched, and that are asked for.
#[cfg(feature = "metrics")]
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(crate) fn kinds(watched: usize, intended: impl FnOnce() -> usize) {
    metrics::gauge!("watch_manager_watched_gvk").set(watched as f64);
    metrics::gauge!("watch_manager_intended_watch_gvk").set(intended() as f64);
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
pub(crate) fn undecodable(_: &GroupVersionKind) {}

#[cfg(not(feature = "metrics"))]
pub(crate) fn kinds(_: usize, _: impl FnOnce() -> usize) {}
