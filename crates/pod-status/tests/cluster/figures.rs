//! The number of writes that one change of a policy costs, as the API server's audit log has it.

use control_plane::ControlPlane;
use serde_json::json;
use tokio::time::timeout;

use crate::scene::{LONG, Scene, condition, enforced};

/// Accepted writes of reports in the namespace, and of the status of the policy.
fn writes(plane: &ControlPlane, scene: &Scene, policy: &str) -> (usize, usize) {
    let (reports, status) =
        (format!("/{}/podreports/", scene.namespace), format!("/policies/{policy}/status"));
    let log = plane.audit_log().unwrap();
    let count = |part: &str| {
        let is_write = |event: &&serde_json::Value| {
            event["verb"] == "patch" && event["requestURI"].as_str().is_some_and(|uri| uri.contains(part))
        };
        log.iter().filter(is_write).count()
    };
    (count(&reports), count(&status))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_costs_one_write_per_pod_and_a_few_of_the_status() {
    let plane = ControlPlane::shared().await.unwrap();
    for pods in [3, 10] {
        let name = format!("writes-{pods}");
        let scene = Scene::new(plane, &name).await;
        let _aggregator = scene.aggregator("one");
        let mut reporters = Vec::new();
        for number in 0..pods {
            let identity = scene.pod(&format!("pod-{number}"), &["webhook"]).await;
            reporters.push(scene.reporter(&identity).await);
        }
        let report = |key: &pod_status::ParentKey, generation: i64| {
            reporters.iter().for_each(|(reporter, _)| reporter.ingested(key, generation, Ok(()), enforced()));
        };
        let (key, generation) = scene.policy(&name, json!({"n": 1})).await;
        report(&key, generation);
        scene.status(&name, |status| condition(status, "Enforced").0 == "True").await;
        let before = writes(plane, &scene, &name);

        let (key, generation) = scene.policy(&name, json!({"n": 2})).await;
        report(&key, generation);
        let is_done = |status: &serde_json::Value| {
            status["observedGeneration"] == 2 && condition(status, "Enforced").0 == "True"
        };
        scene.status(&name, is_done).await;
        for (reporter, _) in &reporters {
            timeout(LONG, reporter.flush()).await.unwrap().unwrap();
        }
        let after = writes(plane, &scene, &name);
        let (reports, statuses) = (after.0 - before.0, after.1 - before.1);
        println!("{pods} pods: {reports} writes of reports and {statuses} of the status for one change");
        assert!(reports <= pods, "{reports} writes of reports");
        assert!((1..=4).contains(&statuses), "{statuses} writes of the status");

        let wait = [
            "wait",
            "--for=condition=Enforced",
            "--timeout=60s",
            &format!("policies.test.webtroller.dev/{name}"),
        ];
        let waited = plane.kubectl().args(wait).output().await.unwrap();
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    }
}
