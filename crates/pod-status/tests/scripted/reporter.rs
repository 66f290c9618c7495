//! The writer of reports: how many requests it makes, when, and that it ends up with the truth.

use std::time::Duration;

use http::Method;
use pod_status::{Config, ParentKey, ParentRef, PodError, PodIdentity, StatusReporter};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::api::{Fault, Server};

fn identity() -> PodIdentity {
    PodIdentity::from_variables(|name| Some(name.to_lowercase().replace('_', "-")), ["webhook"]).unwrap()
}

fn parent(number: usize) -> ParentKey {
    let reference =
        ParentRef { group: "g".into(), kind: "K".into(), namespace: None, name: format!("p{number}") };
    ParentKey { reference, uid: format!("u{number}") }
}

fn start(server: &Server, identity: PodIdentity, config: Config) -> StatusReporter {
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity, config);
    tokio::spawn(driver);
    reporter
}

fn writes(server: &Server) -> usize {
    server.seen().iter().filter(|seen| seen.verb != Method::GET).count()
}

/// Names of the parents in the stored reports, with their generations.
fn stored(server: &Server) -> Vec<(String, i64)> {
    let mut stored: Vec<(String, i64)> = server
        .objects("podreports")
        .iter()
        .flat_map(|object| object["entries"].as_array().cloned().unwrap_or_default())
        .map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry["generation"].as_i64().unwrap()))
        .collect();
    stored.sort();
    stored
}

#[tokio::test(start_paused = true)]
async fn the_registration_is_the_first_request() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config::default());
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    reporter.registered().await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].verb, Method::PATCH);
    assert!(
        seen[0].path.ends_with("/namespaces/pod-namespace/podreports/pod--name-pod--uid-0"),
        "{}",
        seen[0].path
    );
    let registration = &server.objects("podreports")[0];
    assert_eq!(registration["metadata"]["ownerReferences"][0]["uid"], "pod-uid");
    assert_eq!(registration["pod"]["operations"], json!(["webhook"]));
    assert_eq!(registration["entries"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_start_with_many_parents_is_one_write_per_object() {
    let server = Server::default();
    let config = Config { shards: 157, ..Config::default() };
    let reporter = start(&server, identity(), config);
    reporter.registered().await.unwrap();
    for number in 0..10_000 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    assert_eq!(stored(&server).len(), 10_000);
    assert_eq!(writes(&server), 158, "157 shards and the registration");
    assert_eq!(server.seen().len(), 159, "and one list");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_changes_with_every_call_does_not_become_a_storm() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config { shards: 1, ..Config::default() });
    reporter.registered().await.unwrap();
    let began = Instant::now();
    let mut countdown = 6000;
    while began.elapsed() < Duration::from_secs(60) {
        countdown -= 1;
        let error = PodError { message: format!("retry in {countdown}"), ..PodError::default() };
        reporter.ingested(&parent(1), 1, Err(vec![error]), Value::Null);
        sleep(Duration::from_millis(10)).await;
    }
    // The delay of a change is at most two seconds, hence one write per two seconds.
    assert!(writes(&server) <= 32, "{} writes in a minute", writes(&server));
    assert!(writes(&server) >= 28, "no change waits longer than two seconds");
}

#[tokio::test(start_paused = true)]
async fn saying_the_same_again_sends_nothing() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config::default());
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    reporter.flush().await.unwrap();
    let before = server.seen().len();
    for _ in 0..100 {
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(server.seen().len(), before);
}

#[tokio::test(start_paused = true)]
async fn changes_during_an_outage_collapse_into_the_last_one() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config { shards: 1, ..Config::default() });
    reporter.registered().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let before = server.seen().len();
    server.script([Fault::Refuse(500, 0), Fault::Refuse(503, 0), Fault::Refuse(409, 0)]);
    for generation in 1..=50 {
        reporter.ingested(&parent(1), generation, Ok(()), Value::Null);
        sleep(Duration::from_millis(50)).await;
    }
    reporter.flush().await.unwrap();
    assert_eq!(stored(&server), [("p1".to_owned(), 50)]);
    assert!(server.seen().len() - before <= 6, "{} requests", server.seen().len() - before);
}

