//! The status page, `/` of the health port: policies and how far each pod is with them, what is waited for, the last denials,
//! and what templates cost.
//!
//! It is made from this pod's memory without requests, so it works while the API server is unavailable. It shows only the names
//! of objects, because the port has no authentication.

mod html;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use admission_server::Answer;
use constraint_framework::api::CONSTRAINTS_GROUP;
use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use pod_status::{HighWaterMarks, ParentKind};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use watch_manager::{GroupVersionKind, WatchManager};

use crate::controller::TEMPLATE;
use crate::enforce::{Cost, Costs, Denial, RecentDenials};
use crate::in_force::PolicyHandle;

/// A page is shown again for this long: reading it often costs no more than reading it once.
const FRESH: Duration = Duration::from_secs(1);
/// Policies on the page. Those that are not enforced come first.
const POLICIES: usize = 500;

/// Reports what keeps the pod from being ready.
pub(super) type Readiness = Arc<dyn Fn() -> Result<(), Vec<String>> + Send + Sync>;

/// The sources of the page.
#[derive(Clone)]
pub(super) struct Sources {
    /// The name of the pod.
    pub(super) pod: String,
    pub(super) readiness: Readiness,
    pub(super) manager: WatchManager,
    /// Progress of the rollout, known in the pod that aggregates.
    pub(super) marks: watch::Receiver<HighWaterMarks>,
    pub(super) policies: PolicyHandle,
    pub(super) denials: RecentDenials,
    pub(super) costs: Costs,
}

/// Answers with the page. Clones share it.
#[derive(Clone)]
pub(super) struct StatusPage {
    sources: Sources,
    /// One page is made at a time.
    turn: Arc<Semaphore>,
    last: Arc<Mutex<Option<(Instant, String)>>>,
}

/// The contents of the page.
#[derive(Debug, Default)]
struct Page {
    pod: String,
    missing: Vec<String>,
    suspension: Option<String>,
    /// Number of policies that are enforced everywhere.
    rollout: String,
    policies: Vec<Policy>,
    /// Policies that are not on the page.
    more: usize,
    denials: Vec<Denial>,
    costs: Vec<(String, Cost)>,
}

/// A template or a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Policy {
    /// Sorts what is not enforced to the front.
    is_enforced: bool,
    kind: String,
    name: String,
    action: String,
    /// The reason in its condition why it is not enforced.
    waiting: String,
    violations: String,
    pods: Vec<Pod>,
}

/// A pod's word on a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pod {
    name: String,
    is_enforced: bool,
    errors: Vec<String>,
}

impl StatusPage {
    pub(super) fn new(sources: Sources) -> Self {
        Self { sources, turn: Arc::new(Semaphore::new(1)), last: Arc::default() }
    }

    /// Answers a request for `/`.
    pub(super) async fn answer(self) -> Answer {
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        // Thousands of policies take a while to read. The page is made to its end, also for a client that has gone.
        let made = tokio::task::spawn_blocking(move || {
            let text = self.text();
            drop(turn);
            text
        });
        match made.await {
            Ok(text) => page(StatusCode::OK, text),
            Err(_) => page(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be made\n".to_owned()),
        }
    }

    /// The last page while it is fresh, or a new one.
    fn text(&self) -> String {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, text)) = last().as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            tracing::trace!(age = ?at.elapsed(), "the status page is shown again");
            return text.clone();
        }
        let text = html::render(&self.sources.page());
        *last() = Some((Instant::now(), text.clone()));
        text
    }
}

/// Browsers run nothing that is on the page, and load nothing.
fn page(status: StatusCode, text: String) -> Answer {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Sources {
    fn page(&self) -> Page {
        let mut policies = self.policies();
        policies.sort();
        let rollout = rollout(&self.marks.borrow()).unwrap_or_else(|| counted(&policies));
        let more = policies.len().saturating_sub(POLICIES);
        policies.truncate(POLICIES);
        let mut costs: Vec<_> = self.costs.by_kind().into_iter().collect();
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.total));
        costs.truncate(POLICIES);
        Page {
            pod: self.pod.clone(),
            missing: (self.readiness)().err().unwrap_or_default(),
            suspension: self.policies.current().suspension.map(|reason| reason.to_string()),
            rollout,
            policies,
            more,
            denials: self.denials.list(),
            costs,
        }
    }

    fn policies(&self) -> Vec<Policy> {
        let kinds = self.manager.watched().into_iter();
        let kinds = kinds.filter(|gvk| gvk.group == CONSTRAINTS_GROUP || *gvk == *TEMPLATE);
        let stores = kinds.filter_map(|gvk| self.manager.store(&gvk));
        let objects = stores.flat_map(|store| store.objects());
        objects.map(|object| Policy::read(object.gvk(), object.name(), object.to_value())).collect()
    }
}

