//! The count of the members: each pod that the watch does not show is asked about by itself, and each report of a dead one
//! deleted by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use crate::aggregator::{
    is_true, policy_path, put_member, put_policy, put_report, run, start, update_policy,
};
use crate::api::Server;

const PODS: &str = "/api/v1/namespaces/ns/pods/";

/// `a`, `b` and `c` enforce generation 1 of `p`.
async fn scene() -> (Server, tokio::task::JoinHandle<()>) {
    let server = Server::default();
    put_policy(&server, "p", 1);
    for id in ["a", "b", "c"] {
        put_member(&server, &run(id), &["p"], 1);
    }
    let aggregator = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(3)).await;
    assert!(is_true(&server, "p"));
    (server, aggregator)
}

fn update(server: &Server, generation: i64) {
    update_policy(server, "p", generation);
    put_report(server, &run("a"), 1, &["p"], generation);
}

fn status(server: &Server) -> Value {
    server.get(&policy_path("p")).unwrap()["status"].clone()
}

/// The pods in `byPod`, and the observed generation.
fn shown(server: &Server) -> (Vec<String>, Value) {
    let status = status(server);
    let by_pod = status["byPod"].as_array().unwrap();
    let ids = by_pod.iter().map(|entry| entry["id"].as_str().unwrap().to_owned());
    (ids.collect(), status["observedGeneration"].clone())
}

fn requests(server: &Server, path: &str) -> usize {
    server.seen().iter().filter(|seen| seen.path.contains(path)).count()
}

/// Two pods are deleted, and the API server answers about one of them only.
#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_asked_about_is_waited_for_and_delays_no_other() {
    for is_answered in [true, false] {
        let (server, _aggregator) = scene().await;
        if is_answered {
            server.refuse_reads("/pods/c", true);
        } else {
            server.leave_unanswered("/pods/c");
        }
        ["b", "c"].iter().for_each(|id| server.delete(&format!("{PODS}{id}")));
        sleep(Duration::from_secs(10)).await;
        for generation in 2..32 {
            update(&server, generation);
            sleep(Duration::from_secs(5)).await;
            assert_eq!(shown(&server), (vec!["a".into(), "c".into()], generation.into()), "{is_answered}");
            assert!(!is_true(&server, "p"), "it may still serve");
        }
        let asked = requests(&server, "/pods/c");
        assert!((3..=20).contains(&asked), "{asked} requests in 160 s");
        if is_answered {
            server.refuse_reads("/pods/c", false);
            sleep(Duration::from_secs(65)).await;
            assert!(is_true(&server, "p"), "it is asked about again without any event");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_reports_of_a_dead_pod_are_deleted_when_that_is_possible_again() {
    let (server, _aggregator) = scene().await;
    let left = |server: &Server| server.objects("/podreports/b-").len();
    server.refuse("/podreports/b-", 500, true);
    server.delete(&format!("{PODS}b"));
    sleep(Duration::from_secs(300)).await;
    assert_eq!((left(&server), shown(&server).0), (2, vec!["a".into(), "c".into()]));
    let sent = requests(&server, "/podreports/b-");
    assert!((6..=40).contains(&sent), "{sent} requests in five minutes");
    server.refuse("/podreports/b-", 500, false);
    sleep(Duration::from_secs(65)).await;
    assert_eq!(left(&server), 0, "nothing else happens");
}

#[tokio::test(start_paused = true)]
async fn a_report_whose_deletion_is_not_answered_delays_no_status() {
    let (server, _aggregator) = scene().await;
    server.leave_unanswered("/podreports/b-");
    ["b", "c"].iter().for_each(|id| server.delete(&format!("{PODS}{id}")));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(server.objects("/podreports/c-").len(), 0);
    for generation in 2..22 {
        update(&server, generation);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(shown(&server), (vec!["a".into()], generation.into()));
        assert!(is_true(&server, "p"));
    }
}

/// 320 decisions take 20 s here. Pod `b` reports that it has none of the policies while most of them wait for their turn: only
/// those that are under way are decided by what it reported before.
#[tokio::test(start_paused = true)]
async fn a_decision_that_waits_for_its_turn_is_made_by_the_newest_reports() {
    let server = Server::default();
    let names: Vec<String> = (0..320).map(|number| format!("p{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().for_each(|name| put_policy(&server, name, 2));
    ["a", "b"].iter().for_each(|id| put_member(&server, &run(id), &names, 2));
    server.set_latency(Duration::from_secs(1));
    let _aggregator = start(&server, "one", &names);
    let enforced = || names.iter().copied().filter(|name| is_true(&server, name)).collect::<BTreeSet<_>>();
    while enforced().is_empty() {
        sleep(Duration::from_secs(1)).await;
    }
    put_report(&server, &run("b"), 1, &names, 1);
    let mut ever = enforced();
    for _ in 0..120 {
        sleep(Duration::from_secs(1)).await;
        ever.extend(enforced());
    }
    assert!(enforced().is_empty());
    assert!(ever.len() <= 160, "{} of 320 became enforced", ever.len());
}
