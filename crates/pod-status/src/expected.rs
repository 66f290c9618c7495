//! The pods that must register, and those of them that have not.
//!
//! A pod that registers is known before it lists its first parent. One of an older build, or of other software behind the same
//! Service, never registers, and may serve all the same. It is a member that reports nothing: no generation is proven beside
//! it. Once it is Ready it may serve without anything, so it counts as one that does.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::follow::Followed;
use crate::report::Member;

/// The incarnation of a run that has not registered. A run that has has one of its own.
pub(crate) const UNREGISTERED: &str = "unregistered";

/// A change of the pods that are not finished.
pub(crate) enum PodEvent {
    Any(Followed),
    /// One of those that must register, with its status.
    Expected(Followed),
}

/// The pods whose containers run, by uid.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    operations: BTreeSet<String>,
    running: BTreeMap<String, Member>,
    /// The uids in a listing that is not complete.
    listed: Option<BTreeSet<String>>,
    is_known: bool,
}

impl Expected {
    /// Pods with these operations.
    pub(crate) fn new(operations: BTreeSet<String>) -> Self {
        Self { operations, ..Self::default() }
    }

    /// The pods have been listed.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Notes a change of the pods. Returns whether that may change the count.
    pub(crate) fn note(&mut self, event: Followed) -> bool {
        match event {
            Followed::Alive => false,
            Followed::Begin => {
                self.listed = Some(BTreeSet::new());
                false
            }
            Followed::Found(pod) | Followed::Applied(pod) => self.exists(&pod),
            Followed::End => {
                let listed = self.listed.take().unwrap_or_default();
                self.running.retain(|uid, _| listed.contains(uid));
                self.is_known = true;
                true
            }
            Followed::Deleted(pod) => self.running.remove(&pod.uid().unwrap_or_default()).is_some(),
        }
    }

    /// The pods without a registration, where `known` are the runs that have one, or have reported.
    pub(crate) fn unregistered<'a>(&'a self, known: &[Member]) -> impl Iterator<Item = Member> + use<'a> {
        let known: BTreeSet<String> = known.iter().filter_map(|run| run.uid.clone()).collect();
        self.running.iter().filter(move |(uid, _)| !known.contains(*uid)).map(|(_, run)| run.clone())
    }

    fn exists(&mut self, pod: &DynamicObject) -> bool {
        let uid = pod.uid().unwrap_or_default();
        if let Some(listed) = &mut self.listed {
            listed.insert(uid.clone());
        }
        if !runs(&pod.data) {
            return self.running.remove(&uid).is_some();
        }
        let mut run = Member::new(pod.name_any(), UNREGISTERED).operations(self.operations.iter().cloned());
        (run.uid, run.incomplete) = (Some(uid.clone()), is_ready(&pod.data));
        let before = self.running.insert(uid, run.clone());
        before != Some(run)
    }
}

/// Returns true if a container of the pod runs.
fn runs(pod: &Value) -> bool {
    list(pod, "/status/containerStatuses").iter().any(|status| status.pointer("/state/running").is_some())
}

/// Returns true if the pod is Ready.
fn is_ready(pod: &Value) -> bool {
    let word = |condition: &Value, field: &str, word: &str| {
        condition.get(field).and_then(Value::as_str) == Some(word)
    };
    let conditions = list(pod, "/status/conditions");
    conditions.iter().any(|condition| word(condition, "type", "Ready") && word(condition, "status", "True"))
}

fn list<'a>(pod: &'a Value, pointer: &str) -> &'a [Value] {
    pod.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kube::core::ApiResource;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, runs: bool, ready: &str) -> DynamicObject {
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
        let mut pod = DynamicObject::new(name, &resource);
        pod.metadata.uid = Some(format!("{name}-uid"));
        let state =
            if runs { json!({"running": {}}) } else { json!({"waiting": {"reason": "CrashLoopBackOff"}}) };
        pod.data = json!({"status": {
            "containerStatuses": [{"state": {"terminated": {}}}, {"state": state}],
            "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": ready}],
        }});
        pod
    }

    fn unregistered(expected: &Expected, known: &[Member]) -> Vec<(String, bool)> {
        expected.unregistered(known).map(|run| (run.id, run.incomplete)).collect()
    }

    #[test]
    fn a_pod_counts_from_its_start_to_its_end_unless_it_is_registered() {
        let mut expected = Expected::new(["webhook".to_owned()].into());
        assert!(!expected.note(Followed::Begin));
        for event in [pod("a", true, "True"), pod("b", true, "False"), pod("c", false, "False")] {
            expected.note(Followed::Found(event));
        }
        assert!(!expected.is_known());
        assert!(expected.note(Followed::End) && expected.is_known());
        assert_eq!(unregistered(&expected, &[]), [("a".into(), true), ("b".into(), false)]);
        let mut registered = Member::new("a", "i1");
        assert_eq!(unregistered(&expected, &[registered.clone()]).len(), 2, "another pod of this name");
        registered.uid = Some("a-uid".into());
        assert_eq!(unregistered(&expected, &[registered]), [("b".into(), false)]);

        assert!(expected.note(Followed::Applied(pod("b", true, "True"))), "it is ready now");
        assert!(!expected.note(Followed::Applied(pod("b", true, "True"))));
        assert!(expected.note(Followed::Applied(pod("c", true, "False"))), "it has started");
        assert!(expected.note(Followed::Applied(pod("c", false, "False"))), "it has crashed");
        assert!(expected.note(Followed::Deleted(pod("a", true, "True"))));
        assert_eq!(unregistered(&expected, &[]), [("b".into(), true)]);
        expected.note(Followed::Begin);
        assert!(expected.note(Followed::End));
        assert_eq!(unregistered(&expected, &[]), []);
    }
}
