//! `status.summary`, which schemas that do not know it drop.

use std::time::Duration;

use pod_status::{Aggregator, AggregatorConfig, ParentChanges, ParentRef, PodIdentity, Shape};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::aggregator::{parent, policy_path, put_member, put_policy, run, shape};
use crate::api::Server;

fn with_summary(parent: &ParentRef) -> Option<Shape> {
    shape(parent).map(Shape::summary)
}

fn start(server: &Server) -> (tokio::task::JoinHandle<()>, ParentChanges) {
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let aggregator = Aggregator::new(server.client("one"), AggregatorConfig::new(&identity, with_summary));
    let changes = aggregator.parent_changes();
    changes.changed(parent("p"));
    changes.all_announced();
    (tokio::spawn(aggregator.run(CancellationToken::new())), changes)
}

/// The number of writes of the status since the last call.
fn writes(server: &Server, before: &mut usize) -> usize {
    let path = format!("{}/status", policy_path("p"));
    let all = server.seen().iter().filter(|seen| seen.path == path).count();
    let new = all.checked_sub(*before).unwrap();
    *before = all;
    new
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_the_schema_drops_is_not_written_again_and_again() {
    let server = Server::default();
    put_policy(&server, "p", 1);
    put_member(&server, &run("a"), &["p"], 1);
    server.prune(Some("summary"));
    let (_aggregator, changes) = start(&server);
    let look = async |times: u64| {
        for _ in 0..times {
            // A host announces every change, also that of a status.
            changes.changed(parent("p"));
            sleep(Duration::from_secs(5)).await;
        }
    };
    let mut before = 0;
    look(20).await;
    assert_eq!(writes(&server, &mut before), 1);

    // The schema is repaired, and the field is tried again.
    server.prune(None);
    look(20).await;
    assert_eq!(writes(&server, &mut before), 0);
    sleep(Duration::from_secs(600)).await;
    look(20).await;
    assert_eq!(writes(&server, &mut before), 1);
    let status = &server.get(&policy_path("p")).unwrap()["status"];
    assert_eq!(status["summary"], json!({"pods": 1, "ingested": 1, "enforcing": 1, "failed": 0}));
}
