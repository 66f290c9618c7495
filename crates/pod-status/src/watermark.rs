//! The high-water mark of a set of parents: how many are enforced everywhere, and which has waited longest.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use tokio::sync::watch;

use crate::parent::{ParentKind, ParentRef};

/// Pods that are named in a message.
const NAMED_PODS: usize = 5;

/// The high-water marks of a process, by kind of parent. They are known while the process aggregates, from the moment
/// at which it has decided about every parent once.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HighWaterMarks {
    kinds: Option<BTreeMap<ParentKind, HighWaterMark>>,
}

impl HighWaterMarks {
    pub(crate) fn new(kinds: BTreeMap<ParentKind, HighWaterMark>) -> Self {
        Self { kinds: Some(kinds) }
    }

    /// Returns true if anything is known. Otherwise another process aggregates, or the term has just begun.
    pub fn is_known(&self) -> bool {
        self.kinds.is_some()
    }

    /// Returns the mark of each kind.
    pub fn iter(&self) -> impl Iterator<Item = (&ParentKind, &HighWaterMark)> {
        self.kinds.iter().flatten()
    }

    /// Returns the mark over all kinds that `is_wanted`; the empty mark, which claims nothing, if nothing is known.
    pub fn over(&self, mut is_wanted: impl FnMut(&ParentKind) -> bool) -> HighWaterMark {
        let marks = self.iter().filter(|(kind, _)| is_wanted(kind)).map(|(_, mark)| mark.clone());
        marks.reduce(HighWaterMark::and).unwrap_or_default()
    }

    /// Returns the mark of one kind, as [`HighWaterMarks::over`].
    pub fn of(&self, group: &str, kind: &str) -> HighWaterMark {
        self.over(|known| known.group == group && known.kind == kind)
    }

    /// Replaces what `sender` holds, and sets the gauges: those of a kind that is not in `self` become 0.
    pub(crate) fn publish(self, sender: &watch::Sender<Self>) {
        for (kind, _) in sender.borrow().iter().filter(|(kind, _)| !self.has(kind)) {
            HighWaterMark::default().set_gauges(kind, 0.0);
        }
        sender.send_if_modified(|known| {
            let is_new = *known != self;
            *known = self;
            is_new
        });
    }

    fn has(&self, kind: &ParentKind) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| kinds.contains_key(kind))
    }
}

/// The progress of enforcement over a set of parents.
///
/// ```
/// # use pod_status::HighWaterMark;
/// let mark = HighWaterMark::default();
/// assert_eq!(mark.to_string(), "0 of 0 enforced everywhere");
/// assert!(!mark.is_complete(), "nothing is known about the set");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HighWaterMark {
    /// Parents whose present generation is enforced by all pods, or asks nothing of them.
    pub enforced: usize,
    /// All parents that are known, also those whose status could not be read or written.
    pub total: usize,
    /// Those of them whose status could not be read or written.
    pub unwritable: usize,
    /// These are all parents that there are: the host has said so, by [`crate::ParentChanges::listed`].
    pub is_listed: bool,
    /// The parent that has waited longest.
    pub oldest: Option<Waiting>,
}

/// A parent that is not enforced everywhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waiting {
    /// The parent that waits.
    pub parent: ParentRef,
    /// The earliest time at which its condition is known not to have been true. A new term knows the last change of
    /// the condition; nothing if there is no condition, or it could not be read since.
    pub since: Option<Time>,
    /// The names of the pods that it waits for. Empty if the reason is another one, which `message` states.
    pub pods: Vec<String>,
    /// The message of its condition, or why that is not known.
    pub message: String,
    /// The same time by the clock of this process.
    pub(crate) began: tokio::time::Instant,
    /// Its status could not be read or written.
    pub(crate) is_unwritable: bool,
}

impl HighWaterMark {
    /// Returns true if all parents that there are, are enforced everywhere.
    pub fn is_complete(&self) -> bool {
        self.is_listed && self.enforced == self.total
    }

    /// The mark of two sets that have no parent in common.
    fn and(self, other: Self) -> Self {
        Self {
            enforced: self.enforced.saturating_add(other.enforced),
            total: self.total.saturating_add(other.total),
            unwritable: self.unwritable.saturating_add(other.unwritable),
            is_listed: self.is_listed && other.is_listed,
            oldest: self.oldest.into_iter().chain(other.oldest).min_by_key(|waiting| waiting.began),
        }
    }

    /// Returns the mark as a condition `AllEnforced`, for an object that stands for the whole set. `previous` is the
    /// stored condition, whose transition time is kept while its status stays. It is `Unknown` if no parent is known
    /// to wait, and these may not be all.
    pub fn condition(&self, generation: i64, previous: Option<&Condition>, now: &Time) -> Condition {
        let (status, reason) = match (self.is_complete(), self.enforced == self.total) {
            (true, _) => ("True", "EnforcedByAllPods"),
            (false, true) => ("Unknown", "ParentsUnknown"),
            (false, false) => ("False", "WaitingForPods"),
        };
        let kept = previous.filter(|previous| previous.status == status);
        Condition {
            type_: "AllEnforced".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: self.to_string(),
            observed_generation: Some(generation),
            last_transition_time: kept.map_or_else(|| now.clone(), |kept| kept.last_transition_time.clone()),
        }
    }

    pub(crate) fn set_gauges(&self, kind: &ParentKind, oldest_seconds: f64) {
        let labels = [("group", kind.group.clone()), ("kind", kind.kind.clone())];
        let parents = |state: &'static str, count: usize| {
            let labels = [labels.to_vec(), vec![("state", state.to_owned())]].concat();
            metrics::gauge!("pod_status_parents", &labels).set(small(count));
        };
        parents("enforced", self.enforced);
        parents("waiting", self.total.saturating_sub(self.enforced));
        metrics::gauge!("pod_status_unwritable_parents", &labels).set(small(self.unwritable));
        metrics::gauge!("pod_status_oldest_waiting_seconds", &labels).set(oldest_seconds);
        let pods = self.oldest.as_ref().map_or(0, |oldest| oldest.pods.len());
        metrics::gauge!("pod_status_oldest_waiting_pods", &labels).set(small(pods));
    }
}

/// A count, as a gauge takes it.
fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl std::fmt::Display for HighWaterMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} enforced everywhere", self.enforced, self.total)?;
        let Some(oldest) = &self.oldest else { return Ok(()) };
        write!(f, "; {} {} waits", oldest.parent.kind, oldest.parent.name)?;
        if let Some(since) = &oldest.since {
            write!(f, " since {}", since.0)?;
        }
        write!(f, ": {}", oldest.message)
    }
}

/// The first few of `names`, and the number of the others.
pub(crate) fn few<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED_PODS);
    let named: Vec<&str> = names.take(NAMED_PODS).collect();
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
