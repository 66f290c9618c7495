//! BreakGlass objects: enforcement is suspended while one of them has not expired.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use pod_status::readiness::{ErrorClass, ReadinessSource};
use serde::Deserialize;
use watch_manager::{EventKind, WatchEvent, WatchedObject};

use super::Ingest;

/// A suspension lasts a day at most, whatever it asks for: one that is forgotten ends by itself.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The BreakGlass objects that exist, and what follows from them.
pub(super) struct Suspensions {
    source: ReadinessSource,
    known: BTreeMap<String, Suspension>,
    /// The reason why nothing is enforced, as it was last published.
    pub(super) text: Option<Arc<str>>,
}

struct Suspension {
    until: Timestamp,
    reason: String,
}

#[derive(Deserialize)]
struct BreakGlass {
    metadata: Created,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    creation_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct Spec {
    until: Timestamp,
    reason: String,
}

impl Suspensions {
    pub(super) fn new(source: ReadinessSource) -> Self {
        source.list_begins();
        Self { source, known: BTreeMap::new(), text: None }
    }

    /// The one that lasts longest, in words.
    fn describe(&self, now: Timestamp) -> Option<Arc<str>> {
        let active = self.known.iter().filter(|(_, suspension)| suspension.until > now);
        let (name, Suspension { until, reason }) = active.max_by_key(|(_, suspension)| suspension.until)?;
        Some(format!("enforcement is suspended until {until} by BreakGlass {name}: {reason}").into())
    }

    /// Waits until one of them expires, or has expired unnoticed; for ever when none will. Cancel-safe.
    pub(super) async fn expiry(&self) {
        let now = Timestamp::now();
        if self.describe(now) != self.text {
            return;
        }
        let next = self.known.values().map(|suspension| suspension.until).filter(|until| *until > now).min();
        match next.and_then(|next| Duration::try_from(next.duration_since(now)).ok()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
    }
}

impl Suspension {
    fn of(object: &WatchedObject) -> Result<Self, String> {
        let value = object.to_value().map_err(|error| error.to_string())?;
        let BreakGlass { metadata, spec: Spec { until, reason } } =
            BreakGlass::deserialize(&value).map_err(|error| error.to_string())?;
        let created = metadata.creation_timestamp;
        let latest = created.checked_add(LONGEST).unwrap_or(created);
        Ok(Self { until: until.min(latest), reason })
    }
}

impl Ingest {
    pub(super) fn on_break_glass(&mut self, event: WatchEvent) {
        match event.kind {
            EventKind::Applied(object) => {
                self.suspensions.known.remove(object.name());
                match Suspension::of(&object) {
                    Ok(suspension) => {
                        drop(self.suspensions.known.insert(object.name().to_owned(), suspension))
                    }
                    Err(reason) => {
                        tracing::warn!(name = object.name(), reason, "a BreakGlass is not readable")
                    }
                }
                self.follow_suspensions();
            }
            EventKind::Deleted(object) => {
                self.suspensions.known.remove(object.name());
                self.follow_suspensions();
            }
            EventKind::Synced => self.lists.push(self.suspensions.source.clone()),
            EventKind::Status(status) if !status.is_ready() => {
                self.suspensions.source.list_fails(ErrorClass::Transient, format!("BreakGlass: {status}"));
            }
            _ => {}
        }
    }

    /// Publishes what is suspended now, and reports everything anew where that has changed.
    pub(super) fn follow_suspensions(&mut self) {
        let text = self.suspensions.describe(Timestamp::now());
        if text == self.suspensions.text {
            return;
        }
        match &text {
            Some(text) => tracing::error!(reason = %text, "nothing is enforced"),
            None => tracing::warn!("policies are enforced again"),
        }
        self.suspensions.text = text;
        self.changed = true;
        self.report_everything();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controller::kinds::BREAK_GLASS;

    fn until(created: Value) -> Result<String, String> {
        let object = json!({
            "metadata": {"name": "a", "creationTimestamp": created},
            "spec": {"until": "2030-01-01T00:00:00Z", "reason": "outage"},
        });
        let object = WatchedObject::from_value(&BREAK_GLASS, &object).unwrap();
        Suspension::of(&object).map(|suspension| suspension.until.to_string())
    }

    #[test]
    fn the_cap_counts_from_the_creation_and_without_one_nothing_is_suspended() {
        assert_eq!(until(json!("2026-01-01T00:00:00Z")).unwrap(), "2026-01-02T00:00:00Z");
        for unreadable in [Value::Null, json!("yesterday"), json!(7)] {
            assert!(until(unreadable.clone()).is_err(), "{unreadable}");
        }
    }
}
