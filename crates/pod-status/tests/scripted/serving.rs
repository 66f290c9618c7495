//! A pod that joins and cannot ingest what is enforced: it says so before it serves.

use std::time::Duration;

use pod_status::readiness::{Failure, OnError, Policy};
use pod_status::{
    MissingSemantics, ParentKey, PodError, PodIdentity, ReadinessTracker, ReporterConfig, StatusReporter,
};
use serde_json::Value;
use tokio::time::sleep;

use crate::aggregator::{is_true, parent, policy_path, put_member, put_policy, run, start};
use crate::api::Server;

fn reason(server: &Server, policy: &str) -> Value {
    let conditions = &server.get(&policy_path(policy)).unwrap()["status"]["conditions"];
    let enforced = conditions.as_array().unwrap().iter().find(|condition| condition["type"] == "Enforced");
    enforced.unwrap()["reason"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_gave_up_a_policy_serves_only_after_its_failure_is_stored() {
    let server = Server::default();
    let policies = ["p", "of-kind-p", "other"];
    policies.iter().for_each(|name| put_policy(&server, name, 1));
    put_member(&server, &run("a"), &policies, 1);
    let _aggregator = start(&server, "one", &policies);
    sleep(Duration::from_secs(3)).await;
    assert!(policies.iter().all(|name| is_true(&server, name)));

    let identity = PodIdentity::detached("ns", "b", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(server.client("b"), identity, ReporterConfig::default());
    tokio::spawn(driver);
    reporter.registered().await.unwrap();
    let tracker = ReadinessTracker::new(Policy::default().permanent(OnError::GiveUp));
    let source = tracker.source("policies").missing(MissingSemantics::Looser);
    tracker.seal();
    let serves = tokio::spawn({
        let (reporter, tracker) = (reporter.clone(), tracker.clone());
        async move { reporter.may_serve(&tracker).await }
    });
    let key = ParentKey::new(parent("p"), "p-uid");
    source.list_begins();
    source.expect(&key, 1);
    source.list_ends();
    reporter.ingested(&ParentKey::new(parent("other"), "other-uid"), 1, Ok(()), Value::Null);
    sleep(Duration::from_secs(60)).await;
    assert!(!serves.is_finished(), "nothing is ingested");

    server.refuse("podreports", 500, true);
    reporter.ingested(&key, 1, Err(vec![PodError::new("compile", "no such function")]), Value::Null);
    source.fail(&key, 1, Failure::Permanent, "no such function");
    assert!(tracker.ready().borrow().is_ready());
    sleep(Duration::from_secs(60)).await;
    assert!(!serves.is_finished(), "the failure is not stored");
    assert!(policies.iter().all(|name| is_true(&server, name)));

    server.refuse("podreports", 500, false);
    let given_up = serves.await.unwrap().unwrap();
    assert_eq!(given_up.len(), 1, "{given_up:?}");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(reason(&server, "p"), "IngestError");
    assert_eq!(reason(&server, "of-kind-p"), "WaitingForPods", "it could not even list it");
    assert!(is_true(&server, "other"));
}

/// Whatever becomes of the API server, a pod that has ingested everything serves.
#[tokio::test(start_paused = true)]
async fn a_pod_that_gave_up_nothing_serves_without_the_api_server() {
    let server = Server::default();
    let identity = PodIdentity::detached("ns", "b", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(server.client("b"), identity, ReporterConfig::default());
    tokio::spawn(driver);
    reporter.registered().await.unwrap();
    server.cut_off("b", true);
    let tracker = ReadinessTracker::new(Policy::default().permanent(OnError::GiveUp));
    let policies = tracker.source("policies").missing(MissingSemantics::Looser);
    tracker.seal();
    let key = ParentKey::new(parent("p"), "p-uid");
    policies.list_begins();
    policies.expect(&key, 1);
    policies.list_ends();
    reporter.ingested(&key, 1, Ok(()), Value::Null);
    policies.observe(&key, 1);
    assert!(reporter.may_serve(&tracker).await.unwrap().is_empty());
}
