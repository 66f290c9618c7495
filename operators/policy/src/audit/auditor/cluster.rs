//! The facts about the cluster that the audit needs beside the objects: Namespaces, statuses of constraints, and
//! which kinds the API server serves.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::discovery::Discovery;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use watch_manager::{EventKind, GroupVersionKind, Interest, Registrar, WatchEvent, WatchedObject};

use super::Auditor;
use crate::api_error::reason;
use crate::audit::AuditContext;
use crate::audit::kinds::{ServedKind, served};

/// The wait before kinds are looked for again: after a change of a definition, whose kinds are served a moment later;
/// after a failure; and in any case, because aggregated APIs come and go without a definition.
const SOON: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(2);
const ROUTINE: Duration = Duration::from_secs(60);

/// An event that is not one of an audited object.
pub(super) enum ClusterEvent {
    /// These kinds are served.
    Served(Vec<ServedKind>),
    /// The Namespace of that name is not as it was.
    Namespace(String),
    /// The constraint, or its status, is not as it was.
    Constraint(ConstraintRef),
    /// Nothing of interest.
    Nothing,
}

/// The sources of these events.
pub(super) struct ClusterEvents {
    client: kube::Client,
    namespaces: Registrar,
    constraints: Registrar,
    definitions: Registrar,
    /// The part of each Namespace that policies can see.
    seen: HashMap<String, u64>,
    discovery: BoxFuture<'static, Result<Vec<ServedKind>, kube::Error>>,
    /// The time when the discovery that waits will begin.
    discovery_at: Instant,
}

impl ClusterEvents {
    pub(super) fn new(context: &AuditContext) -> Result<Self, watch_manager::Error> {
        let registrar = |name: &str| context.manager.registrar(name);
        let events = Self {
            client: context.client.clone(),
            namespaces: registrar("audit: namespaces")?,
            constraints: registrar("audit: constraints")?,
            definitions: registrar("audit: definitions")?,
            seen: HashMap::new(),
            discovery: std::future::pending().boxed(),
            discovery_at: Instant::now(),
        };
        let _ = events.namespaces.add(GroupVersionKind::gvk("", "v1", "Namespace"));
        let definition = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let _ = events.definitions.add(Interest::new(definition).metadata_only());
        Ok(events)
    }

    /// Asks which kinds are served.
    pub(super) fn discover(&mut self, client: &kube::Client) {
        self.discovery = discover(client.clone(), Duration::ZERO).boxed();
        self.discovery_at = Instant::now();
    }

    /// Asks again soon.
    pub(super) fn rediscover(&mut self) {
        self.discover_after(SOON);
    }

    /// A question that is under way may have been answered before the change: it is dropped.
    fn discover_after(&mut self, wait: Duration) {
        let at = Instant::now().checked_add(wait).unwrap_or_else(Instant::now);
        let waits = self.discovery_at > Instant::now();
        if !waits || at < self.discovery_at {
            self.discovery = discover(self.client.clone(), wait).boxed();
            self.discovery_at = at;
        }
    }

    /// Watches the constraints of these kinds, for their statuses.
    pub(super) fn follow_constraints<'a>(&self, kinds: impl Iterator<Item = &'a str>) {
        let kinds: BTreeSet<_> = kinds.collect();
        let gvks = kinds.into_iter().map(|kind| GroupVersionKind::gvk(CONSTRAINTS_GROUP, "v1beta1", kind));
        self.constraints.replace(gvks);
    }

    /// The next event; `None` when the watch manager has ended. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<ClusterEvent> {
        tokio::select! {
            answer = &mut self.discovery => Some(self.discovered(answer)),
            event = self.namespaces.next() => Some(self.namespace_event(event?)),
            event = self.constraints.next() => Some(constraint_event(&event?)),
            event = self.definitions.next() => {
                if matches!(event?.kind, EventKind::Applied(_) | EventKind::Deleted(_)) {
                    self.discover_after(SOON);
                }
                Some(ClusterEvent::Nothing)
            }
        }
    }

    fn discovered(&mut self, answer: Result<Vec<ServedKind>, kube::Error>) -> ClusterEvent {
        // The future has ended and must not be polled again.
        self.discovery = std::future::pending().boxed();
        self.discovery_at = Instant::now();
        match answer {
            Ok(served) => {
                self.discover_after(ROUTINE);
                ClusterEvent::Served(served)
            }
            Err(error) => {
                tracing::warn!(error = reason(&error), retry = ?RETRY, "the kinds to audit are not known");
                self.discover_after(RETRY);
                ClusterEvent::Nothing
            }
        }
    }

    /// Only what policies can see counts: every write changes the version.
    fn namespace_event(&mut self, event: WatchEvent) -> ClusterEvent {
        match event.kind {
            EventKind::Applied(object) => {
                let visible = visible(&object);
                let before = self.seen.insert(object.name().to_owned(), visible);
                match before {
                    Some(before) if before != visible => ClusterEvent::Namespace(object.name().to_owned()),
                    _ => ClusterEvent::Nothing,
                }
            }
            _ => ClusterEvent::Nothing,
        }
    }
}

impl Auditor {
    pub(super) fn on_cluster(&mut self, event: ClusterEvent) {
        match event {
            ClusterEvent::Served(served) => self.on_served(served),
            ClusterEvent::Namespace(name) => self.ledger.outdate_namespace(&name),
            ClusterEvent::Constraint(id) => self.statuses.changed(id, Instant::now()),
            ClusterEvent::Nothing => {}
        }
    }
}

fn constraint_event(event: &WatchEvent) -> ClusterEvent {
    match &event.kind {
        EventKind::Applied(object) => ClusterEvent::Constraint(ConstraintRef {
            kind: event.gvk.kind.clone(),
            name: object.name().to_owned(),
        }),
        _ => ClusterEvent::Nothing,
    }
}

/// A number that differs when labels, annotations, spec or status do.
fn visible(namespace: &WatchedObject) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    match namespace.to_value() {
        Ok(mut value) => {
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
                metadata.remove("managedFields");
            }
            value.to_string().hash(&mut hasher);
        }
        // Each version differs.
        Err(_) => namespace.json().hash(&mut hasher),
    }
    hasher.finish()
}

async fn discover(client: kube::Client, wait: Duration) -> Result<Vec<ServedKind>, kube::Error> {
    sleep(wait).await;
    let discovery = Discovery::new(client).run_aggregated().await?;
    let mut kinds: Vec<_> = discovery.groups().flat_map(served).collect();
    kinds.sort();
    Ok(kinds)
}
