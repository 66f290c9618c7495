//! The writer of reports: how many requests it makes, when, and that it ends up with the truth.

use std::time::Duration;

use http::Method;
use pod_status::{FencedError, ParentKey, ParentRef, PodError, PodIdentity, ReporterConfig, StatusReporter};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::api::{Fault, Server};

fn identity() -> PodIdentity {
    PodIdentity::from_variables(|name| Some(name.to_lowercase().replace('_', "-")), ["webhook"]).unwrap()
}

fn parent(number: usize) -> ParentKey {
    ParentKey::new(ParentRef::new("g", "K", format!("p{number}")), format!("u{number}"))
}

fn start(server: &Server, identity: PodIdentity, config: ReporterConfig) -> StatusReporter {
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity, config);
    tokio::spawn(driver.run(CancellationToken::new()));
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
    let reporter = start(&server, identity(), ReporterConfig::default());
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
    let reporter = start(&server, identity(), ReporterConfig::default());
    reporter.registered().await.unwrap();
    for number in 0..10_000 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    assert_eq!(stored(&server).len(), 10_000);
    let objects = server.objects("podreports").len();
    assert!(objects < 80, "{objects} objects");
    assert_eq!(writes(&server), objects, "each once");
    assert_eq!(server.seen().len(), objects + 2, "a list of the contents, and one of the metadata");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_changes_with_every_call_does_not_become_a_storm() {
    let server = Server::default();
    let reporter = start(&server, identity(), ReporterConfig::default());
    reporter.registered().await.unwrap();
    let began = Instant::now();
    let mut countdown = 6000;
    while began.elapsed() < Duration::from_secs(60) {
        countdown -= 1;
        let error = PodError::new("", format!("retry in {countdown}"));
        reporter.ingested(&parent(1), 1, Err(error.into()), Value::Null);
        sleep(Duration::from_millis(10)).await;
    }
    // The delay of a change is at most two seconds, hence one write per two seconds.
    assert!(writes(&server) <= 32, "{} writes in a minute", writes(&server));
    assert!(writes(&server) >= 28, "no change waits longer than two seconds");
}

#[tokio::test(start_paused = true)]
async fn saying_the_same_again_sends_nothing() {
    let server = Server::default();
    let reporter = start(&server, identity(), ReporterConfig::default());
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
    server.add_pod();
    let reporter = start(&server, identity(), ReporterConfig::default());
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
    assert!(server.seen().len() - before <= 10, "{} requests", server.seen().len() - before);
}

#[tokio::test(start_paused = true)]
async fn the_advice_of_the_server_is_followed() {
    let server = Server::default();
    server.script([Fault::Refuse(429, 40)]);
    let reporter = start(&server, identity(), ReporterConfig::default());
    reporter.registered().await.unwrap();
    let seen = server.seen();
    assert!(seen[1].at.duration_since(seen[0].at) >= Duration::from_secs(40));
}

#[tokio::test(start_paused = true)]
async fn retries_become_rarer() {
    let server = Server::default();
    server.script([Fault::Refuse(500, 0); 200]);
    let _reporter = start(&server, identity(), ReporterConfig::default());
    sleep(Duration::from_secs(600)).await;
    assert!(server.seen().len() < 40, "{} requests in ten minutes", server.seen().len());
}

