//! Kubernetes Events about violations, as Gatekeeper's `--emit-admission-events` and `--emit-audit-events` ask for.
//!
//! A [`Recorder`] makes them and never waits; one task of the process, [`store_events`], writes them. The name of an Event
//! is a digest of what it says, so that all pods count the same violation in one object: three pods that deny one
//! Deployment twice each leave one Event with `count: 6`.

mod event;
mod pace;
mod queue;
mod store;

use std::collections::BTreeMap;

use constraint_framework::api::{CONSTRAINTS_GROUP, ConstraintRef};

pub use queue::EventQueue;
pub use store::store_events;

/// The place that Events go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventNamespace {
    /// Nowhere: none are made.
    Nowhere,
    /// To the operator's namespace.
    Operator,
    /// To the namespace of the object that violates.
    Object,
}

impl EventNamespace {
    /// Returns the meaning of Gatekeeper's two flags: whether Events are made, and whether in the namespace of the object.
    pub const fn of_flags(emits: bool, at_object: bool) -> Self {
        match (emits, at_object) {
            (false, _) => Self::Nowhere,
            (true, false) => Self::Operator,
            (true, true) => Self::Object,
        }
    }
}

/// The part of the operator that finds violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finder {
    /// The webhook.
    Admission,
    /// The audit.
    Audit,
}

impl Finder {
    const fn process(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Audit => "audit",
        }
    }

    /// Gatekeeper's name of the source of its Events.
    const fn component(self) -> &'static str {
        match self {
            Self::Admission => "gatekeeper-webhook",
            Self::Audit => "gatekeeper-audit",
        }
    }
}

/// The object that an Event is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// API group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// The object's kind.
    pub kind: &'a str,
    /// Empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// The `uid` and the `resourceVersion` of an object that is stored.
    pub stored: Option<(&'a str, &'a str)>,
}

/// The contents of an Event.
#[derive(Clone, Debug)]
pub struct ViolationEvent<'a> {
    /// The Event's reason, such as `FailedAdmission`.
    pub reason: &'static str,
    /// A violation exists; otherwise one is gone.
    pub is_warning: bool,
    /// The beginning of the message; may be empty.
    pub headline: &'static str,
    /// The constraint.
    pub constraint: &'a ConstraintRef,
    /// The constraint's `enforcementAction`.
    pub action: &'a str,
    /// The policy's message.
    pub message: &'a str,
    /// The object.
    pub subject: Subject<'a>,
    /// The word of the annotation `event_type`.
    pub event_type: &'static str,
    /// Annotations besides those that every Event has.
    pub annotations: &'a [(&'static str, &'a str)],
}

/// Makes the Events of one part of the operator.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: EventQueue,
    finder: Finder,
    place: EventNamespace,
    /// The operator's namespace.
    namespace: String,
}

impl Recorder {
    /// Makes Events for `queue`. `namespace` is the operator's.
    pub fn new(queue: EventQueue, finder: Finder, place: EventNamespace, namespace: String) -> Self {
        Self { queue, finder, place, namespace }
    }

    /// Returns true if Events are made at all.
    pub fn is_on(&self) -> bool {
        self.place != EventNamespace::Nowhere
    }

    /// Queues an Event. Never waits: while the queue is full it is dropped, and counted.
    pub fn record(&self, notice: &ViolationEvent<'_>) {
        if self.is_on() {
            self.queue.push(event::event(notice, self.finder, self.place, &self.namespace));
        }
    }
}

/// Gatekeeper's annotations.
fn annotations(notice: &ViolationEvent<'_>, finder: Finder) -> BTreeMap<String, String> {
    let subject = &notice.subject;
    let fields = [
        ("process", finder.process()),
        ("event_type", notice.event_type),
        ("constraint_group", CONSTRAINTS_GROUP),
        ("constraint_api_version", "v1beta1"),
        ("constraint_kind", &notice.constraint.kind),
        ("constraint_name", &notice.constraint.name),
        ("constraint_action", notice.action),
        ("resource_group", subject.group),
        ("resource_api_version", subject.version),
        ("resource_kind", subject.kind),
        ("resource_namespace", subject.namespace),
        ("resource_name", subject.name),
    ];
    let all = fields.iter().chain(notice.annotations);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
