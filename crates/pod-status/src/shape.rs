//! The layout of a parent's status, which the host chooses: this crate knows nothing about policies.

use std::collections::BTreeSet;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;

use crate::activation::Rollout;
use crate::parent::ParentRef;

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
    /// Most entries of `byPod`. With more pods, those that fail or are behind come first. Default 20.
    pub by_pod_limit: usize,
    /// Whether pods enforce a generation at once, or when all have ingested it.
    pub rollout: Rollout,
    /// Whether the pods apply their entries of `byPod` themselves, see [`crate::ReporterConfig::direct`].
    pub direct: bool,
}

impl Shape {
    /// A layout without a latch, for a kind that is not enforced.
    pub fn new(resource: ApiResource, uid_field: impl Into<String>) -> Self {
        Self {
            resource,
            uid_field: uid_field.into(),
            latch: None,
            enforcing: BTreeSet::new(),
            enforced_field: None,
            by_pod_limit: 20,
            rollout: Rollout::Immediate,
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

    /// Sets the operations that enforce.
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

    /// Sets the most entries of `byPod`.
    #[must_use]
    pub fn by_pod_limit(mut self, limit: usize) -> Self {
        self.by_pod_limit = limit;
        self
    }

    /// The pods apply their entries of `byPod` themselves. The aggregator reads them in the parent, and removes those
    /// of dead pods. The host must announce every change of a parent by [`crate::ParentChanges`].
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// Sets the rollout.
    #[must_use]
    pub fn rollout(mut self, rollout: Rollout) -> Self {
        self.rollout = rollout;
        self
    }
}

/// Looks up the shape of each kind of parent. Kinds may come and go while the aggregator runs, so it is asked
/// each time; `None` leaves the parent's status alone.
pub trait Shapes: Send + Sync + 'static {
    /// The shape of the kind of `parent`.
    fn shape(&self, parent: &ParentRef) -> Option<Shape>;
}

impl<F: Fn(&ParentRef) -> Option<Shape> + Send + Sync + 'static> Shapes for F {
    fn shape(&self, parent: &ParentRef) -> Option<Shape> {
        self(parent)
    }
}
