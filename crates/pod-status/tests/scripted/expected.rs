//! Pods that serve and never register: of an older build, or of other software behind the same Service.

use std::time::Duration;

use pod_status::{Aggregator, AggregatorConfig, PodIdentity};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{
    enforced, is_true, parent, policy_path, put_member, put_policy, put_report, run, shape, update_policy,
};
use crate::api::Server;

/// Creates or changes a pod behind the Service.
fn put_expected(server: &Server, id: &str, runs: bool, is_ready: bool) {
    let state = if runs { "running" } else { "waiting" };
    let ready = if is_ready { "True" } else { "False" };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": id, "uid": format!("{id}-uid"), "labels": {"app": "operator"}},
        "status": {
            "containerStatuses": [{"state": {(state): {}}}],
            "conditions": [{"type": "Ready", "status": ready}],
        },
    });
    server.put(&format!("/api/v1/namespaces/ns/pods/{id}"), pod);
}

fn start(server: &Server) -> JoinHandle<()> {
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let labels = [("app".to_owned(), "operator".to_owned())].into();
    let config = AggregatorConfig::new(&identity, shape).expects(labels, ["webhook"]);
    let aggregator = Aggregator::new(server.client("one"), config);
    aggregator.parent_changes().changed(parent("p"));
    tokio::spawn(aggregator.run(CancellationToken::new()))
}

/// `a` enforces generation 1 of `p`, and is behind the Service.
fn scene() -> Server {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    put_expected(&server, "a", true, true);
    server
}

fn message(server: &Server) -> Value {
    let status = server.get(&policy_path("p")).unwrap()["status"].clone();
    let conditions = status["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == "Enforced").unwrap()["message"].clone()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_enforced_beside_a_pod_that_serves_and_has_not_registered() {
    let server = scene();
    put_expected(&server, "old", true, true);
    let _aggregator = start(&server);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(enforced(&server, "p"), ("Unknown".to_owned(), "WaitingForPods".to_owned()));
    assert_eq!(message(&server), "1 of 2 pods have ingested generation 1; waiting for old");
    server.delete("/api/v1/namespaces/ns/pods/old");
    sleep(Duration::from_secs(5)).await;
    assert!(is_true(&server, "p"), "it is gone");
}

/// The policy is proven; then the Deployment is set back to a build that does not register.
#[tokio::test(start_paused = true)]
async fn what_was_enforced_is_revoked_when_a_pod_is_ready_that_has_not_registered() {
    let server = scene();
    let _aggregator = start(&server);
    sleep(Duration::from_secs(3)).await;
    assert!(is_true(&server, "p"));
    put_expected(&server, "old", false, false);
    sleep(Duration::from_secs(60)).await;
    put_expected(&server, "old", true, false);
    sleep(Duration::from_secs(60)).await;
    assert!(is_true(&server, "p"), "a pod that starts serves nothing yet");
    put_expected(&server, "old", true, true);
    sleep(Duration::from_secs(5)).await;
    assert!(!is_true(&server, "p"));
    put_expected(&server, "old", true, false);
    sleep(Duration::from_secs(60)).await;
    assert!(!is_true(&server, "p"), "it may still answer by connections that are open");
    put_expected(&server, "old", false, false);
    sleep(Duration::from_secs(5)).await;
    assert!(is_true(&server, "p"), "none of its containers runs");
}

/// A pod that starts holds a new generation back from its first moment, and registers then.
#[tokio::test(start_paused = true)]
async fn a_pod_that_registers_is_counted_once_and_as_it_reports() {
    let server = scene();
    let _aggregator = start(&server);
    sleep(Duration::from_secs(3)).await;
    put_expected(&server, "b", true, false);
    update_policy(&server, "p", 2);
    put_report(&server, &run("a"), 1, &["p"], 2);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(message(&server), "1 of 2 pods have ingested generation 2; waiting for b");
    put_report(&server, &run("b"), 0, &[], 0);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(message(&server), "1 of 2 pods have ingested generation 2; waiting for b");
    put_report(&server, &run("b"), 1, &["p"], 2);
    put_expected(&server, "b", true, true);
    sleep(Duration::from_secs(5)).await;
    assert!(is_true(&server, "p"));
}

/// Another client deletes the registration of a pod that serves.
#[tokio::test(start_paused = true)]
async fn a_pod_whose_reports_are_deleted_has_not_become_one_that_never_registered() {
    let server = scene();
    let _aggregator = start(&server);
    sleep(Duration::from_secs(3)).await;
    server.delete_reports();
    put_expected(&server, "old", false, false);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(enforced(&server, "p").1, "WaitingForPods", "no pod reports it");
    put_report(&server, &run("a"), 0, &[], 0);
    put_report(&server, &run("a"), 1, &["p"], 1);
    sleep(Duration::from_secs(5)).await;
    assert!(is_true(&server, "p"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_decided_before_the_pods_that_must_register_are_listed() {
    let server = scene();
    put_expected(&server, "old", true, true);
    server.refuse_reads("/namespaces/ns/pods", true);
    let _aggregator = start(&server);
    sleep(Duration::from_secs(60)).await;
    assert!(server.get(&policy_path("p")).unwrap()["status"].is_null());
    server.refuse_reads("/namespaces/ns/pods", false);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(enforced(&server, "p").1, "WaitingForPods");
}
