//! The label that takes a Namespace out of enforcement: only exempt Namespaces may carry it.

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::operator::Operator;

const LABEL: &str = "admission.gatekeeper.sh/ignore";

fn namespace(name: &str, labels: &str) -> String {
    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {{{labels}}}}}}}")
}

#[tokio::test]
async fn only_exempt_namespaces_may_carry_the_ignore_label() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, &cluster.pod_uid];
    let more =
        ["--exempt-namespace=allowed", "--exempt-namespace-prefix=team-", "--exempt-namespace-suffix=-ci"];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &more).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    let labelled = format!("\"{LABEL}\": \"\"");

    for name in ["allowed", "team-a", "a-ci"] {
        cluster.apply(&namespace(name, &labelled)).await;
    }
    for name in ["forbidden", "a-team-a", "ci-a"] {
        let refused = cluster.feed(&["apply", "-f", "-"], &namespace(name, &labelled)).await;
        let message = format!("Only exempt namespace can have the {LABEL} label");
        assert!(!refused.success && refused.stderr.contains(&message), "{name}: {}", refused.stderr);
        // Without the label it is created, and cannot get the label later.
        cluster.apply(&namespace(name, "")).await;
        let refused = cluster.kubectl(&["label", "namespace", name, &format!("{LABEL}=yes")]).await;
        assert!(!refused.success && refused.stderr.contains(&message), "{name}: {}", refused.stderr);
    }
    // The operator's own Namespace is never asked about, and what carries the label is not judged.
    cluster.must(&["label", "namespace", NAMESPACE, &format!("{LABEL}=yes")]).await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let manifest = std::fs::read_to_string(&bad).unwrap().replace("  namespace: default\n", "");
    for (name, admitted) in [("allowed", true), ("forbidden", false)] {
        let answer = cluster.feed(&["create", "--dry-run=server", "-n", name, "-f", "-"], &manifest).await;
        assert_eq!(answer.success, admitted, "in {name}: {}", answer.stderr);
    }
    operator.stop().await;
}
