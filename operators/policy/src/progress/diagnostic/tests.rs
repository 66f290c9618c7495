//! Diagnostics of one object at a time.

use serde_json::json;

use super::*;
use crate::progress::reader::Event;

/// The diagnostics that explain something, as `blocking message`.
fn explained(object: Value) -> Vec<String> {
    let found = diagnostics(&object, true, &Declared::new());
    let found = found.into_iter().filter(|diagnostic| diagnostic.level > Level::Note);
    found.map(|diagnostic| format!("{:?} {}", diagnostic.level, diagnostic.message)).collect()
}

/// The diagnostics of a list of conditions that explain something.
fn of_list(conditions: Value) -> Vec<String> {
    explained(
        json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": conditions}}),
    )
}

#[track_caller]
fn condition(kind: &str, status: &str, reason: &str, expected: Option<Level>) {
    let object = json!({"status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}});
    let level = diagnostics(&object, true, &Declared::new())[0].level;
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
        // node-problem-detector, and the nodes of a cloud.
        ("KernelDeadlock", "True", "", blocking),
        ("KernelDeadlock", "False", "KernelHasNoDeadlock", None),
        ("ReadonlyFilesystem", "True", "", blocking),
        ("FrequentKubeletRestart", "True", "", waiting),
        ("FrequentKubeletRestart", "False", "", None),
        ("CorruptDockerOverlay2", "False", "", None),
        ("KubeletProblem", "False", "", None),
        ("VMEventScheduled", "True", "", waiting),
        ("VMEventScheduled", "False", "", None),
        ("PodScheduled", "False", "", waiting),
        // A word of bad news, turned round and not.
        ("NonStructuralSchema", "True", "", waiting),
        ("NonStructuralSchema", "False", "", None),
        ("NotReady", "True", "", waiting),
        ("NoErrors", "True", "", None),
        ("NoErrors", "False", "", waiting),
        ("NotificationsSent", "False", "", waiting),
        ("NodesReady", "False", "", waiting),
        ("RolledOut", "True", "", None),
        ("OutOfSync", "True", "", waiting),
        ("ContinuousArchiving", "True", "", None),
        ("ContinuousArchiving", "False", "", waiting),
        // What Argo CD says by saying it at all.
        ("ComparisonError", "", "", blocking),
        ("OrphanedResourceWarning", "", "", None),
        ("Synchronized", "", "", waiting),
    ] {
        condition(kind, status, reason, expected);
    }
}

/// As after a restore: the object begins at generation 1 again, and its status comes from the backup.
#[test]
fn a_status_of_a_generation_that_is_not_there_is_not_taken_for_one_of_this() {
    let object =
        |observed: i64| json!({"metadata": {"generation": 2}, "status": {"observedGeneration": observed}});
    let expected = "Blocking generation 2 was not observed: the status is about generation 99";
    assert_eq!(explained(object(99)), [expected]);
    assert!(explained(object(2)).is_empty());
}

#[test]
fn conditions_of_another_form_are_not_taken_for_none() {
    let object = |conditions: Value| json!({"status": {"phase": "Running", "conditions": conditions}});
    for conditions in [json!("none"), json!({"Ready": "False"}), json!(1)] {
        let found = explained(object(conditions.clone()));
        assert_eq!(
            found,
            [format!("Waiting status.conditions is not a list, and is not understood: {conditions}")]
        );
    }
    assert!(explained(object(json!([]))).is_empty() && explained(object(json!(null))).is_empty());
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
        diagnostics(&kept, true, &Declared::new()),
        [Diagnostic::new(Level::Note, About::Finalizer, "finalizer example.com/drain")]
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
    let by_default = json!({"metadata": {"generation": 1}, "status": {"observedGeneration": -1}});
    let message = "Waiting no controller has observed any generation of it: is the one that is responsible for it running?";
    assert_eq!(explained(by_default), [message]);
    let by_condition = json!({"metadata": {"generation": 3}, "status": {"conditions": [
        {"type": "Ready", "status": "True", "observedGeneration": 2}, {"type": "Drained", "status": "True", "observedGeneration": 3}]}});
    assert_eq!(explained(by_condition), ["Waiting Ready=True (about generation 2, not 3)"]);
}

#[test]
fn bad_news_is_bad_while_it_is_true() {
    for kind in [
        "DriftDetected",
        "OutOfSync",
        "Expired",
        "Unhealthy",
        "NotReady",
        "Rejected",
        "TimedOut",
        "Throttled",
        "Overloaded",
        "Evicted",
        "Lost",
        "Corrupted",
        "Stale",
        "Orphaned",
        "BackOff",
        "Stalled",
        "Degraded",
        "DiskPressure",
        "NetworkUnavailable",
    ] {
        let found = |status: &str| of_list(json!([{"type": kind, "status": status}]));
        assert_eq!(found("False"), [""; 0], "{kind}");
        assert_eq!(found("True").len(), 1, "{kind}");
        assert_eq!(found("Unknown").len(), 1, "{kind}");
    }
}

/// As the kubelet, node-problem-detector and a cloud write them.
#[test]
fn a_node_that_is_well_waits_for_nothing() {
    let is_false = [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "NetworkUnavailable",
        "KernelDeadlock",
        "ReadonlyFilesystem",
        "FrequentKubeletRestart",
        "FrequentDockerRestart",
        "FrequentContainerdRestart",
        "FrequentUnregisterNetDevice",
        "CorruptDockerOverlay2",
        "KubeletProblem",
        "ContainerRuntimeProblem",
        "VMEventScheduled",
        "RebootScheduled",
        "DeprecatedAuthFieldsInContainerdConfiguration",
    ];
    let conditions = is_false.map(|kind| json!({"type": kind, "status": "False"})).into_iter();
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let all: Vec<_> = conditions.chain([ready]).collect();
    assert_eq!(of_list(json!(all)), [""; 0]);
}

/// Some conditions of a healthy object are always False, although their names do not suggest it.
#[test]
fn an_object_that_sums_itself_up_waits_for_no_other_condition() {
    let other = json!({"type": "PublicAddress", "status": "False"});
    let with = |kind: &str, status: &str, observed: i64| {
        of_list(json!([other, {"type": kind, "status": status, "observedGeneration": observed}]))
    };
    for kind in ["Ready", "Available", "Succeeded", "Complete"] {
        assert_eq!(with(kind, "True", 2), [""; 0], "{kind}");
        assert_eq!(with(kind, "False", 2).len(), 2, "{kind}");
        assert_eq!(with(kind, "True", 1).len(), 2, "{kind}");
    }
    assert_eq!(with("Accepted", "True", 2).len(), 1);
    let behind = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 1, "conditions": [
        other, {"type": "Ready", "status": "True"}]}});
    assert_eq!(explained(behind)[1], "Waiting PublicAddress=False");
    // Two of them, of which one is not true.
    let ready = |status: &str| json!({"type": "Ready", "status": status});
    let available = json!({"type": "Available", "status": "True"});
    assert_eq!(of_list(json!([other, available, ready("True")])), [""; 0]);
    assert_eq!(of_list(json!([other, available, ready("False")])).len(), 2);
    // Bad news counts all the same.
    let deadlock = json!({"type": "KernelDeadlock", "status": "True"});
    assert_eq!(of_list(json!([ready("True"), deadlock])), ["Blocking KernelDeadlock=True"]);
}

