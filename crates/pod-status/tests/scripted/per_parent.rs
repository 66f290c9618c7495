//! Reports in Gatekeeper's objects: they come by another watch than the registrations, and one may lag behind the other.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::readiness::{ErrorClass, GiveUpPolicy, OnError};
use pod_status::{
    Aggregator, AggregatorConfig, MissingSemantics, ParentKey, ParentRef, PodError, PodIdentity,
    PodStatusKind, ReadinessTracker, ReporterConfig, Shape, StatusReporter,
};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::api::Server;

const CONSTRAINT: &str = "/apis/constraints.gatekeeper.sh/v1beta1/k/c";

fn shape(_: &ParentRef) -> Option<Shape> {
    let resource = GroupVersionKind::gvk("constraints.gatekeeper.sh", "v1beta1", "K");
    let resource = ApiResource::from_gvk_with_plural(&resource, "k");
    Some(Shape::new(resource, "constraintUID").enforced_by(["webhook"]))
}

fn is_enforced(server: &Server) -> bool {
    let constraint = server.get(CONSTRAINT).unwrap();
    let conditions = constraint["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Enforced" && condition["status"] == "True")
}

async fn reporter(server: &Server, name: &str) -> StatusReporter {
    let identity = PodIdentity::detached("ns", name, ["webhook"]);
    let config =
        ReporterConfig::default().per_parent([PodStatusKind::CONSTRAINT]).acknowledged_within(Duration::MAX);
    let (reporter, driver) = StatusReporter::new(server.client(name), identity, config);
    tokio::spawn(driver.run(CancellationToken::new()));
    reporter.registered().await.unwrap();
    reporter
}

/// A pod that starts has ingested the constraint, and then lost what it needs. Its registration says that it serves without;
/// the watch of the entries has not said so yet.
#[tokio::test(start_paused = true)]
async fn a_pod_is_not_acknowledged_by_entries_that_are_older_than_its_registration() {
    let server = Server::default();
    let metadata = json!({"name": "c", "uid": "c-uid", "generation": 1});
    server.put(
        CONSTRAINT,
        json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K", "metadata": metadata}),
    );
    let key = ParentKey::new(ParentRef::new("constraints.gatekeeper.sh", "K", "c"), "c-uid");
    let identity = PodIdentity::detached("ns", "one", ["status"]);
    let config = AggregatorConfig::new(&identity, shape).per_parent([PodStatusKind::CONSTRAINT]);
    let aggregator = Aggregator::new(server.client("one"), config);
    let changes = aggregator.parent_changes();
    changes.changed(key.reference.clone());
    changes.all_announced();
    tokio::spawn(aggregator.run(CancellationToken::new()));

    let joining = reporter(&server, "b").await;
    let tracker = ReadinessTracker::new(GiveUpPolicy::default().permanent(OnError::GiveUp));
    let source = tracker.source("constraints").missing(MissingSemantics::Looser);
    tracker.seal();
    source.list_begins();
    source.expect(&key, 1);
    joining.ingested(&key, 1, Ok(()), Value::Null);
    sleep(Duration::from_secs(5)).await;
    assert!(is_enforced(&server));

    server.hold(Some("constraintpodstatuses"));
    joining.ingested(&key, 1, Err(PodError::new("compile", "no template").into()), Value::Null);
    source.fail(&key, 1, ErrorClass::Permanent, "no template");
    source.list_ends();
    let serves = tokio::spawn({
        let joining = joining.clone();
        async move { joining.may_serve(&tracker).await }
    });
    for _ in 0..200 {
        sleep(Duration::from_millis(100)).await;
        assert!(!serves.is_finished() || !is_enforced(&server), "it serves, and a status calls it enforced");
    }

    server.hold(None);
    while !serves.is_finished() {
        sleep(Duration::from_millis(5)).await;
    }
    assert!(!is_enforced(&server));
}
