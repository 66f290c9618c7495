//! What the host tells about a kind of parent: this crate knows nothing about policies.

use std::collections::BTreeSet;

use kube::core::ApiResource;

use crate::parent::ParentRef;

/// How the status of one kind of parent is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The resource, to read the parent and write its status.
    pub resource: ApiResource,
    /// What a `byPod` entry calls the parent's uid, such as `templateUID`.
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
}

/// Tells the shape of each kind of parent. Kinds may come and go while the aggregator runs, so it is asked
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