#[test]
fn conditions_in_lists_of_a_status_are_judged_too() {
    let route = |status: &str, observed: i64| {
        let accepted =
            json!({"type": "Accepted", "status": status, "reason": "R", "observedGeneration": observed});
        let parents = json!([{"parentRef": {"name": "a"}, "conditions": []}, {"conditions": [accepted]}, 1]);
        explained(json!({"metadata": {"generation": 2}, "status": {"parents": parents}}))
    };
    assert_eq!(route("True", 2), [""; 0]);
    assert_eq!(route("False", 2), ["Waiting parents[1] Accepted=False R"]);
    let stale = [
        "Blocking generation 2 was not observed: the status is about generation 1",
        "Waiting parents[1] Accepted=True (about generation 1, not 2) R",
    ];
    assert_eq!(route("True", 1), stale);
}

/// The first contract of the pattern API contract, and Cluster API's.
#[test]
fn a_failure_in_fields_of_its_own_is_named() {
    let failed = |status: Value| explained(json!({"status": status}));
    let both = json!({"failureReason": "NoQuota", "failureMessage": "no cores are left"});
    assert_eq!(failed(both), ["Blocking has failed for good: NoQuota: no cores are left"]);
    assert_eq!(failed(json!({"failureReason": "NoQuota"})), ["Blocking has failed for good: NoQuota"]);
    assert_eq!(failed(json!({"failureReason": "", "failureMessage": ""})), [""; 0]);
}

