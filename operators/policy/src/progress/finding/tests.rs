//! Findings of one object at a time.

use serde_json::json;

use super::*;
use crate::progress::reader::Event;

/// The findings that explain something, as `blocking message`.
fn explained(object: Value) -> Vec<String> {
    let found = findings(&object, true, &Declared::new());
    let found = found.into_iter().filter(|finding| finding.level > Level::Note);
    found.map(|finding| format!("{:?} {}", finding.level, finding.message)).collect()
}

#[track_caller]
fn condition(kind: &str, status: &str, reason: &str, expected: Option<Level>) {
    let object = json!({"status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}});
    let level = findings(&object, true, &Declared::new())[0].level;
    assert_eq!(Some(level).filter(|level| *level > Level::Note), expected, "{kind}={status} {reason}");
}

#[test]
fn conditions_are_judged_by_their_names() {
    let (waiting, blocking) = (Some(Level::Waiting), Some(Level::Blocking));
    for (kind, status, reason, expected) in [
        ("Ready", "True", "", None),
        ("Ready", "False", "NotYet", waiting),
        ("Ready", "Unknown", "", waiting),
        ("Enforced", "False", "", waiting),
        ("ReplicaFailure", "True", "FailedCreate", blocking),
        ("ReplicaFailure", "False", "", None),
        ("NamespaceContentRemaining", "True", "", waiting),
        ("NamespaceContentRemaining", "False", "", None),
        ("NamespaceDeletionDiscoveryFailure", "True", "", blocking),
        ("MemoryPressure", "False", "", None),
        ("RollingOut", "True", "", waiting),
        ("Deleting", "False", "NotDeleting", None),
        ("Progressing", "True", "NewReplicaSetAvailable", None),
        ("Progressing", "False", "ProgressDeadlineExceeded", waiting),
        ("Progressing", "False", "AsExpected", None),
        // A HorizontalPodAutoscaler that works, one that does not, and a Cluster API object at work.
        ("ScalingActive", "True", "ValidMetricFound", None),
        ("ScalingActive", "False", "FailedGetResourceMetric", waiting),
        ("ScalingLimited", "False", "DesiredWithinRange", None),
        ("ScalingUp", "True", "", waiting),
        ("ScalingUp", "False", "", None),
    ] {
        condition(kind, status, reason, expected);
    }
}

#[test]
fn an_object_in_deletion_names_who_holds_it() {
    let object = json!({
        "metadata": {
            "deletionTimestamp": "T", "finalizers": ["example.com/drain", "foregroundDeletion"],
            "managedFields": [{"manager": "drain", "time": "T0", "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"example.com/drain\"": {}}}}}],
        },
        "status": {"phase": "Running"},
    });
    assert_eq!(
        explained(object),
        [
            "Blocking is being deleted since T and waits for finalizer example.com/drain, added by drain at T0",
            "Waiting is being deleted since T and waits for finalizer foregroundDeletion, removed by the garbage collector when \
         what it owns is gone",
        ]
    );
    let kept = json!({"metadata": {"finalizers": ["example.com/drain"]}, "status": {"a": 1}});
    assert_eq!(
        findings(&kept, true, &Declared::new()),
        [Finding::new(Level::Note, About::Finalizer, "finalizer example.com/drain")]
    );
}

#[test]
fn a_generation_that_nobody_observed_blocks() {
    let object = json!({
        "metadata": {"generation": 3, "managedFields": [{"manager": "core", "time": "T", "subresource": "status"}]},
        "status": {"observedGeneration": 2},
    });
    let message = "Blocking generation 3 was not observed: the status is about generation 2; the status was last written by \
                   core at T";
    assert_eq!(explained(object), [message]);
    let by_condition = json!({"metadata": {"generation": 3}, "status": {"conditions": [
        {"type": "A", "status": "True", "observedGeneration": 2}, {"type": "B", "status": "True", "observedGeneration": 3}]}});
    assert_eq!(explained(by_condition), [""; 0]);
}

#[test]
fn pauses_replicas_phases_containers_and_missing_statuses() {
    let paused = json!({"spec": {"paused": true}, "status": {"a": 1}});
    assert_eq!(explained(paused), ["Blocking spec.paused is true: controllers leave it alone"]);
    let replicas = json!({"spec": {"replicas": 3}, "status": {"replicas": 1}});
    assert_eq!(explained(replicas), ["Waiting 0 of 3 replicas are ready"]);
    let pod = json!({"status": {"phase": "Pending", "containerStatuses": [
        {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
        {"name": "b", "state": {"waiting": {"reason": "ContainerCreating"}}}]}});
    assert_eq!(
        explained(pod),
        [
            "Blocking container a waits: ImagePullBackOff: no such image",
            "Waiting container b waits: ContainerCreating: no message",
            "Waiting phase Pending",
        ]
    );
    assert_eq!(findings(&json!({"spec": {}}), true, &Declared::new())[0].about, About::Status);
    assert_eq!(findings(&json!({"data": {}}), false, &Declared::new()), []);
}

#[test]
fn what_has_finished_waits_for_nothing() {
    let condition = |kind: &str| json!({"type": kind, "status": "False", "reason": "PodCompleted"});
    let pod = |phase: &str| json!({"status": {"phase": phase, "conditions": [condition("Ready"), condition("ContainersReady")]}});
    assert_eq!(explained(pod("Succeeded")), [""; 0]);
    assert_eq!(explained(pod("Running")).len(), 2);
}

#[test]
fn a_daemon_set_says_how_many_it_wants_in_its_status() {
    let set = json!({"status": {"desiredNumberScheduled": 3, "numberReady": 1}});
    assert_eq!(explained(set), ["Waiting 1 of 3 replicas are ready"]);
}

#[test]
fn the_newest_event_counts_where_the_object_says_nothing_itself() {
    let event = |kind: &str| Event {
        last: "T".to_owned(),
        r#type: kind.to_owned(),
        reason: "FailedCreate".to_owned(),
        message: "exceeded quota".to_owned(),
        count: 2,
    };
    let job = json!({"status": {"startTime": "T0"}});
    let found = warning(&job, &[event("Warning"), event("Normal")]).unwrap();
    assert_eq!(
        found,
        Finding::new(Level::Waiting, About::Event, "Warning FailedCreate at T: exceeded quota")
    );
    assert_eq!(warning(&job, &[event("Normal"), event("Warning")]), None);
    let speaking = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    assert_eq!(warning(&speaking, &[event("Warning")]), None);
    assert_eq!(warning(&json!({"status": {"phase": "Bound"}}), &[event("Warning")]), None);
}
