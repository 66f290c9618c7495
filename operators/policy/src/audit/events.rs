//! Kubernetes Events, one for each violation that comes or goes, as Gatekeeper's `--emit-audit-events` asks for.

use std::collections::{BTreeMap, VecDeque};

use constraint_framework::api::CONSTRAINTS_GROUP;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::AuditContext;
use super::ledger::News;

/// Events that wait to be stored. More are dropped, and counted.
const WAITING: usize = 1000;
/// Events that are stored at the same time.
const WRITES: usize = 2;

/// Where Events go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPlace {
    /// Nowhere: none are made.
    Nowhere,
    /// To the operator's namespace.
    Operator,
    /// To the namespace of the object that violates.
    Object,
}

/// The Events of a term.
pub(super) struct Events {
    client: kube::Client,
    place: EventPlace,
    namespace: String,
    waiting: VecDeque<Event>,
    writes: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Events {
    pub(super) fn new(context: &AuditContext) -> Self {
        Self {
            client: context.client.clone(),
            place: context.options.events,
            namespace: context.identity.namespace.clone(),
            waiting: VecDeque::new(),
            writes: FuturesUnordered::new(),
        }
    }

    /// Makes an Event of a violation that has come or gone.
    pub(super) fn emit(&mut self, news: &News, action: &str) {
        if self.place == EventPlace::Nowhere {
            return;
        }
        if self.waiting.len() >= WAITING {
            metrics::counter!("webtroller_audit_events_dropped_total").increment(1);
            return;
        }
        self.waiting.push_back(event(news, action, self.place, &self.namespace));
        self.store();
    }

    /// Waits until an Event has been stored; `None` while there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<()> {
        self.writes.next().await
    }

    /// Stores what waits.
    pub(super) fn store(&mut self) {
        while self.writes.len() < WRITES
            && let Some(event) = self.waiting.pop_front()
        {
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
            let write = async move {
                // An Event is a courtesy: the status has what it says.
                if let Err(error) = api.create(&PostParams::default(), &event).await {
                    tracing::warn!(%error, "an Event of the audit is not stored");
                }
            };
            self.writes.push(write.boxed());
        }
    }
}

/// An Event, with the words and annotations of Gatekeeper.
fn event(news: &News, action: &str, place: EventPlace, operator: &str) -> Event {
    let object = &news.place;
    let namespace = match place {
        EventPlace::Object if !object.namespace.is_empty() => object.namespace.to_string(),
        _ => operator.to_owned(),
    };
    let message = match namespace == *object.namespace {
        true => format!("Constraint: {}, Message: {}", news.constraint.name, news.message),
        false => format!(
            "Resource Namespace: {}, Constraint: {}, Message: {}",
            object.namespace, news.constraint.name, news.message
        ),
    };
    let (reason, event_type, type_) = match news.is_new {
        true => ("AuditViolation", "violation_audited", "Warning"),
        false => ("AuditViolationResolved", "violation_resolved", "Normal"),
    };
    let api_version = match object.kind.group.as_str() {
        "" => object.kind.version.clone(),
        group => format!("{group}/{}", object.kind.version),
    };
    let now = Time(Timestamp::now());
    Event {
        metadata: ObjectMeta {
            generate_name: Some("webtroller-audit-".to_owned()),
            namespace: Some(namespace.clone()),
            annotations: Some(annotations(news, action, event_type)),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(api_version),
            kind: Some(object.kind.kind.clone()),
            name: Some(object.name.to_string()),
            namespace: Some(namespace),
            ..ObjectReference::default()
        },
        reason: Some(reason.to_owned()),
        message: Some(message.chars().take(1024).collect()),
        type_: Some(type_.to_owned()),
        source: Some(EventSource { component: Some("gatekeeper-audit".to_owned()), host: None }),
        first_timestamp: Some(now.clone()),
        last_timestamp: Some(now),
        count: Some(1),
        ..Event::default()
    }
}

fn annotations(news: &News, action: &str, event_type: &str) -> BTreeMap<String, String> {
    let (constraint, place) = (&news.constraint, &news.place);
    let fields = [
        ("process", "audit"),
        ("event_type", event_type),
        ("constraint_group", CONSTRAINTS_GROUP),
        ("constraint_api_version", "v1beta1"),
        ("constraint_kind", &constraint.kind),
        ("constraint_name", &constraint.name),
        ("constraint_action", action),
        ("resource_group", &place.kind.group),
        ("resource_api_version", &place.kind.version),
        ("resource_kind", &place.kind.kind),
        ("resource_namespace", &place.namespace),
        ("resource_name", &place.name),
    ];
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
