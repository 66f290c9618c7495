//! Writes the statuses of constraints: gathered, limited in rate, and only where something differs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use watch_manager::{GroupVersionKind, WatchManager, WatchedObject};

use crate::api_error::reason;
use crate::audit::ledger::{Ledger, Report};
use crate::audit::status::{AUDITED, condition, fields, is_stored};
use crate::audit::{AuditContext, FIELD_MANAGER};
use crate::retry::Waits;
use crate::written::now;

/// A change waits this long for others.
const GATHER: Duration = Duration::from_millis(300);
/// Two writes of one constraint are this far apart.
const APART: Duration = Duration::from_secs(2);
/// Statuses that are written at the same time, and the time for each, so that they are at most 20 a second.
const WRITES: usize = 4;
const PACE: Duration = Duration::from_millis(200);
/// The waits after a write that failed.
const RETRY: Waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(30) };
/// The watch brings what was written within this time.
const ECHO: Duration = Duration::from_secs(10);

/// The statuses that are to be written.
pub(super) struct Statuses {
    client: kube::Client,
    limit: usize,
    due: BTreeMap<ConstraintRef, Instant>,
    written: BTreeMap<ConstraintRef, Last>,
    writing: BTreeSet<ConstraintRef>,
    writes: FuturesUnordered<BoxFuture<'static, Written>>,
}

/// The last write of a status.
struct Last {
    at: Instant,
    report: Report,
    wait: Duration,
}

/// Of a constraint its status alone: the parameters may be nested deeper than can be read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Statused {
    status: Value,
}

/// The end of a write.
pub(super) struct Written {
    id: ConstraintRef,
    result: Result<(), kube::Error>,
}

impl Statuses {
    pub(super) fn new(context: &AuditContext) -> Self {
        Self {
            client: context.client.clone(),
            limit: context.options.violations_limit,
            due: BTreeMap::new(),
            written: BTreeMap::new(),
            writing: BTreeSet::new(),
            writes: FuturesUnordered::new(),
        }
    }

    /// Notes that what is known about the constraint, or its status, may have changed.
    pub(super) fn changed(&mut self, id: ConstraintRef, now: Instant) {
        let apart = self.written.get(&id).and_then(|last| last.at.checked_add(last.wait.max(APART)));
        let gathered = now.checked_add(GATHER).unwrap_or(now);
        self.due.entry(id).or_insert_with(|| apart.map_or(gathered, |apart| apart.max(gathered)));
    }

