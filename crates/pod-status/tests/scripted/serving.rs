//! A pod that joins and cannot ingest what is enforced: it says so before it serves.

use std::time::Duration;

use pod_status::readiness::{ErrorClass, GiveUpPolicy, OnError};
use pod_status::{
    MissingSemantics, ParentKey, PodError, PodIdentity, ReadinessTracker, ReporterConfig, StatusReporter,
};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::aggregator::{
    is_true, parent, policy_path, put_member, put_pod, put_policy, run, start, start_announcing,
};
use crate::api::{Fault, Server};

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
    tokio::spawn(driver.run(CancellationToken::new()));
    reporter.registered().await.unwrap();
    let tracker = ReadinessTracker::new(GiveUpPolicy::default().permanent(OnError::GiveUp));
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
    reporter.ingested(&key, 1, Err(PodError::new("compile", "no such function").into()), Value::Null);
    source.fail(&key, 1, ErrorClass::Permanent, "no such function");
    assert!(tracker.ready().borrow().is_ready());
    sleep(Duration::from_secs(60)).await;
    assert!(!serves.is_finished(), "the failure is not stored");
    assert!(policies.iter().all(|name| is_true(&server, name)));

    server.refuse("podreports", 500, false);
    let mut serves = serves;
    let given_up = loop {
        tokio::select! {
            biased;
            given_up = &mut serves => break given_up.unwrap().unwrap(),
            () = sleep(Duration::from_millis(10)) => {}
        }
    };
    assert_eq!(given_up.len(), 1, "{given_up:?}");
    assert_eq!(reason(&server, "p"), "IngestError", "it is revoked before the pod serves");
    assert_eq!(reason(&server, "of-kind-p"), "WaitingForPods", "it could not even list it");
    assert!(is_true(&server, "other"));
}

/// A pod that has given up `p`, and serves when it may.
struct Joining {
    serves: tokio::task::JoinHandle<Result<Vec<pod_status::readiness::Missing>, pod_status::Error>>,
    _reporter: StatusReporter,
}

impl Joining {
    async fn start(server: &Server, id: &str, config: ReporterConfig) -> Self {
        put_pod(server, id);
        let variable = |name: &str| match name {
            "POD_NAME" => Some(id.to_owned()),
            "POD_NAMESPACE" => Some("ns".to_owned()),
            _ => Some(format!("{id}-uid")),
        };
        let identity = PodIdentity::from_variables(variable, ["webhook"]).unwrap();
        let (reporter, driver) = StatusReporter::new(server.client(id), identity, config);
        tokio::spawn(driver.run(CancellationToken::new()));
        reporter.registered().await.unwrap();
        let tracker = ReadinessTracker::new(GiveUpPolicy::default().permanent(OnError::GiveUp));
        let source = tracker.source("policies").missing(MissingSemantics::Looser);
        tracker.seal();
        let key = ParentKey::new(parent("p"), "p-uid");
        source.list_begins();
        source.expect(&key, 1);
        source.list_ends();
        reporter.ingested(&key, 1, Err(PodError::new("compile", "no such function").into()), Value::Null);
        source.fail(&key, 1, ErrorClass::Permanent, "no such function");
        let serves = tokio::spawn({
            let reporter = reporter.clone();
            async move { reporter.may_serve(&tracker).await }
        });
        Self { serves, _reporter: reporter }
    }
}

/// Each request of the aggregator and of the pod in turn is refused, not answered, or its answer lost.
#[tokio::test(start_paused = true)]
async fn at_no_moment_does_a_pod_serve_without_a_policy_that_a_status_calls_enforced() {
    for (ordinal, fault) in (0..24)
        .flat_map(|at| [Fault::Refuse(500, 0), Fault::Vanish, Fault::LoseAnswer].map(|fault| (at, fault)))
    {
        let server = Server::default();
        let policies = ["p", "of-kind-p"];
        policies.iter().for_each(|name| put_policy(&server, name, 1));
        put_member(&server, &run("a"), &policies, 1);
        let _aggregator = start(&server, "one", &policies);
        sleep(Duration::from_secs(3)).await;
        server.script(std::iter::repeat_n(Fault::None, ordinal).chain([fault]));
        let joining =
            Joining::start(&server, "b", ReporterConfig::default().acknowledged_within(Duration::MAX)).await;
        let began = Instant::now();
        while !joining.serves.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(150), "{fault:?} of request {ordinal}");
            sleep(Duration::from_millis(5)).await;
        }
        for name in policies {
            assert!(!is_true(&server, name), "{name} is a lie, {fault:?} of request {ordinal}");
        }
    }
}

