//! `webtroller migrate check` of a real cluster that has Gatekeeper's kinds.

use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE};
use crate::operator::webtroller;

/// Kinds of Gatekeeper that the operator does not install.
const ASSIGN: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: assign.mutations.gatekeeper.sh}
spec:
  group: mutations.gatekeeper.sh
  scope: Cluster
  names: {kind: Assign, plural: assign, singular: assign}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

impl Cluster {
    /// The exit code, and the report.
    async fn check(&self) -> (i32, Value) {
        let mut command = webtroller();
        command.args(["migrate", "check", "-o", "json"]).env("KUBECONFIG", self.plane.kubeconfig());
        let output = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        (output.status.code().unwrap(), report)
    }
}

fn rules(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_cluster_is_checked_by_its_policies_its_objects_and_what_has_no_effect() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    operator.stop().await;

    // The operator's own webhook configuration is not reported as one of Gatekeeper's.
    let (code, report) = cluster.check().await;
    assert_eq!((code, rules(&report)), (0, vec![]), "{report:#}");
    assert_eq!(report["inUse"]["constraints"], 1, "{report:#}");
    assert_eq!(report["problems"], Value::Array(Vec::new()));

    let webhook = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
    cluster.must(&["delete", webhook]).await;
    cluster.apply(ASSIGN).await;
    cluster.must(&["wait", "--for=condition=Established", "crd/assign.mutations.gatekeeper.sh"]).await;
    cluster
        .apply("{apiVersion: mutations.gatekeeper.sh/v1, kind: Assign, metadata: {name: a}, spec: {}}")
        .await;
    cluster
        .apply(
            "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: K8sReplicaLimits, metadata: {name: leases}, spec: \
             {match: {kinds: [{apiGroups: [coordination.k8s.io], kinds: [Lease]}]}, \
             parameters: {ranges: []}}}",
        )
        .await;
    let million = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NAMESPACE}, spec: {replicas: 1000000, \
                   selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: \
                   [{name: c, image: example.com/c}]}}}}";
    cluster.apply(&million.replace("NAMESPACE", NAMESPACE)).await;
    let (code, report) = cluster.check().await;
    assert_eq!((code, rules(&report)), (1, vec!["mutator", "lockout", "numbers-in-messages"]), "{report:#}");
    assert_eq!(report["findings"][2]["object"], "K8sReplicaLimits three-to-ten-replicas", "{report:#}");
}