    /// Returns when the next status is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.values().min().copied().filter(|_| self.writes.len() < WRITES)
    }

    /// The next write that has ended; `None` while there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Written> {
        self.writes.next().await
    }

    /// Begins to write what is due and differs.
    pub(super) fn write(&mut self, ledger: &Ledger, manager: &WatchManager, now: Instant) {
        let is_due = |(id, at): (&ConstraintRef, &Instant)| {
            (*at <= now && !self.writing.contains(id)).then(|| id.clone())
        };
        let due: Vec<_> = self.due.iter().filter_map(is_due).collect();
        for id in due {
            if self.writes.len() >= WRITES {
                return;
            }
            self.due.remove(&id);
            // While it is being judged, the former status stays.
            let Some(report) = ledger.report(&id, self.limit) else { continue };
            let Some(stored) = manager.store(&gvk(&id)).and_then(|store| store.get(None, &id.name)) else {
                continue;
            };
            if stored.uid() == report.definition.uid {
                self.begin(id, report, &stored, now);
            }
        }
    }

    fn begin(&mut self, id: ConstraintRef, report: Report, stored: &WatchedObject, now: Instant) {
        let status = match stored.parse::<Statused>() {
            Ok(Statused { status }) => status,
            Err(error) => {
                tracing::warn!(constraint = %id, %error, "the status of a constraint cannot be read, so it is not written");
                return;
            }
        };
        if is_stored(&status, &report) {
            return;
        }
        let last = self.written.get(&id);
        if let Some(last) = last.filter(|last| last.report == report && last.at.elapsed() < ECHO) {
            let again = last.at.checked_add(ECHO).unwrap_or(now);
            self.due.insert(id, again);
            return;
        }
        let wait = last.map_or(Duration::ZERO, |last| last.wait);
        self.written.insert(id.clone(), Last { at: now, report: report.clone(), wait });
        self.writing.insert(id.clone());
        let body = body(&report, transition(&status, &report));
        let resource = ApiResource::from_gvk_with_plural(&gvk(&id), &id.kind.to_lowercase());
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let write = async move {
            let params = PatchParams::apply(FIELD_MANAGER).force();
            let patch = Patch::Apply(&body);
            let (written, ()) =
                tokio::join!(api.patch_status(&id.name, &params, &patch), tokio::time::sleep(PACE));
            Written { id, result: written.map(drop) }
        };
        self.writes.push(write.boxed());
        tracing::info!(
            process = "audit",
            event_type = "constraint_audited",
            constraint_kind = report.definition.id.kind,
            constraint_name = report.definition.id.name,
            constraint_action = report.definition.action,
            constraint_violations = report.total,
            "audit results for constraint"
        );
    }

    pub(super) fn on_written(&mut self, Written { id, result }: Written) {
        let now = Instant::now();
        self.writing.remove(&id);
        let Some(last) = self.written.get_mut(&id) else { return };
        match result {
            Ok(()) => last.wait = Duration::ZERO,
            // Gone, created anew, or not served at the moment: looked at again, if it is still in force then.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                self.written.remove(&id);
                self.due.insert(id, now.checked_add(APART).unwrap_or(now));
            }
            Err(error) => {
                last.wait = RETRY.following(last.wait);
                // Nothing is stored: the same report is due again.
                last.at = now.checked_sub(ECHO).unwrap_or(now);
                tracing::warn!(constraint = %id, error = reason(&error), retry = ?last.wait, "the audit's status is not stored");
                self.due.insert(id, now.checked_add(last.wait).unwrap_or(now));
            }
        }
    }
}

fn gvk(id: &ConstraintRef) -> GroupVersionKind {
    GroupVersionKind::gvk(CONSTRAINTS_GROUP, "v1beta1", &id.kind)
}

/// The time since which the condition has its status.
fn transition(status: &Value, report: &Report) -> String {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let mut ours = conditions.filter(|condition| condition.get("type") == Some(&json!(AUDITED)));
    let same = ours.next().filter(|stored| stored.get("status") == condition(report).get("status"));
    let since = same.and_then(|stored| stored.get("lastTransitionTime")?.as_str());
    since.map_or_else(now, str::to_owned)
}

/// The uid makes the write fail for a constraint of the same name that was created meanwhile. The version is not a
/// precondition: the holder of the Lease sees what was written last, and repairs it.
fn body(report: &Report, since: String) -> Value {
    let definition = &report.definition;
    let mut condition: Map<String, Value> = condition(report);
    condition.insert("lastTransitionTime".to_owned(), json!(since));
    let mut status = fields(report);
    status.insert("auditTimestamp".to_owned(), json!(now()));
    status.insert("conditions".to_owned(), json!([condition]));
    json!({
        "apiVersion": format!("{CONSTRAINTS_GROUP}/v1beta1"),
        "kind": definition.id.kind,
        "metadata": {"name": definition.id.name, "uid": definition.uid},
        "status": status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_however_deep_the_parameters_are() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        let text = format!(r#"{{"spec": {{"parameters": {deep}}}, "status": {{"totalViolations": 1}}}}"#);
        assert!(serde_json::from_str::<Value>(&text).is_err());
        let constraint: Statused = serde_json::from_str(&text).unwrap();
        assert_eq!(constraint.status, json!({"totalViolations": 1}));
    }
}
