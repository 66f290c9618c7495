//! Entries that the pods apply to the parent themselves: whom the aggregator waits for, and what it removes.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{Aggregator, AggregatorConfig, ParentChanges, ParentRef, PodIdentity, Shape};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{is_true, parent, policy_path, put_pod, put_policy, put_report, run};
use crate::api::Server;

fn shape(_: &ParentRef) -> Option<Shape> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    Some(Shape::new(resource, "policyUID").enforced_by(["webhook"]).direct())
}

fn start(server: &Server) -> ParentChanges {
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let config = AggregatorConfig::new(&identity, shape).debounce(Duration::from_millis(1));
    let aggregator = Aggregator::new(server.client("one"), config);
    let changes = aggregator.parent_changes();
    changes.changed(parent("p"));
    tokio::spawn(aggregator.run(CancellationToken::new()));
    changes
}

/// A pod that exists and is registered.
fn register(server: &Server, pod: &str) {
    put_pod(server, pod);
    put_report(server, &run(pod), 0, &[], 0);
}

/// The pods have applied these entries, at this generation.
fn apply(server: &Server, pods: &[&str], generation: i64) {
    let entry = |pod: &&str| {
        json!({
            "id": pod, "podUID": format!("{pod}-uid"), "incarnation": "i1", "operations": ["webhook"],
            "policyUID": "p-uid", "observedGeneration": generation,
        })
    };
    let entries: Vec<Value> = pods.iter().map(entry).collect();
    server.edit(&policy_path("p"), |policy| {
        policy["metadata"]["generation"] = generation.into();
        policy["status"]["byPod"] = entries.into();
    });
}

fn ids(server: &Server) -> Vec<String> {
    let policy = server.get(&policy_path("p")).unwrap();
    let entries = policy["status"]["byPod"].as_array().unwrap();
    entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn entries_of_dead_pods_are_removed_and_a_pod_without_a_registration_is_waited_for() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    register(&server, "a");
    put_pod(&server, "unregistered");
    apply(&server, &["dead", "a", "also-dead", "unregistered"], 1);
    server.edit(&policy_path("p"), |policy| policy["status"]["byPod"][3]["observedGeneration"] = 0.into());
    let changes = start(&server);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(ids(&server), ["a", "unregistered"]);
    assert!(!is_true(&server, "p"), "it may serve by an older generation");
    server.delete("/api/v1/namespaces/ns/pods/unregistered");
    changes.changed(parent("p"));
    sleep(Duration::from_secs(20)).await;
    assert_eq!(ids(&server), ["a"]);
    assert!(is_true(&server, "p"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_registers_at_any_moment_of_a_decision_is_waited_for() {
    for moment in (0..40).step_by(2) {
        let server = Server::default();
        put_policy(&server, "p", 1);
        register(&server, "a");
        apply(&server, &["a"], 1);
        let changes = start(&server);
        sleep(Duration::from_secs(20)).await;
        assert!(is_true(&server, "p"));
        // Something changes, and is decided about in several requests of 10 ms each. Meanwhile b registers, lists
        // generation 1, and serves. Then generation 2 comes, which only a has ingested.
        changes.changed(parent("p"));
        server.edit(&policy_path("p"), |policy| policy["status"]["conditions"] = json!([]));
        sleep(Duration::from_millis(moment)).await;
        register(&server, "b");
        apply(&server, &["a"], 2);
        changes.changed(parent("p"));
        sleep(Duration::from_secs(20)).await;
        assert!(!is_true(&server, "p"), "b registered after {moment} ms");
    }
}