#[tokio::test(start_paused = true)]
async fn objects_that_another_client_deletes_come_back_within_seconds() {
    let server = Server::default();
    server.add_pod();
    let reporter = start(&server, identity(), ReporterConfig::default());
    for number in 0..20 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    let before = server.objects("podreports").len();
    server.delete_reports();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(server.objects("podreports").len(), before);
    assert_eq!(stored(&server).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_write_comes_across_is_repaired_at_once() {
    let server = Server::default();
    server.add_pod();
    let reporter = start(&server, identity(), ReporterConfig::default());
    for number in 0..20 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    server.delete_reports();
    reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(stored(&server).len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_container_replaces_what_its_last_run_left() {
    let server = Server::default();
    let config = ReporterConfig::default().shard_bytes(1000);
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), config.clone());
    let killed = tokio::spawn(driver.run(CancellationToken::new()));
    for number in 0..40 {
        reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
    }
    reporter.flush().await.unwrap();
    assert!(server.objects("podreports").len() >= 5);
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
        let (reporter, driver) =
            StatusReporter::new(server.client("pod"), identity, ReporterConfig::default());
        let shutdown = CancellationToken::new();
        let driver = tokio::spawn(driver.run(shutdown.clone()));
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        reporter.flush().await.unwrap();
        shutdown.cancel();
        driver.await.unwrap();
        assert_eq!(server.objects("podreports").len(), left);
        let stopped = server.objects("-0").iter().any(|registration| registration["pod"]["stopped"] == true);
        assert_eq!(stopped, left > 0, "a pod says that it does not serve any more");
        reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
        assert!(reporter.flush().await.is_err(), "nothing is stored after the shutdown");
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_stores_what_is_still_waiting() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), ReporterConfig::default());
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    reporter.registered().await.unwrap();
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    shutdown.cancel();
    driver.await.unwrap();
    assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn without_handles_the_driver_stores_the_rest_and_ends() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), ReporterConfig::default());
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    drop(reporter);
    timeout(Duration::from_secs(60), driver.run(CancellationToken::new())).await.unwrap();
    assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_driver_is_an_error_and_not_a_hang() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), ReporterConfig::default());
    drop(driver);
    assert!(reporter.registered().await.is_err());
    assert!(reporter.flush().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn only_a_process_without_a_pod_sends_heartbeats() {
    for (identity, at_least, at_most) in
        [(identity(), 0, 0), (PodIdentity::detached("pod-namespace", "laptop", ["audit"]), 14, 16)]
    {
        let server = Server::default();
        let mut config = ReporterConfig::default();
        config.verify_every = Duration::from_secs(100_000);
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
    let reporter = start(&server, identity(), ReporterConfig::default());
    reporter.registered().await.unwrap();
    assert_eq!(server.objects("podreports").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_does_not_silence_the_pod() {
    for fault in [Fault::Vanish, Fault::LoseAnswer] {
        let server = Server::default();
        let reporter = start(&server, identity(), ReporterConfig::default());
        reporter.registered().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        server.script([fault]);
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        timeout(Duration::from_secs(180), reporter.flush()).await.unwrap().unwrap();
        assert_eq!(stored(&server), [("p1".to_owned(), 1)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_although_the_api_server_is_gone() {
    let server = Server::default();
    let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), ReporterConfig::default());
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    reporter.registered().await.unwrap();
    server.cut_off("pod", true);
    reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
    sleep(Duration::from_secs(60)).await;
    shutdown.cancel();
    timeout(Duration::from_secs(6), driver).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_report_that_lands_after_the_restart_of_its_pod_is_replaced_within_seconds() {
    let server = Server::default();
    server.add_pod();
    let reporter = start(&server, identity(), ReporterConfig::default());
    reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
    reporter.flush().await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let shard =
        "/apis/status.webtroller.dev/v1alpha1/namespaces/pod-namespace/podreports/pod--name-pod--uid-1";
    // The request of the last run was under way for a minute.
    server.edit(shard, |object| {
        object["pod"]["incarnation"] = "dead".into();
        object["entries"][0]["generation"] = 1.into();
    });
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stored(&server), [("p1".to_owned(), 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_does_not_keep_others_from_being_stored() {
    for code in [413, 422] {
        let server = Server::default();
        let reporter = start(&server, identity(), ReporterConfig::default().shard_bytes(1000));
        reporter.registered().await.unwrap();
        sleep(Duration::from_secs(1)).await;
        for number in 0..40 {
            reporter.ingested(&parent(number), 1, Ok(()), Value::Null);
        }
        server.refuse("pod--uid-2", code, true);
        sleep(Duration::from_secs(120)).await;
        assert!(stored(&server).len() >= 25, "{} entries with {code}", stored(&server).len());
        assert!(server.seen().len() < 60, "{} requests", server.seen().len());
        server.refuse("pod--uid-2", code, false);
        reporter.flush().await.unwrap();
        assert_eq!(stored(&server).len(), 40);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_whose_pod_is_deleted_stops_reporting_and_answering() {
    for fence in [None, Some(Duration::from_secs(30))] {
        let server = Server::default();
        server.add_pod();
        let mut config = ReporterConfig::default();
        config.fence = fence;
        let (reporter, driver) = StatusReporter::new(server.client("pod"), identity(), config);
        let driver = tokio::spawn(driver.run(CancellationToken::new()));
        reporter.registered().await.unwrap();
        reporter.ingested(&parent(1), 1, Ok(()), Value::Null);
        reporter.flush().await.unwrap();
        assert_eq!(reporter.permit().check(), Ok(()));

        // By force; the garbage collector deletes what the pod owns.
        server.delete_pod();
        server.delete_owned();
        timeout(Duration::from_secs(30), reporter.permit().fenced()).await.unwrap();
        assert_eq!(reporter.permit().check(), Err(FencedError::PodDeleted));
        timeout(Duration::from_secs(30), driver).await.unwrap().unwrap();
        let before = server.seen().len();
        reporter.ingested(&parent(1), 2, Ok(()), Value::Null);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(
            server.seen().len(),
            before,
            "it does not create again what the garbage collector deletes"
        );
        let left = server.objects("podreports");
        assert_eq!(left.len(), usize::from(fence.is_some()), "the registration of a run with a fence stays");
        assert!(left.iter().all(|registration| registration["pod"]["stopped"] == true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_cut_off_loses_its_permit_in_time_and_not_before() {
    let server = Server::default();
    server.add_pod();
    let config = ReporterConfig::default().fence(Duration::from_secs(30));
    let reporter = start(&server, identity(), config);
    let permit = reporter.permit();
    assert_eq!(permit.check(), Err(FencedError::Unregistered));
    reporter.registered().await.unwrap();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(permit.check(), Ok(()), "it is renewed");
    server.cut_off("pod", true);
    let began = Instant::now();
    assert_eq!(permit.fenced().await, FencedError::Expired);
    let took = began.elapsed();
    assert!(took <= Duration::from_secs(30) && took >= Duration::from_secs(19), "{took:?}");
    server.cut_off("pod", false);
    assert_eq!(timeout(Duration::from_secs(30), permit.renewed()).await, Ok(Ok(())));
    assert_eq!(permit.check(), Err(FencedError::Expired), "the parents must be listed again first");
    assert_eq!(permit.resume(), Ok(()));
}
