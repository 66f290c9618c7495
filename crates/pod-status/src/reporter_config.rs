//! The settings of a reporter.

use std::sync::Arc;
use std::time::Duration;

use crate::follow::Follow;
use crate::gatekeeper::PodStatusKind;
use crate::report::ReportKind;
use crate::shape::Shape;

/// The settings of a [`crate::StatusReporter`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReporterConfig {
    /// The kind of the report objects.
    pub kind: ReportKind,
    /// The size in bytes beyond which a report object gets no more entries. Default 16 KiB, about a hundred
    /// entries.
    pub shard_bytes: usize,
    /// A change is written when nothing has changed for this long. Default 300 ms.
    pub debounce: Duration,
    /// A change waits no longer than this, however busy it is. Default 2 s.
    pub max_delay: Duration,
    /// The period of comparing the stored objects with the wanted ones. Default 5 min. Objects that another
    /// client changes or deletes are noticed by a watch.
    pub verify_every: Duration,
    /// Least time between writes beyond a burst of 20. Default 200 ms.
    pub write_interval: Duration,
    /// The time within which the driver ends after its shutdown token is cancelled, whatever is unsaved. Default 5 s.
    pub shutdown_limit: Duration,
    /// The permit of a run ends when its registration could not be renewed for this long. Default none.
    pub fence: Option<Duration>,
    /// A run that has given up something waits so long for an acknowledgement, see
    /// [`crate::StatusReporter::may_serve`]. Default 60 s.
    pub acknowledged_within: Duration,
    /// The activations of strict rollouts are read in this period. Default none.
    pub strict: Option<Duration>,
    /// Parents of these kinds get an object of their own, as Gatekeeper has it, in place of an entry in a shard. The
    /// definitions must be installed. Default none.
    pub per_parent: Vec<PodStatusKind>,
    /// Parents of these shapes get their entry of `byPod` from the pod itself, by server-side apply. Default none.
    pub direct: Vec<Shape>,
    /// The field manager of the writes, at most 64 characters. Default `pod-status`.
    pub field_manager: String,
    /// Watches of the host that take the place of the reporter's own, of its objects' metadata. Default none.
    pub follow: Option<Arc<dyn Follow>>,
}

impl Default for ReporterConfig {
    fn default() -> Self {
        Self {
            kind: ReportKind::default(),
            shard_bytes: 16 * 1024,
            debounce: Duration::from_millis(300),
            max_delay: Duration::from_secs(2),
            verify_every: Duration::from_secs(300),
            write_interval: Duration::from_millis(200),
            shutdown_limit: Duration::from_secs(5),
            fence: None,
            acknowledged_within: Duration::from_secs(60),
            strict: None,
            per_parent: Vec::new(),
            direct: Vec::new(),
            field_manager: "pod-status".to_owned(),
            follow: None,
        }
    }
}

impl ReporterConfig {
    /// Sets the kind of the report objects.
    #[must_use]
    pub fn kind(mut self, kind: ReportKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the size beyond which a report object gets no more entries.
    #[must_use]
    pub fn shard_bytes(mut self, bytes: usize) -> Self {
        self.shard_bytes = bytes;
        self
    }

    /// Sets how long a change waits for silence.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// Sets how long a run that has given up something waits for an acknowledgement before it serves. `Duration::MAX`: it does
    /// not serve before, so that no status is ever wrong about it, and no pod with a broken policy starts without an aggregator.
    #[must_use]
    pub fn acknowledged_within(mut self, limit: Duration) -> Self {
        self.acknowledged_within = limit;
        self
    }

    /// Writes an object of its own for each parent that one of these kinds is for: for clusters with fewer than some
    /// 5,000 objects (pods times parents). Every start of a pod writes all of its objects.
    #[must_use]
    pub fn per_parent(mut self, kinds: impl IntoIterator<Item = PodStatusKind>) -> Self {
        self.per_parent = kinds.into_iter().collect();
        self
    }

    /// Applies this pod's entries to `status.byPod` of the parents of these shapes, with a field manager of this pod.
    /// Each schema must declare `byPod` as `x-kubernetes-list-type: map` with the key `id`, and keep the fields
    /// `podUID`, `incarnation` and `enforcing`. For at most three pods: N pods write each parent, and each write is
    /// sent to all watchers. Set [`Shape::direct`] in the aggregator's shapes too.
    #[must_use]
    pub fn direct(mut self, shapes: impl IntoIterator<Item = Shape>) -> Self {
        self.direct = shapes.into_iter().collect();
        self
    }

    /// Takes the changes of this pod's objects from watches of the host.
    #[must_use]
    pub fn follow(mut self, host: Arc<dyn Follow>) -> Self {
        self.follow = Some(host);
        self
    }

    /// Compares the stored reports with the wanted ones in this period.
    #[must_use]
    pub fn verify_every(mut self, period: Duration) -> Self {
        self.verify_every = period;
        self
    }

    /// Ends the permit of a run whose registration could not be renewed for `fence`, at least 2 seconds; use
    /// 60 seconds unless the API server is closer than that. The host must ask [`crate::StatusReporter::permit`]
    /// before each answer.
    #[must_use]
    pub fn fence(mut self, fence: Duration) -> Self {
        self.fence = Some(fence.max(Duration::from_secs(2)));
        self
    }
}

impl ReporterConfig {
    /// Reads the activations of strict rollouts in this period, at least 100 ms; a second is usual. A pod refuses for about as
    /// long when it switches. Without a fence, it gets one of 60 seconds. The definition [`ReportKind::epoch_crd`] must be installed.
    #[must_use]
    pub fn strict(mut self, period: Duration) -> Self {
        self.strict = Some(period.max(Duration::from_millis(100)));
        self.fence.get_or_insert(Duration::from_secs(60));
        self
    }
}
