//! The order of decisions, and that none waits for what is asked beside it.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::aggregator::{
    is_true, policy_path, put_member, put_policy, put_report, run, start, update_policy,
};
use crate::api::Server;

const REPORTS: &str = "/apis/status.webtroller.dev/v1alpha1/namespaces/ns/podreports";

/// `a` and `b` enforce generation 1 of many policies and of `z`, the last by name.
async fn scene(names: &[&str]) -> (Server, tokio::task::JoinHandle<()>) {
    let server = Server::default();
    let all: Vec<&str> = names.iter().copied().chain(["z"]).collect();
    all.iter().for_each(|name| put_policy(&server, name, 1));
    for id in ["a", "b"] {
        put_member(&server, &run(id), names, 1);
        put_report(&server, &run(id), 2, &["z"], 1);
    }
    let aggregator = start(&server, "one", &all);
    while !all.iter().all(|name| is_true(&server, name)) {
        sleep(Duration::from_secs(1)).await;
    }
    (server, aggregator)
}

fn update_all(server: &Server, names: &[&str]) {
    names.iter().for_each(|name| update_policy(server, name, 2));
    ["a", "b"].iter().for_each(|id| put_report(server, &run(id), 1, names, 2));
}

/// `b` says that it does not enforce `z` any more. Returns how long its status claims that it does.
async fn lie(server: &Server) -> Duration {
    let began = Instant::now();
    server.edit(&format!("{REPORTS}/b-2"), |report| {
        report["entries"][0]["errors"] = json!([{"message": "its template is broken"}]);
    });
    while is_true(server, "z") {
        assert!(began.elapsed() < Duration::from_secs(300), "it is never revoked");
        sleep(Duration::from_millis(100)).await;
    }
    began.elapsed()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number:03}")).collect()
}

/// 640 decisions of two requests each, 32 at a time, a second for a request: 40 s.
#[tokio::test(start_paused = true)]
async fn a_status_that_claims_too_much_is_revoked_before_all_other_decisions() {
    let names = names(640);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (server, _aggregator) = scene(&names).await;
    server.set_latency(Duration::from_secs(1));
    update_all(&server, &names);
    sleep(Duration::from_secs(6)).await;
    let lie = lie(&server).await;
    assert!(lie < Duration::from_secs(7), "{lie:?}: the wait for silence, a list, a read and a write");
    let behind = names
        .iter()
        .filter(|name| server.get(&policy_path(name)).unwrap()["status"]["observedGeneration"] == 1);
    assert!(behind.count() > 300, "the others still wait for their turn");
}

/// As many decisions as are made at a time wait for answers that do not come.
#[tokio::test(start_paused = true)]
async fn a_status_that_claims_too_much_is_revoked_beside_decisions_that_are_not_answered() {
    let names = names(100);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (server, _aggregator) = scene(&names).await;
    server.leave_unanswered("policies/p");
    update_all(&server, &names);
    sleep(Duration::from_secs(6)).await;
    let lie = lie(&server).await;
    assert!(lie < Duration::from_secs(3), "{lie:?}");
}

#[tokio::test(start_paused = true)]
async fn decisions_go_on_while_the_registrations_are_listed() {
    let names = names(200);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (server, _aggregator) = scene(&names).await;
    server.set_latency(Duration::from_secs(1));
    update_all(&server, &names);
    sleep(Duration::from_secs(6)).await;
    server.leave_unanswered("podreports");
    // Another batch begins, and its list of the registrations is not answered for half a minute.
    server.edit(&format!("{REPORTS}/b-2"), |report| report["entries"][0]["generation"] = 2.into());
    sleep(Duration::from_secs(15)).await;
    let behind = names
        .iter()
        .filter(|name| server.get(&policy_path(name)).unwrap()["status"]["observedGeneration"] == 1);
    assert_eq!(behind.count(), 0, "they were decided about before the list began");
}
