//! The statuses of parents that are new, and what the aggregator's own writes cause.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::aggregator::{
    enforced, is_true, parent, policy_path, put_member, put_policy, put_report, run, start, start_announcing,
};
use crate::api::Server;

const MOMENT: Duration = Duration::from_millis(1500);

/// A policy without a status, and a pod that has not reported it.
fn unreported() -> Server {
    let server = Server::default();
    put_member(&server, &run("a"), &[], 1);
    put_policy(&server, "p", 1);
    server
}

/// Requests for a parent: reads, and writes of its status.
fn requests(server: &Server, name: &str) -> (usize, usize) {
    let of = |verb: Method, path: String| {
        server.seen().iter().filter(|seen| seen.verb == verb && seen.path == path).count()
    };
    (of(Method::GET, policy_path(name)), of(Method::PATCH, format!("{}/status", policy_path(name))))
}

fn version(server: &Server, name: &str) -> String {
    server.get(&policy_path(name)).unwrap()["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// It had written into each of hundreds that no pod reports it, and a moment later that all do.
#[tokio::test(start_paused = true)]
async fn a_new_parent_that_is_reported_soon_has_one_status() {
    let server = unreported();
    let _aggregator = start(&server, "one", &["p"]);
    sleep(MOMENT).await;
    assert_eq!(requests(&server, "p"), (1, 0), "nothing to say yet");
    put_report(&server, &run("a"), 1, &["p"], 1);
    sleep(MOMENT).await;
    assert!(is_true(&server, "p"));
    assert_eq!(requests(&server, "p").1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_parent_that_no_pod_reports_has_a_status_after_five_seconds() {
    let server = unreported();
    let _aggregator = start(&server, "one", &["p"]);
    sleep(Duration::from_secs(6)).await;
    assert_eq!(enforced(&server, "p"), ("Unknown".to_owned(), "WaitingForPods".to_owned()));
    assert_eq!(requests(&server, "p").1, 1);
}

/// A status may be from before: a parent that has one is corrected at once.
#[tokio::test(start_paused = true)]
async fn a_parent_that_claims_what_no_pod_reports_is_corrected_at_once() {
    let server = unreported();
    server.edit(&policy_path("p"), |policy| {
        policy["status"] = json!({"conditions": [{
            "type": "Enforced", "status": "True", "reason": "Enforced", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
    });
    let _aggregator = start(&server, "one", &["p"]);
    sleep(MOMENT).await;
    assert_eq!(enforced(&server, "p"), ("Unknown".to_owned(), "WaitingForPods".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn the_aggregators_own_write_is_not_read_again_and_another_clients_is() {
    let server = Server::default();
    put_member(&server, &run("a"), &["p"], 1);
    put_policy(&server, "p", 1);
    let (_aggregator, changes) = start_announcing(server.client("one"), "one", &["p"]);
    changes.all_announced();
    sleep(MOMENT).await;
    let before = requests(&server, "p");
    assert_eq!(before, (1, 1));
    changes.changed_to(parent("p"), version(&server, "p"));
    sleep(MOMENT).await;
    assert_eq!(requests(&server, "p"), before);
    server.edit(&policy_path("p"), |policy| policy["status"] = json!({}));
    changes.changed_to(parent("p"), version(&server, "p"));
    sleep(MOMENT).await;
    assert!(is_true(&server, "p"), "written again");
    let after = requests(&server, "p");
    assert_eq!(after, (2, 2));
    changes.changed(parent("p"));
    sleep(MOMENT).await;
    assert_eq!(requests(&server, "p"), (3, 2), "a change without a version");
}