#[tokio::test(start_paused = true)]
async fn the_advice_of_the_server_is_followed() {
    let server = Server::default();
    server.script([Fault::Refuse(429, 40)]);
    let reporter = start(&server, identity(), Config::default());
    reporter.registered().await.unwrap();
    let seen = server.seen();
    assert!(seen[1].at.duration_since(seen[0].at) >= Duration::from_secs(40));
}

#[tokio::test(start_paused = true)]
async fn retries_become_rarer() {
    let server = Server::default();
    server.script([Fault::Refuse(500, 0); 200]);
    let _reporter = start(&server, identity(), Config::default());
    sleep(Duration::from_secs(600)).await;
    assert!(server.seen().len() < 40, "{} requests in ten minutes", server.seen().len());
}

#[tokio::test(start_paused = true)]
async fn objects_that_somebody_deletes_come_back() {
    let server = Server::default();
    let config = Config::default();
    let verify_every = config.verify_every;
    let reporter = start(&server, identity(), config);
    for number in 0..20 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    let before = server.objects("podreports").len();
    server.delete_all();
    sleep(verify_every + Duration::from_secs(10)).await;
    assert_eq!(server.objects("podreports").len(), before);
    assert_eq!(stored(&server).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_write_comes_across_is_repaired_at_once() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config::default());
    for number in 0..20 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    server.delete_all();
    reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(stored(&server).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_container_replaces_what_its_last_run_left() {
    let server = Server::default();
    let config = Config { shards: 4, ..Config::default() };
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), config.clone());
    let killed = tokio::spawn(driver);
    for number in 0..40 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    assert_eq!(server.objects("podreports").len(), 5);
    killed.abort();

    let reporter = start(&server, identity(), config);
    reporter.registered().await.unwrap();
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    reporter.flush().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stored(&server), [("p1".to_owned(), 1)], "nothing of the last run is left");
    assert_eq!(server.objects("podreports").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_pod_leaves_its_reports_and_a_process_takes_them_along() {
    for (identity, left) in
        [(identity(), 2), (PodIdentity::detached("pod-namespace", "laptop", ["audit"]), 0)]
    {
        let server = Server::default();
        let reporter = start(&server, identity, Config::default());
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        reporter.flush().await.unwrap();
        reporter.shutdown().await;
        assert_eq!(server.objects("podreports").len(), left);
        reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
        assert!(reporter.flush().await.is_err(), "nobody stores what comes after the shutdown");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_stores_what_is_still_waiting() {
    let server = Server::default();
    let reporter = start(&server, identity(), Config::default());
    reporter.registered().await.unwrap();
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    reporter.shutdown().await;
    assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn without_handles_the_driver_stores_the_rest_and_ends() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), Config::default());
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    drop(reporter);
    timeout(Duration::from_secs(60), driver).await.unwrap();
    assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_driver_is_an_error_and_not_a_hang() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), Config::default());
    drop(driver);
    assert!(reporter.registered().await.is_err());
    assert!(reporter.flush().await.is_err());
    reporter.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn only_a_process_without_a_pod_sends_heartbeats() {
    for (identity, at_least, at_most) in
        [(identity(), 0, 0), (PodIdentity::detached("pod-namespace", "laptop", ["audit"]), 14, 16)]
    {
        let server = Server::default();
        let config = Config { verify_every: Duration::from_secs(100_000), ..Config::default() };
        let reporter = start(&server, identity, config);
        reporter.registered().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        let before = writes(&server);
        sleep(Duration::from_secs(300)).await;
        let sent = writes(&server) - before;
        assert!((at_least..=at_most).contains(&sent), "{sent} heartbeats in five minutes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_custom_resource_definition_is_waited_for() {
    let server = Server::default();
    server.script([Fault::Refuse(404, 0), Fault::Refuse(404, 0), Fault::Refuse(403, 0)]);
    let reporter = start(&server, identity(), Config::default());
    reporter.registered().await.unwrap();
    assert_eq!(server.objects("podreports").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_does_not_silence_the_pod() {
    for fault in [Fault::Vanish, Fault::LoseAnswer] {
        let server = Server::default();
        let reporter = start(&server, identity(), Config::default());
        reporter.registered().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        server.script([fault]);
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        timeout(Duration::from_secs(180), reporter.flush()).await.unwrap().unwrap();
        assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
    }
}
