//! `--emit-admission-events`: each violation is one Event, and a repeated one raises its count.

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::operator::Operator;

const CONSTRAINT: &str = "k8sreplicalimits/three-to-ten-replicas";
/// What Gatekeeper writes behind its own words, in the operator's namespace.
const MESSAGE: &str = "Resource Namespace: default, Constraint: three-to-ten-replicas, Message: Deployment \"storefront\" asks for \
                       2 replicas; allowed: 3 to 10. Set spec.replicas accordingly.";

impl Cluster {
    async fn act(&self, action: &str) {
        let patch = format!("{{\"spec\":{{\"enforcementAction\":\"{action}\"}}}}");
        self.must(&["patch", CONSTRAINT, "--type=merge", "-p", &patch]).await;
        self.enforced(CONSTRAINT).await;
    }

    /// Reads the Events of a reason until they are as expected: message and count of each.
    async fn events(&self, namespace: &str, reason: &str, expected: &str) {
        let selector = format!("--field-selector=reason={reason}");
        let lines = "{range .items[*]}{.message} x{.count};{end}";
        self.until(&["events", "-n", namespace, &selector], lines, expected).await;
    }
}

#[tokio::test]
async fn denials_warnings_and_dry_runs_give_one_event_each_that_counts_repetitions() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--emit-admission-events"];
    let mut operator = Operator::start_with(cluster.plane.kubeconfig(), identity, &flags).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let create = ["create", "-f", bad.to_str().unwrap()];

    let denied = "Admission webhook \"validation.gatekeeper.sh\" denied request";
    for count in 1..=3 {
        assert!(!cluster.kubectl(&create).await.success);
        cluster.events(NAMESPACE, "FailedAdmission", &format!("{denied}, {MESSAGE} x{count};")).await;
    }
    let annotations = "{.items[0].metadata.annotations.constraint_action} \
                       {.items[0].metadata.annotations.request_username} {.items[0].type} \
                       {.items[0].source.component} {.items[0].involvedObject.uid}";
    let selector = "--field-selector=reason=FailedAdmission";
    let found = cluster.get(&["events", "-n", NAMESPACE, selector], annotations).await;
    let uid = "Deployment/default/storefront/K8sReplicaLimits//three-to-ten-replicas";
    assert_eq!(found, format!("deny admin Warning gatekeeper-webhook {uid}"));

    // Nothing is written for a request that writes nothing.
    cluster.kubectl(&[&create[..], &["--dry-run=server"]].concat()).await;
    cluster.act("warn").await;
    cluster.must(&create).await;
    cluster.must(&["annotate", "deployment/storefront", "a=b"]).await;
    let warned = "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request";
    cluster.events(NAMESPACE, "WarningAdmission", &format!("{warned}, {MESSAGE} x2;")).await;
    cluster.act("dryrun").await;
    cluster.must(&["annotate", "deployment/storefront", "a=c", "--overwrite"]).await;
    cluster.events(NAMESPACE, "DryrunViolation", &format!("Dryrun violation, {MESSAGE} x1;")).await;
    cluster.events(NAMESPACE, "FailedAdmission", &format!("{denied}, {MESSAGE} x3;")).await;

    let metrics = operator.metrics().await;
    let stored = "webtroller_events_total{component=\"gatekeeper-webhook\",result=\"stored\"} 6\n";
    assert!(metrics.contains(stored), "{metrics}");
    operator.stop().await;
}

/// The scenario "emit events test" of Gatekeeper's own suite.
#[tokio::test]
async fn events_may_be_beside_their_objects() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = [
        "--emit-admission-events",
        "--admission-events-involved-namespace",
        "--emit-audit-events",
        "--audit-events-involved-namespace",
    ];
    let mut operator = Operator::start_with(cluster.plane.kubeconfig(), identity, &flags).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    assert!(!cluster.kubectl(&["create", "-f", bad.to_str().unwrap()]).await.success);
    let message = MESSAGE.strip_prefix("Resource Namespace: default, ").unwrap();
    let denied = format!("Admission webhook \"validation.gatekeeper.sh\" denied request, {message} x1;");
    cluster.events("default", "FailedAdmission", &denied).await;
    cluster.act("dryrun").await;
    cluster.until(&[CONSTRAINT], "{.status.totalViolations}", "0").await;
    cluster.must(&["create", "-f", bad.to_str().unwrap()]).await;
    for reason in ["FailedAdmission", "DryrunViolation", "AuditViolation"] {
        let selector = format!("--field-selector=reason={reason}");
        let kinds = "{.items[*].metadata.annotations.constraint_kind}";
        cluster.until(&["events", "-n", "default", &selector], kinds, "K8sReplicaLimits").await;
    }
    operator.stop().await;
}