/// Of templates and constraints: what a SyncSet or the Config names is ingested, not enforced.
fn rollout(marks: &HighWaterMarks) -> Option<String> {
    let is_policy = |kind: &ParentKind| kind.group == CONSTRAINTS_GROUP || kind.group == TEMPLATE.group;
    marks.is_known().then(|| marks.over(is_policy).to_string())
}

/// The same by the conditions: only the pod that aggregates knows since when which pods are waited for.
fn counted(policies: &[Policy]) -> String {
    let enforced = policies.iter().filter(|policy| policy.is_enforced).count();
    format!("{enforced} of {} enforced everywhere", policies.len())
}

impl Policy {
    fn read(gvk: &GroupVersionKind, name: &str, object: Result<Value, serde_json::Error>) -> Self {
        match object {
            Ok(object) => Self::of(&object),
            Err(error) => Self {
                kind: gvk.kind.clone(),
                name: name.to_owned(),
                waiting: format!("cannot be read: {error}"),
                ..Self::default()
            },
        }
    }

    fn of(object: &Value) -> Self {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let mut conditions = list("/status/conditions");
        let enforced = conditions.find(|condition| field(condition, "type") == "Enforced");
        let is_enforced = enforced.is_some_and(|condition| field(condition, "status") == "True");
        let waiting = match enforced {
            _ if is_enforced => String::new(),
            Some(condition) => format!("{}: {}", field(condition, "reason"), field(condition, "message")),
            None => "not reported yet".to_owned(),
        };
        let violations = object.pointer("/status/totalViolations").map(Value::to_string);
        let action = text("/spec/enforcementAction");
        let is_template = text("/kind") == TEMPLATE.kind;
        Self {
            is_enforced,
            kind: text("/kind"),
            name: text("/metadata/name"),
            action: if action.is_empty() && !is_template { "deny".to_owned() } else { action },
            waiting,
            violations: violations.unwrap_or_default(),
            pods: list("/status/byPod").map(Pod::of).collect(),
        }
    }
}

impl Pod {
    fn of(entry: &Value) -> Self {
        let errors = entry.get("errors").and_then(Value::as_array).into_iter().flatten();
        Self {
            name: field(entry, "id"),
            is_enforced: entry.get("enforced").and_then(Value::as_bool).unwrap_or_default(),
            errors: errors.map(|error| field(error, "message")).collect(),
        }
    }
}

fn field(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_that_cannot_be_read_is_on_the_page_with_the_reason() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let policy = Policy::read(&TEMPLATE, "a", serde_json::from_str(&deep));
        assert_eq!((policy.is_enforced, policy.name.as_str()), (false, "a"));
        assert!(policy.waiting.starts_with("cannot be read: recursion limit"), "{}", policy.waiting);
    }

    #[test]
    fn a_policy_is_what_its_status_says() {
        let policy = Policy::of(&json!({
            "kind": "NeedsLabel", "metadata": {"name": "a"}, "spec": {},
            "status": {
                "totalViolations": 3,
                "conditions": [{"type": "Enforced", "status": "False", "reason": "Waiting", "message": "for pod-1"}],
                "byPod": [{"id": "pod-0", "enforced": true}, {"id": "pod-1", "errors": [{"message": "no template"}]}]
            }
        }));
        assert_eq!((policy.is_enforced, policy.waiting.as_str()), (false, "Waiting: for pod-1"));
        assert_eq!((policy.action.as_str(), policy.violations.as_str()), ("deny", "3"));
        let pods: Vec<_> =
            policy.pods.iter().map(|pod| (pod.name.as_str(), pod.is_enforced, pod.errors.len())).collect();
        assert_eq!(pods, [("pod-0", true, 0), ("pod-1", false, 1)]);
        let fresh = Policy::of(&json!({"kind": "ConstraintTemplate", "metadata": {"name": "b"}}));
        assert_eq!((fresh.waiting.as_str(), fresh.action.as_str()), ("not reported yet", ""));
        assert_eq!(counted(&[policy, fresh]), "0 of 2 enforced everywhere");
    }

    #[test]
    fn a_browser_may_run_and_load_nothing() {
        let answer = page(StatusCode::OK, String::new());
        let policy = answer.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("script"), "{policy}");
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    }
}
