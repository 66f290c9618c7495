//! The first thing anyone sees: a Deployment with too few replicas is refused, and told why.

use crate::cluster::{Cluster, workspace};

#[tokio::test]
async fn a_policy_denies_a_bad_deployment() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;

    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let refused = cluster.kubectl(&["create", "-f", bad.to_str().unwrap()]).await;
    assert!(!refused.success, "{}", refused.stdout);
    let message = "denied the request: [three-to-ten-replicas] Deployment \"storefront\" asks for 2 replicas; allowed: 3 to 10.";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);

    let good = workspace("examples/quickstart/review/three-replicas.yaml");
    cluster.must(&["create", "-f", good.to_str().unwrap()]).await;
    let scaled =
        cluster.kubectl(&["patch", "deployment", "checkout", "-p", "{\"spec\":{\"replicas\":11}}"]).await;
    assert!(!scaled.success && scaled.stderr.contains("asks for 11 replicas"), "{}", scaled.stderr);

    let constraint = ["k8sreplicalimits", "three-to-ten-replicas"];
    let by_pod = "{.status.byPod[*].id} {.status.byPod[*].enforced} {.status.byPod[*].observedGeneration}";
    assert_eq!(cluster.get(&constraint, by_pod).await, "webtroller-0 true 1");
    assert_eq!(cluster.get(&["constrainttemplate", "k8sreplicalimits"], "{.status.created}").await, "true");
    operator.stop().await;
}

#[tokio::test]
async fn warnings_and_dry_runs_admit_and_a_deleted_policy_is_gone() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let constraint = "k8sreplicalimits/three-to-ten-replicas";
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let create = ["create", "--dry-run=server", "-f", bad.to_str().unwrap()];

    for (action, warns) in [("warn", true), ("dryrun", false)] {
        let patch = format!("{{\"spec\":{{\"enforcementAction\":\"{action}\"}}}}");
        cluster.must(&["patch", constraint, "--type=merge", "-p", &patch]).await;
        cluster.enforced(constraint).await;
        let answer = cluster.kubectl(&create).await;
        assert!(answer.success, "{action}: {}", answer.stderr);
        let warned = answer.stderr.contains("Warning: [three-to-ten-replicas] Deployment \"storefront\"");
        assert_eq!(warned, warns, "{action}: {}", answer.stderr);
    }

    // The template goes, and with it the CRD, the constraint and the policy.
    cluster.must(&["delete", "constrainttemplate", "k8sreplicalimits"]).await;
    let crd = "crd/k8sreplicalimits.constraints.gatekeeper.sh";
    cluster.must(&["wait", "--for=delete", "--timeout=120s", crd]).await;
    assert!(cluster.kubectl(&create).await.success);
    operator.stop().await;
}