#[test]
fn phases_and_states_are_judged_by_their_words() {
    for (field, phase, expected) in [
        ("phase", "Errored", "Blocking phase Errored"),
        ("phase", "Failed", "Blocking phase Failed"),
        ("phase", "failed", "Blocking phase failed"),
        ("phase", "ProvisioningFailed", "Blocking phase ProvisioningFailed"),
        ("phase", "Lost", "Blocking phase Lost"),
        ("state", "error", "Blocking state error"),
        ("state", "ERROR", "Blocking state ERROR"),
        ("phase", "Pending", "Waiting phase Pending"),
        ("phase", "Deleting", "Waiting phase Deleting"),
        ("phase", "Unknown", "Waiting phase Unknown"),
        ("phase", "Running", ""),
        ("phase", "Bound", ""),
        ("state", "attached", ""),
    ] {
        let found = explained(json!({"status": {field: phase}})).join("");
        assert_eq!(found, expected, "{field} {phase}");
    }
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
    assert_eq!(diagnostics(&json!({"spec": {}}), true, &Declared::new())[0].about, About::Status);
    assert_eq!(diagnostics(&json!({"data": {}}), false, &Declared::new()), []);
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

fn newest(kind: &str) -> Event {
    Event {
        last: "T".to_owned(),
        r#type: kind.to_owned(),
        reason: "FailedCreate".to_owned(),
        message: "exceeded quota".to_owned(),
        count: 2,
    }
}

/// The message of the diagnostic that the newest Event makes, with the other diagnostics of the object.
fn said(object: &Value, events: &[Event]) -> Option<String> {
    event(object, &diagnostics(object, true, &Declared::new()), events).map(|diagnostic| diagnostic.message)
}

#[test]
fn the_newest_event_counts_where_the_object_says_nothing_itself() {
    let job = json!({"status": {"startTime": "T0"}});
    let found = said(&job, &[newest("Warning"), newest("Normal")]);
    assert_eq!(found.as_deref(), Some("Warning FailedCreate at T: exceeded quota"));
    assert_eq!(said(&job, &[newest("Normal"), newest("Warning")]), None);
    let speaking = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    assert_eq!(said(&speaking, &[newest("Warning")]), None);
    assert_eq!(said(&json!({"status": {"phase": "Bound"}}), &[newest("Warning")]), None);
}

/// A PersistentVolumeClaim says `Pending`, and Events of any type say what for; a container that is created says nothing.
#[test]
fn the_newest_event_of_what_waits_says_what_for() {
    let claim = json!({"status": {"phase": "Pending"}});
    assert_eq!(
        said(&claim, &[newest("Normal")]).as_deref(),
        Some("Normal FailedCreate at T: exceeded quota")
    );
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    assert_eq!(
        said(&unready, &[newest("Warning")]).as_deref(),
        Some("Warning FailedCreate at T: exceeded quota")
    );
    assert_eq!(said(&unready, &[newest("Normal")]), None);
}

#[test]
fn a_load_balancer_without_an_address_waits_for_one() {
    let service =
        |kind: &str, status: Value| json!({"spec": {"type": kind}, "status": {"loadBalancer": status}});
    let addressed = json!({"ingress": [{"ip": "192.0.2.1"}]});
    let message = "Waiting no controller has given it an address: spec.type is LoadBalancer, and \
                   status.loadBalancer.ingress is empty: is a controller for load balancers running?";
    assert_eq!(explained(service("LoadBalancer", json!({}))), [message]);
    assert_eq!(explained(service("LoadBalancer", json!({"ingress": []}))), [message]);
    assert_eq!(explained(service("LoadBalancer", addressed)), [""; 0]);
    assert_eq!(explained(service("ClusterIP", json!({}))), [""; 0]);
    let mut classed = service("LoadBalancer", json!({}));
    classed["spec"]["loadBalancerClass"] = json!("example.com/internal");
    assert!(
        explained(classed)[0]
            .contains("a controller for load balancers of class example.com/internal running")
    );
    // Some controllers never write the address of an Ingress.
    let ingress = json!({"spec": {"rules": []}, "status": {"loadBalancer": {}}});
    assert_eq!(explained(ingress.clone()), [""; 0]);
    assert_eq!(diagnostics(&ingress, true, &Declared::new())[0].about, About::Address);
}

#[test]
fn replicas_of_an_older_revision_are_counted() {
    let set = |strategy: Value| {
        let status = json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1});
        explained(json!({"spec": {"replicas": 3, "updateStrategy": strategy}, "status": status}))
    };
    assert_eq!(set(json!({"type": "RollingUpdate"})), ["Waiting 1 of 3 replicas are of the newest revision"]);
    let by_hand = "Waiting 1 of 3 replicas are of the newest revision: spec.updateStrategy.type is OnDelete, so delete \
                   the pods that are not";
    assert_eq!(set(json!({"type": "OnDelete"})), [by_hand]);
    assert_eq!(set(json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})), [""; 0]);
    let daemons = json!({"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 0});
    assert_eq!(explained(json!({"status": daemons})), ["Waiting 0 of 2 replicas are of the newest revision"]);
}

#[test]
fn a_pod_that_no_scheduler_has_looked_at_says_so() {
    let pod = |conditions: Value| {
        explained(
            json!({"spec": {"schedulerName": "mine"}, "status": {"phase": "Pending", "conditions": conditions}}),
        )
    };
    let message = "Waiting phase Pending: the scheduler mine has not looked at it: is it running?";
    assert_eq!(pod(json!([])), [message]);
    let judged = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]);
    assert_eq!(pod(judged), ["Waiting PodScheduled=False Unschedulable: 0/1 nodes", "Waiting phase Pending"]);
}

/// `deletionTimestamp` is the end of the grace period, which is over where a node is gone.
#[test]
fn a_deletion_without_finalizers_waits_for_the_grace_period_and_the_node() {
    let pod = json!({"metadata": {"deletionTimestamp": "T"}, "status": {"phase": "Running"}});
    assert_eq!(
        explained(pod),
        [
            "Waiting is being deleted, and no finalizer holds it: it goes when its grace period has ended (T) and, if it \
          runs on a node, the node has confirmed that it does not any more"
        ]
    );
}

#[test]
fn conditions_without_a_type_explain_nothing() {
    let object = json!({"status": {"conditions": [1, null, "x", {"type": 5}, {"type": "", "status": ""}]}});
    assert_eq!(explained(object), [""; 0]);
}