/// It can be read, but not written: its status says `Enforced` for as long.
#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_a_status_that_cannot_be_revoked_and_not_for_ever() {
    let server = Server::default();
    let policies = ["p", "q"];
    policies.iter().for_each(|name| put_policy(&server, name, 1));
    put_member(&server, &run("a"), &policies, 1);
    let _aggregator = start(&server, "one", &policies);
    sleep(Duration::from_secs(3)).await;
    server.refuse("policies/q", 500, true);
    let joining = Joining::start(&server, "b", ReporterConfig::default()).await;
    sleep(Duration::from_secs(50)).await;
    assert!(is_true(&server, "q") && !joining.serves.is_finished());
    sleep(Duration::from_secs(15)).await;
    assert!(joining.serves.is_finished(), "a status must not keep a pod from serving for ever");
}

#[tokio::test(start_paused = true)]
async fn without_an_aggregator_a_pod_serves_after_the_time_that_is_configured() {
    let server = Server::default();
    let started = Instant::now();
    let joining =
        Joining::start(&server, "b", ReporterConfig::default().acknowledged_within(Duration::from_secs(20)))
            .await;
    assert_eq!(joining.serves.await.unwrap().unwrap().len(), 1);
    let waited = started.elapsed();
    assert!((20..25).contains(&waited.as_secs()), "{waited:?}");
}

/// A restarted container has a registration that the aggregator has acknowledged to its predecessor.
#[tokio::test(start_paused = true)]
async fn an_acknowledgement_is_for_one_run() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    let aggregator = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(3)).await;
    let wait = ReporterConfig::default().acknowledged_within(Duration::MAX);
    let first = Joining::start(&server, "b", wait.clone()).await;
    sleep(Duration::from_secs(5)).await;
    assert!(first.serves.is_finished());
    aggregator.abort();
    drop(first);
    let second = Joining::start(&server, "b", wait).await;
    sleep(Duration::from_secs(120)).await;
    assert!(!second.serves.is_finished(), "no aggregator knows of it");
    let _aggregator = start(&server, "two", &["p"]);
    sleep(Duration::from_secs(25)).await;
    assert!(second.serves.is_finished() && !is_true(&server, "p"));
}

/// All pods have been replaced, and the reports of the old ones are gone. The host of the new aggregator learns later of a
/// policy that an old status calls enforced: its kind is listed after the others.
#[tokio::test(start_paused = true)]
async fn a_pod_that_gave_up_serves_only_when_every_policy_has_been_announced() {
    let server = Server::default();
    let policies = ["p", "of-kind-p"];
    policies.iter().for_each(|name| put_policy(&server, name, 1));
    put_member(&server, &run("a"), &policies, 1);
    let aggregator = start(&server, "one", &policies);
    sleep(Duration::from_secs(3)).await;
    aggregator.abort();
    server.delete("/api/v1/namespaces/ns/pods/a");
    server.delete_reports();
    assert!(policies.iter().all(|name| is_true(&server, name)));

    let (_aggregator, changes) = start_announcing(server.client("two"), "two", &["p"]);
    let wait = ReporterConfig::default().acknowledged_within(Duration::MAX);
    let joining = Joining::start(&server, "b", wait).await;
    sleep(Duration::from_secs(60)).await;
    assert!(!is_true(&server, "p") && is_true(&server, "of-kind-p"));
    assert!(!joining.serves.is_finished(), "the aggregator does not know of the other policy");
    changes.changed(parent("of-kind-p"));
    changes.all_announced();
    while !joining.serves.is_finished() {
        sleep(Duration::from_millis(5)).await;
    }
    assert!(!is_true(&server, "of-kind-p"));
}

/// Whatever becomes of the API server, a pod that has ingested everything serves.
#[tokio::test(start_paused = true)]
async fn a_pod_that_gave_up_nothing_serves_without_the_api_server() {
    let server = Server::default();
    let identity = PodIdentity::detached("ns", "b", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(server.client("b"), identity, ReporterConfig::default());
    tokio::spawn(driver.run(CancellationToken::new()));
    reporter.registered().await.unwrap();
    server.cut_off("b", true);
    let tracker = ReadinessTracker::new(GiveUpPolicy::default().permanent(OnError::GiveUp));
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
