//! The number of writes that one change of a policy costs, as the API server's audit log has it.

use std::time::Duration;

use control_plane::ControlPlane;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scene::{LONG, condition, enforced};
use crate::transports::{PLACES, Stage};

/// Writes by the pods, wherever their reports are, and by the aggregator to the status of the constraint, once the log has more of
/// the latter than `before`.
async fn writes_after(
    plane: &ControlPlane,
    stage: &Stage,
    constraint: &str,
    before: usize,
) -> (usize, usize) {
    let (reports, status) =
        (format!("/namespaces/{}/pod", stage.scene.namespace), format!("/{constraint}/status?"));
    let statuses = format!("/namespaces/{}/constraintpodstatuses/", stage.scene.namespace);
    let count = |log: &[Value], is_counted: &dyn Fn(&str) -> bool| {
        let uris = log.iter().filter(|event| event["verb"] == "patch");
        uris.filter_map(|event| event["requestURI"].as_str()).filter(|uri| is_counted(uri)).count()
    };
    let by_aggregator =
        |uri: &str| uri.contains(&status) && uri.contains("fieldManager=pod-status-aggregator");
    let by_pod = |uri: &str| [&reports, &statuses, &status].iter().any(|part| uri.contains(*part));
    let log = plane.audit_log_until(|log| count(log, &by_aggregator) > before).await.unwrap();
    (count(&log, &|uri| by_pod(uri) && !by_aggregator(uri)), count(&log, &by_aggregator))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_costs_one_write_per_pod_and_a_few_of_the_status() {
    let plane = ControlPlane::shared().await.unwrap();
    for (place, pods) in PLACES.into_iter().flat_map(|place| [(place, 3), (place, 10)]) {
        let name = format!("writes-{place}-{pods}");
        let stage = Stage::at(plane, place, &name).await;
        stage.aggregate_after(Duration::from_millis(300));
        let mut reporters = Vec::new();
        for number in 0..pods {
            let identity = stage.scene.pod(&format!("pod-{number}"), &["webhook"]).await;
            reporters.push(stage.scene.reporter_with(&identity, stage.config()).await);
        }
        let report = |key: &pod_status::ParentKey, generation: i64| {
            reporters.iter().for_each(|(reporter, _)| reporter.ingested(key, generation, Ok(()), enforced()));
        };
        let (key, generation) = stage.constraint(&name, json!({"n": 1})).await;
        report(&key, generation);
        stage.until(&name, |status| condition(status, "Enforced").0 == "True").await;
        let before = writes_after(plane, &stage, &name, 0).await;

        let (key, generation) = stage.constraint(&name, json!({"n": 2})).await;
        report(&key, generation);
        let is_done =
            |status: &Value| status["observedGeneration"] == 2 && condition(status, "Enforced").0 == "True";
        stage.until(&name, is_done).await;
        for (reporter, _) in &reporters {
            timeout(LONG, reporter.flush()).await.unwrap().unwrap();
        }
        let after = writes_after(plane, &stage, &name, before.1).await;
        let (reports, statuses) = (after.0 - before.0, after.1 - before.1);
        println!(
            "{place}, {pods} pods: {reports} writes by the pods and {statuses} by the aggregator for one change"
        );
        assert!((1..=pods).contains(&reports), "{place}: {reports} writes by {pods} pods");
        // Two if the machine is not so busy that reports come one by one: then it is one for each, and one for the change.
        assert!((1..=pods + 1).contains(&statuses), "{place}: {statuses} writes of the status");

        let object = format!("k8srequiredlabels.constraints.gatekeeper.sh/{name}");
        let wait = ["wait", "--for=condition=Enforced", "--timeout=60s", &object];
        let waited = plane.kubectl().args(wait).output().await.unwrap();
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    }
}
