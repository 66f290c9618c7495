//! The layout of a parent's status, which the host chooses: this crate knows nothing about policies.

use std::collections::BTreeSet;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use serde_json::Value;

use crate::missing::MissingSemantics;
use crate::parent::ParentRef;
use crate::rollout::{Deadline, Rollout};

/// The field of the status with the numbers of pods.
pub(crate) const SUMMARY: &str = "summary";

/// The layout of the status of one kind of parent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shape {
    /// The resource, to read the parent and write its status.
    pub resource: ApiResource,
    /// The field of a `byPod` entry that holds the parent's uid, such as `templateUID`.
    pub uid_field: String,
    /// A field of the status that becomes `true` once any pod has ingested the parent without error, and
    /// stays so, such as `created`.
    pub latch: Option<String>,
    /// The operations that enforce, such as `webhook`. When empty, the kind has no `Enforced` condition
    /// and `Ready` follows `Ingested`.
    pub enforcing: BTreeSet<String>,
    /// A field of the report's detail that must be `true` for the pod to count as enforcing, such as
    /// `enforced`.
    pub enforced_field: Option<String>,
    /// A JSON pointer into the report's detail, to the reason why the pod does not enforce what it has ingested. The message
    /// of `Enforced` ends with the first one.
    pub idle_reason: Option<String>,
    /// A value at a JSON pointer into the report's detail, by which a pod reports that it will not enforce what it has ingested before
    /// a user acts, see [`Shape::idle_until_changed`].
    pub idle_until_changed: Option<(String, Value)>,
    /// A value at a JSON pointer into the report's detail, by which a pod reports that the parent asks nothing of the pods, see
    /// [`Shape::nothing_to_enforce`].
    pub nothing_to_enforce: Option<(String, Value)>,
    /// Most entries of `byPod`. With more pods, those that fail or are behind come first. Default 20.
    pub by_pod_limit: usize,
    /// True if the status has a `summary`, see [`Shape::summary`].
    pub summary: bool,
    /// The rollout: pods enforce a generation at once, or when all have ingested it.
    pub rollout: Rollout,
    /// The effect of a parent that a pod has not ingested on its decisions. Default unknown.
    pub missing: MissingSemantics,
    /// Generations that do not wait in a coordinated rollout: those whose object has this value at this JSON pointer.
    pub at_once: Option<(String, Value)>,
    /// True if the pods apply their entries of `byPod` themselves, see [`crate::ReporterConfig::direct`].
    pub direct: bool,
}

impl Shape {
    /// Returns a layout without a latch, for a kind that is not enforced.
    pub fn new(resource: ApiResource, uid_field: impl Into<String>) -> Self {
        Self {
            resource,
            uid_field: uid_field.into(),
            latch: None,
            enforcing: BTreeSet::new(),
            enforced_field: None,
            idle_reason: None,
            idle_until_changed: None,
            nothing_to_enforce: None,
            by_pod_limit: 20,
            summary: false,
            rollout: Rollout::Immediate,
            missing: MissingSemantics::default(),
            at_once: None,
            direct: false,
        }
    }

    pub(crate) fn is_for(&self, parent: &ParentRef) -> bool {
        self.resource.group == parent.group && self.resource.kind == parent.kind
    }

