//! `/` of the health port, as a person sees it.

use std::time::Duration;

use tokio::time::{interval, timeout};

use crate::cluster::{Cluster, workspace};
use crate::operator::{Operator, PATIENCE};

impl Operator {
    /// Reads the page until it has this.
    async fn until_page(&self, expected: &str) -> String {
        let mut page = String::new();
        let reading = async {
            let mut ticks = interval(Duration::from_millis(200));
            while !page.contains(expected) {
                ticks.tick().await;
                page = self.page().await;
            }
        };
        if timeout(PATIENCE, reading).await.is_err() {
            panic!("{expected} is not on the page:\n{page}");
        }
        page
    }
}

#[tokio::test]
async fn the_page_shows_policies_pods_denials_and_costs() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    assert!(!cluster.kubectl(&["create", "-f", bad.to_str().unwrap()]).await.success);
    cluster
        .apply(
            "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sReplicaLimits, metadata: {name: other}, \
             spec: {enforcementAction: dryrun, match: {namespaces: [nowhere]}, parameters: {ranges: []}}}",
        )
        .await;
    cluster.enforced("k8sreplicalimits/other").await;
    let other =
        operator.until_page("K8sReplicaLimits/other</td><td>dryrun</td><td><span class=\"good\">yes").await;
    let page = operator
        .until_page("K8sReplicaLimits/three-to-ten-replicas</td><td>deny</td><td><span class=\"good\">yes")
        .await;
    assert!(other.contains("ConstraintTemplate/k8sreplicalimits"), "{other}");
    for expected in [
        "<p class=\"good\">ready</p>",
        "webtroller-0 <span class=\"good\">enforces</span>",
        "<td>CREATE</td><td>Deployment default/storefront</td><td>K8sReplicaLimits/three-to-ten-replicas</td>",
        "<td>K8sReplicaLimits</td><td>1</td><td>0</td>",
    ] {
        assert!(page.contains(expected), "{expected} is missing:\n{page}");
    }
    // For the picture in docs/metrics.md.
    if let Some(path) = std::env::var_os("WEBTROLLER_STATUS_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    operator.stop().await;
}
