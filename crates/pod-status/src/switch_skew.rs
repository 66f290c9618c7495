//! Time between the first and the last pod that switch to an activated generation: `pod_status_switch_skew_seconds`.
//!
//! The times are those at which the reports arrive at the aggregator, by its own clock: no clocks of two machines are
//! compared. They include the delay of the reports, 300 ms by default and much the same for all pods.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::parent::ParentRef;
use crate::report::PodReport;

/// The activations that some pods have not reported to be in force.
#[derive(Debug, Default)]
pub(crate) struct SwitchSkew {
    open: BTreeMap<ParentRef, Switch>,
}

#[derive(Debug)]
struct Switch {
    generation: i64,
    first: Option<Instant>,
    last: Option<Instant>,
    pods: Vec<(String, String)>,
}

impl SwitchSkew {
    /// `generation` of `parent` is activated. Returns whether that is new: the caller then passes the reports that
    /// have arrived already.
    pub(crate) fn begin(&mut self, parent: &ParentRef, generation: i64) -> bool {
        if self.open.get(parent).is_some_and(|switch| switch.generation == generation) {
            return false;
        }
        let switch = Switch { generation, first: None, last: None, pods: Vec::new() };
        self.open.insert(parent.clone(), switch);
        true
    }

    /// A report has arrived.
    pub(crate) fn note(&mut self, report: &PodReport, now: Instant) {
        if self.open.is_empty() {
            return;
        }
        let run = (report.pod.id.clone(), report.pod.incarnation.clone());
        for entry in &report.entries {
            let Some(switch) = self.open.get_mut(&entry.parent.reference) else { continue };
            if entry.enforcing == Some(switch.generation) && !switch.pods.contains(&run) {
                switch.pods.push(run.clone());
                switch.first.get_or_insert(now);
                switch.last = Some(now);
            }
        }
    }

    /// All pods enforce `generation`. Returns the time between the first and the last that reported it, if this
    /// process has seen the activation.
    pub(crate) fn complete(&mut self, parent: &ParentRef, generation: i64) -> Option<Duration> {
        let switch = self.open.remove(parent).filter(|switch| switch.generation == generation)?;
        Some(switch.last?.saturating_duration_since(switch.first?))
    }

    pub(crate) fn remove(&mut self, parent: &ParentRef) {
        self.open.remove(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parent::ParentKey;
    use crate::report::{Entry, Member};

    fn report(pod: &str, enforcing: i64) -> PodReport {
        let key = ParentKey::new(ParentRef::new("g", "K", "p"), "u");
        let entry = Entry { enforcing: Some(enforcing), ..Entry::new(key, 2) };
        PodReport { pod: Member::new(pod, "run"), shard: 1, entries: vec![entry] }
    }

    #[test]
    fn the_skew_is_between_the_first_and_the_last_pod() {
        let start = Instant::now();
        let at = |millis| start.checked_add(Duration::from_millis(millis)).unwrap();
        let parent = ParentRef::new("g", "K", "p");
        let mut switch_skew = SwitchSkew::default();
        switch_skew.note(&report("a", 2), at(0));
        assert_eq!(switch_skew.complete(&parent, 2), None, "nothing was activated in this term");
        assert!(switch_skew.begin(&parent, 2));
        switch_skew.note(&report("a", 1), at(0));
        switch_skew.note(&report("b", 2), at(10));
        switch_skew.note(&report("a", 2), at(40));
        switch_skew.note(&report("b", 2), at(90));
        assert!(!switch_skew.begin(&parent, 2), "the same activation");
        assert_eq!(switch_skew.complete(&parent, 2), Some(Duration::from_millis(30)));
        assert_eq!(switch_skew.complete(&parent, 2), None, "once");
        switch_skew.begin(&parent, 2);
        switch_skew.begin(&parent, 3);
        switch_skew.note(&report("a", 2), at(100));
        assert_eq!(switch_skew.complete(&parent, 3), None, "superseded before any pod has switched");
    }
}
