//! A coordinated rollout in which one pod never ingests the new generation.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Aggregator, AggregatorConfig, Deadline, MissingSemantics, ParentRef, PodIdentity, Rollout, Shape,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{parent, policy_path, put_member, put_policy, put_report, run};
use crate::api::Server;

/// Generation 2 of `p`, which `a` has ingested and `b` has not.
fn scene() -> Server {
    let server = Server::default();
    put_policy(&server, "p", 2);
    put_member(&server, &run("a"), &["p"], 2);
    put_member(&server, &run("b"), &["p"], 1);
    server
}

fn start(server: &Server, name: &str, deadline: Deadline) -> JoinHandle<()> {
    start_kind(server, name, deadline, MissingSemantics::Looser)
}

fn start_kind(server: &Server, name: &str, deadline: Deadline, missing: MissingSemantics) -> JoinHandle<()> {
    let shapes = move |_: &ParentRef| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
        let shape = Shape::new(resource, "policyUID").enforced_by(["webhook"]).missing(missing);
        let shape = shape.at_once("/spec/enforcementAction", "dryrun");
        Some(shape.rollout(Rollout::Coordinated { deadline }))
    };
    let identity = PodIdentity::detached("ns", name, ["status"]);
    let aggregator = Aggregator::new(server.client(name), AggregatorConfig::new(&identity, shapes));
    aggregator.parent_changes().changed(parent("p"));
    tokio::spawn(aggregator.run(CancellationToken::new()))
}

fn activation(server: &Server) -> Value {
    server.get(&policy_path("p")).unwrap()["status"]["activation"].clone()
}

fn enforced(server: &Server) -> (String, String) {
    let policy = server.get(&policy_path("p")).unwrap();
    let conditions = policy["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Enforced").unwrap_or_default();
    let word = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("reason"))
}

/// The seconds until the generation is activated, if it is within ten minutes.
async fn seconds(server: &Server) -> Option<u64> {
    for second in 0..600 {
        if activation(server)["generation"] == 2 {
            return Some(second);
        }
        sleep(Duration::from_secs(1)).await;
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_ingest_delays_a_generation_no_longer_than_the_deadline() {
    let server = scene();
    let _aggregator = start(&server, "one", Deadline::default());
    let waited = seconds(&server).await.unwrap();
    assert!((60..=63).contains(&waited), "{waited} s");
    assert_eq!(activation(&server)["reason"], "DeadlineActivated");
    assert_eq!(enforced(&server), ("False".into(), "DeadlineActivated".into()));
    let writes = server.seen().iter().filter(|seen| seen.path.ends_with("/p/status")).count();
    assert_eq!(writes, 5, "the first status, three quarters of the deadline, the activation");
}

/// The first aggregator dies after 40 of 60 seconds. Its successor has the Lease after at most 17 s, and waits for the
/// 30 s that are missing.
#[tokio::test(start_paused = true)]
async fn the_deadline_survives_the_aggregator() {
    let server = scene();
    let first = start(&server, "one", Deadline::default());
    sleep(Duration::from_secs(40)).await;
    first.abort();
    let _second = start(&server, "two", Deadline::default());
    let waited = seconds(&server).await.unwrap();
    assert!((30..=52).contains(&waited), "{waited} s");
    assert_eq!(activation(&server)["reason"], "DeadlineActivated");
}

/// Aggregators that each die after 35 s, the Lease included, get there too.
#[tokio::test(start_paused = true)]
async fn a_deadline_is_reached_by_aggregators_that_do_not_live_as_long() {
    let server = scene();
    for term in 0..20 {
        let aggregator = start(&server, &format!("aggregator-{term}"), Deadline::default());
        sleep(Duration::from_secs(35)).await;
        aggregator.abort();
        if activation(&server)["generation"] == 2 {
            return assert!((2..10).contains(&term), "after {term} terms");
        }
    }
    panic!("never activated: {}", activation(&server));
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_is_held_says_so_and_goes_on_when_the_pod_has_ingested_it() {
    let server = scene();
    let _aggregator = start(&server, "one", Deadline::Hold(Duration::from_secs(60)));
    assert_eq!(seconds(&server).await, None);
    assert_eq!(enforced(&server), ("False".into(), "DeadlineExceeded".into()));
    let writes = server.seen().iter().filter(|seen| seen.path.ends_with("/p/status")).count();
    assert_eq!(writes, 5, "the first status and four quarters of the deadline, then nothing");
    put_report(&server, &run("b"), 1, &["p"], 2);
    assert!(seconds(&server).await.unwrap() <= 3);
    assert_eq!(activation(&server), json!({"uid": "p-uid", "generation": 2}));
}

#[tokio::test(start_paused = true)]
async fn a_generation_that_loosens_does_not_wait() {
    let server = scene();
    server.edit(&policy_path("p"), |policy| policy["spec"] = json!({"enforcementAction": "dryrun"}));
    let _aggregator = start(&server, "one", Deadline::default());
    assert!(seconds(&server).await.unwrap() <= 5);
    assert_eq!(activation(&server)["reason"], Value::Null);
    assert_eq!(enforced(&server), ("Unknown".into(), "WaitingForPods".into()));
}

/// A pod that lacks an exemption denies what it allows, and one that lacks data may do anything: neither is left behind.
#[tokio::test(start_paused = true)]
async fn a_pod_that_would_deny_more_is_waited_for_after_the_deadline_and_when_nothing_is_denied() {
    for missing in [MissingSemantics::Stricter, MissingSemantics::Unknown] {
        let server = scene();
        server.edit(&policy_path("p"), |policy| policy["spec"] = json!({"enforcementAction": "dryrun"}));
        let _aggregator = start_kind(&server, "one", Deadline::default(), missing);
        assert_eq!(seconds(&server).await, None, "{missing:?}");
        assert_eq!(enforced(&server), ("False".into(), "DeadlineExceeded".into()));
        put_report(&server, &run("b"), 1, &["p"], 2);
        assert!(seconds(&server).await.unwrap() <= 3);
    }
}
