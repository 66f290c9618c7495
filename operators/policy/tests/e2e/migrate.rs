//! `webtroller migrate check` of a real cluster that has Gatekeeper's kinds.

use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::operator::webtroller;
use crate::rights::acting_as;
use crate::{gatekeeper, helm};

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
        self.check_as(self.plane.kubeconfig()).await
    }

    async fn check_as(&self, kubeconfig: &std::path::Path) -> (i32, Value) {
        let mut command = webtroller();
        command.args(["migrate", "check", "-o", "json"]).env("KUBECONFIG", kubeconfig);
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

/// An account that reads everything but webhook configurations: what it found stands, and what is not known is named.
#[tokio::test]
async fn a_kind_that_may_not_be_listed_is_named_and_the_check_is_not_complete() {
    let cluster = Cluster::start().await;
    cluster.apply(READER).await;
    let folder = tempfile::tempdir().unwrap();
    let reader = acting_as(&cluster.plane, "reader", folder.path());
    let (code, report) = cluster.check_as(&reader).await;
    let problems = report["problems"].as_array().unwrap();
    assert_eq!((code, problems.len()), (2, 1), "{report:#}");
    let expected = "ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1) cannot be listed";
    assert!(problems[0].as_str().unwrap().contains(expected), "{report:#}");
}

/// The command of docs/migrate.md. Helm 4 applies the CRDs of a chart by the server, and refuses to where webtroller owns fields.
#[tokio::test]
async fn on_the_way_back_gatekeepers_chart_is_installed_over_the_crds_of_webtroller() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    // Beside Gatekeeper they would have names of their own.
    operator.stop().await;
    cluster.must(&["delete", "validatingwebhookconfiguration", "--all"]).await;
    cluster.must(&["delete", "secret", "gatekeeper-webhook-server-cert", "-n", NAMESPACE]).await;
    let page = std::fs::read_to_string(workspace("docs/migrate.md")).unwrap();
    let command = page
        .lines()
        .find_map(|line| line.strip_prefix("helm install gatekeeper gatekeeper/gatekeeper "))
        .unwrap();
    assert!(command.contains("--version 3.23.1 "), "{command}");
    let chart = gatekeeper::file("charts/gatekeeper");
    // Without pods no hook ends. The version is that of the module.
    let hooks = "postInstall.labelNamespace.enabled=false,postInstall.probeWebhook.enabled=false,upgradeCRDs.enabled=false";
    let words = command.replace("--version 3.23.1 ", "").replace("--wait ", "");
    let install = ["install", "gatekeeper", chart.to_str().unwrap(), "--set", hooks];
    let args: Vec<_> = install.into_iter().chain(words.split_whitespace()).collect();
    let kubeconfig = Some(cluster.plane.kubeconfig());
    let by_server: Vec<_> = args.iter().copied().filter(|word| *word != "--server-side=false").collect();
    assert_ne!(by_server.len(), args.len(), "{command}");
    let refused = helm::refused(kubeconfig, &by_server).await;
    assert!(refused.contains("conflict with \"webtroller\""), "{refused}");
    helm::helm(kubeconfig, &args).await;
    let kept = cluster.get(&["k8sreplicalimits/three-to-ten-replicas"], "{.metadata.name}").await;
    assert_eq!(kept, "three-to-ten-replicas");
    cluster.must(&["get", "crd", "assign.mutations.gatekeeper.sh"]).await;
}

const READER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: ['', apps], resources: ['*'], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: gatekeeper-system}]
";
