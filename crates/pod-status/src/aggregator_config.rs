//! The settings of an aggregator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::follow::Follow;
use crate::gatekeeper::PodStatusKind;
use crate::identity::PodIdentity;
use crate::lease::LeaseClaim;
use crate::report::ReportKind;
use crate::shape::Shapes;

/// The settings of an [`crate::Aggregator`].
#[derive(Clone)]
#[non_exhaustive]
pub struct AggregatorConfig {
    /// The kind of the report objects, as in every reporter's configuration.
    pub kind: ReportKind,
    /// The namespace of the pods, and of their reports.
    pub namespace: String,
    /// The Lease under which one process at a time aggregates.
    pub claim: LeaseClaim,
    /// The layouts of the statuses.
    pub shapes: Arc<dyn Shapes>,
    /// Reports are aggregated when none has come for this long. Default 300 ms.
    pub debounce: Duration,
    /// A report waits no longer than this. Default 2 s.
    pub max_delay: Duration,
    /// Kinds of Gatekeeper's that are read too, from every writer. Their definitions must be installed. Default none.
    pub per_parent: Vec<PodStatusKind>,
    /// The field manager of the statuses, at most 128 characters. Default `pod-status-aggregator`. Keep the name: conditions
    /// `Reconciling` and `Stalled` of a former one are another manager's, and stay.
    pub field_manager: String,
    /// Labels of the pods that must register, and their operations, see [`AggregatorConfig::expects`]. Default none.
    pub expected: Option<(BTreeMap<String, String>, BTreeSet<String>)>,
    /// Watches of the host that take the place of the aggregator's own: of the reports, and of the pods' metadata. Default
    /// none.
    pub follow: Option<Arc<dyn Follow>>,
}

impl AggregatorConfig {
    /// Returns the defaults, with a Lease of 15 seconds called `pod-status-aggregator` in the pod's namespace.
    pub fn new(identity: &PodIdentity, shapes: impl Shapes) -> Self {
        let name = "pod-status-aggregator";
        Self {
            kind: ReportKind::default(),
            namespace: identity.namespace.clone(),
            claim: LeaseClaim::new(identity, name),
            shapes: Arc::new(shapes),
            debounce: Duration::from_millis(300),
            max_delay: Duration::from_secs(2),
            per_parent: Vec::new(),
            field_manager: name.to_owned(),
            expected: None,
            follow: None,
        }
    }

    /// Sets the kind of the report objects.
    #[must_use]
    pub fn kind(mut self, kind: ReportKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets how long a report waits for silence.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// Reads reports in these kinds of Gatekeeper's too.
    #[must_use]
    pub fn per_parent(mut self, kinds: impl IntoIterator<Item = PodStatusKind>) -> Self {
        self.per_parent = kinds.into_iter().collect();
        self
    }

    /// Waits for the pods with these labels that run and have not registered, such as those of an older build behind the same
    /// Service. They count as pods with these operations that have reported nothing, and while they are Ready as pods that
    /// serve without every parent.
    #[must_use]
    pub fn expects(
        mut self,
        labels: BTreeMap<String, String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.expected = Some((labels, operations.into_iter().map(Into::into).collect()));
        self
    }

    /// Takes the changes of reports and pods from watches of the host.
    #[must_use]
    pub fn follow(mut self, host: Arc<dyn Follow>) -> Self {
        self.follow = Some(host);
        self
    }

    /// Sets the Lease under which one process at a time aggregates.
    #[must_use]
    pub fn claim(mut self, claim: LeaseClaim) -> Self {
        self.claim = claim;
        self
    }
}