    /// The API of the objects beside `parent`.
    pub(crate) fn api(&self, client: &Client, parent: &ParentRef) -> Api<DynamicObject> {
        match &parent.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// Sets the field that becomes `true` with the first pod without errors.
    #[must_use]
    pub fn latch(mut self, field: impl Into<String>) -> Self {
        self.latch = Some(field.into());
        self
    }

    /// Sets the operations that enforce: a pod with none of them is not waited for to enforce.
    #[must_use]
    pub fn enforced_by(mut self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.enforcing = operations.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the field of the detail that must be `true` for the pod to count as enforcing.
    #[must_use]
    pub fn enforced_field(mut self, field: impl Into<String>) -> Self {
        self.enforced_field = Some(field.into());
        self
    }

    /// Sets the JSON pointer into the detail to the reason why the pod does not enforce what it has ingested.
    #[must_use]
    pub fn idle_reason(mut self, pointer: impl Into<String>) -> Self {
        self.idle_reason = Some(pointer.into());
        self
    }

    /// Sets the value in the detail by which a pod reports that it will not enforce what it has ingested before a user acts, such as a parent that asks for
    /// what no pod of this release does: a value at a JSON pointer. The parent is then `Stalled`, not `Reconciling`.
    #[must_use]
    pub fn idle_until_changed(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.idle_until_changed = Some((pointer.into(), value.into()));
        self
    }

    /// Sets the value in the detail by which a pod reports that the parent asks nothing of the pods that enforce, such as a rule for a command line alone: a
    /// value at a JSON pointer. If all of them report it, `Enforced` is false with the reason `NothingToEnforce`, and `Ready` is true.
    #[must_use]
    pub fn nothing_to_enforce(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.nothing_to_enforce = Some((pointer.into(), value.into()));
        self
    }

    /// Sets the most entries of `byPod`.
    #[must_use]
    pub fn by_pod_limit(mut self, limit: usize) -> Self {
        self.by_pod_limit = limit;
        self
    }

    /// Adds `summary: {pods, ingested, enforcing, failed}` to the status: the numbers of all members, and of those that have
    /// ingested, enforce, or failed to ingest the generation that was read. Only for kinds whose schema declares the field, or keeps
    /// unknown ones: an API server refuses a status with any other field, so that none is written.
    #[must_use]
    pub fn summary(mut self) -> Self {
        self.summary = true;
        self
    }

    /// Lets the pods apply their entries of `byPod` themselves. The aggregator reads them in the parent, and removes those
    /// of dead pods. The host must announce every change of a parent by [`crate::ParentChanges`].
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// Lets generations that loosen a policy bypass a coordinated rollout: those whose object has `value` at the JSON pointer,
    /// such as `/spec/enforcementAction` and `dryrun`, or an annotation by which a user asks for that. Only for generations that
    /// deny nothing: pods enforce them one after another. The pods ask [`Shape::is_at_once`], too. It has an effect if the
    /// kind is [`MissingSemantics::Looser`].
    #[must_use]
    pub fn at_once(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.at_once = Some((pointer.into(), value.into()));
        self
    }

    /// Returns true if this generation of the object comes into force at once; see
    /// [`crate::Activation::staged_at_once`].
    pub fn is_at_once(&self, object: &DynamicObject) -> bool {
        let Some((pointer, value)) = self.at_once.as_ref().filter(|_| self.missing.is_looser()) else {
            return false;
        };
        serde_json::to_value(object).is_ok_and(|object| object.pointer(pointer) == Some(value))
    }

    /// Sets the effect of a missing parent on the decisions of a pod. Only if pods become looser does a coordinated rollout
    /// activate a generation that some pod has not ingested ([`Deadline::Activate`]), and [`Shape::at_once`] count.
    #[must_use]
    pub fn missing(mut self, semantics: MissingSemantics) -> Self {
        self.missing = semantics;
        self
    }

    /// The deadline of a coordinated or strict rollout. A pod without the generation, which goes on answering in a coordinated
    /// one, must not deny or decide wrongly because of that.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self.rollout {
            Rollout::Coordinated { deadline: Deadline::Activate(time) } if !self.missing.is_looser() => {
                Some(Deadline::Hold(time))
            }
            rollout => rollout.deadline(),
        }
    }

    /// Sets how the pods change to a new generation. [`Rollout::Immediate`] by default.
    #[must_use]
    pub fn rollout(mut self, rollout: Rollout) -> Self {
        self.rollout = rollout;
        self
    }
}

/// The shapes by kind of parent. Kinds may come and go while the aggregator runs, so this is called
/// each time; `None` leaves the parent's status alone.
pub trait Shapes: Send + Sync + 'static {
    /// Returns the shape of the kind of `parent`.
    fn shape(&self, parent: &ParentRef) -> Option<Shape>;
}

impl<F: Fn(&ParentRef) -> Option<Shape> + Send + Sync + 'static> Shapes for F {
    fn shape(&self, parent: &ParentRef) -> Option<Shape> {
        self(parent)
    }
}
