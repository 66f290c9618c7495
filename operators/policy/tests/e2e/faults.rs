//! Faults around one operator: an API server that is away, rights that are missing, and other clients that change what
//! the operator wrote.

use std::path::PathBuf;
use std::time::Instant;

use control_plane::Component;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::operator::Operator;
use crate::rights::acting_as;

const CONFIGURATION: &str = "validatingwebhookconfigurations/gatekeeper-validating-webhook-configuration";

#[tokio::test]
async fn an_api_server_that_is_away_is_waited_for_and_named_and_does_not_hold_up_the_end() {
    let mut cluster = Cluster::start().await;
    cluster.plane.kill(Component::ApiServer);
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let mut operator = Operator::launch(&cluster.shipped, identity, "127.0.0.1").await;
    let warning = operator.log("cannot start yet, will retry").await;
    let address = warning["api_server"].as_str().unwrap();
    assert!(address.starts_with("https://127.0.0.1:"), "{warning}");
    let (code, body) = operator.readyz().await;
    assert!(code == 503 && body.contains(address), "{body}");

    cluster.plane.restart(Component::ApiServer).await.unwrap();
    operator.log("webhook registered").await;
    assert_eq!(operator.readyz().await.0, 200);
    // A report that cannot be stored does not keep the process alive beyond the grace period.
    cluster.apply_file(&workspace("examples/quickstart/template.yaml")).await;
    cluster.plane.kill(Component::ApiServer);
    let asked = Instant::now();
    operator.stop().await;
    assert!(asked.elapsed().as_secs() < 20, "{:?}", asked.elapsed());
}

/// A kubeconfig by which the operator acts as another service account, with the rights of the role `restricted`.
pub(crate) async fn service_account(cluster: &Cluster, folder: &tempfile::TempDir) -> PathBuf {
    let account = format!("--serviceaccount={NAMESPACE}:default");
    cluster.must(&["create", "clusterrolebinding", "restricted", "--clusterrole=restricted", &account]).await;
    acting_as(&cluster.plane, "default", folder.path())
}

/// The rights of the operator; those on constraints and on webhook configurations only where they are asked for.
pub(crate) fn role(constraints: &str, configurations: &str) -> String {
    format!(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: restricted}}
rules:
- {{apiGroups: [''], resources: [namespaces, pods, secrets], verbs: ['*']}}
- {{apiGroups: [apiextensions.k8s.io], resources: ['*'], verbs: ['*']}}
- {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ['*']}}
- apiGroups: [templates.gatekeeper.sh, config.gatekeeper.sh, syncset.gatekeeper.sh, status.webtroller.dev, enforcement.webtroller.dev]
  resources: ['*']
  verbs: ['*']
- {{apiGroups: [constraints.gatekeeper.sh], resources: ['*/status'], verbs: ['*']}}
- {{apiGroups: [constraints.gatekeeper.sh], resources: ['*'], verbs: [{constraints}]}}
- {{apiGroups: [admissionregistration.k8s.io], resources: ['*'], verbs: [{configurations}]}}
"
    )
}

#[tokio::test]
async fn a_ready_pod_that_may_no_longer_watch_a_kind_becomes_unready_until_it_may() {
    let mut cluster = Cluster::start().await;
    let first = cluster.operator().await;
    cluster.quickstart().await;
    first.stop().await;
    cluster.must(&["delete", CONFIGURATION]).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = service_account(&cluster, &folder).await;
    cluster.apply(&role("'*'", "'*'")).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operator = Operator::start_ready(&kubeconfig, identity).await;

    cluster.apply(&role("get", "'*'")).await;
    // A watch that is open stays open; a restart closes it.
    cluster.plane.restart(Component::ApiServer).await.unwrap();
    let body = operator.until_readyz(|code, body| code == 503 && body.contains("K8sReplicaLimits")).await;
    assert!(body.contains("forbidden"), "{body}");
    cluster.apply(&role("'*'", "'*'")).await;
    operator.until_readyz(|code, _| code == 200).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_pod_without_rights_is_not_ready_and_says_which_and_a_broken_registration_is_not_enforced() {
    let cluster = Cluster::start().await;
    let first = cluster.operator().await;
    cluster.quickstart().await;
    first.stop().await;
    cluster.must(&["delete", CONFIGURATION]).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = service_account(&cluster, &folder).await;
    cluster.apply(&role("get", "'*'")).await;

    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let mut operator = Operator::start(&kubeconfig, identity).await;
    let body = operator.until_readyz(|code, body| code == 503 && body.contains("forbidden")).await;
    assert!(body.contains("K8sReplicaLimits"), "{body}");
    cluster.apply(&role("get, list, watch, patch, update", "get, list, watch")).await;
    operator.until_readyz(|code, _| code == 200).await;

    // It may not register itself, and says so until it may.
    let constraint = "k8sreplicalimits/three-to-ten-replicas";
    let not_enforced = ["wait", "--for=condition=Enforced=False", "--timeout=60s", constraint];
    cluster.must(&not_enforced).await;
    let point = "{.status.byPod[0].enforcementPointsStatus[0].message}";
    let message = cluster.get(&["k8sreplicalimits", "three-to-ten-replicas"], point).await;
    assert!(message.contains("gatekeeper-validating-webhook-configuration"), "{message}");
    cluster.apply(&role("get, list, watch, patch, update", "'*'")).await;
    operator.log("webhook registered").await;
    cluster.enforced(constraint).await;

    // What others change is restored: a deletion, a foreign webhook, another authority.
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let stale = r#"[{"op": "add", "path": "/webhooks/-", "value": {"name": "leftover.gatekeeper.sh",
        "clientConfig": {"url": "https://127.0.0.1:1/v1/admitlabel"}, "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "failurePolicy": "Fail", "rules": [{"operations": ["*"], "apiGroups": [""],
        "apiVersions": ["v1"], "resources": ["namespaces"]}]}}]"#;
    let authority = r#"[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": null}]"#;
    let edits: [&[&str]; 3] = [
        &["delete", CONFIGURATION],
        &["patch", CONFIGURATION, "--type=json", "-p", stale],
        &["patch", CONFIGURATION, "--type=json", "-p", authority],
    ];
    let parts = "{.webhooks[*].name} {.webhooks[0].clientConfig.caBundle}";
    let good = cluster.get(&[CONFIGURATION], parts).await;
    for (count, edit) in edits.into_iter().enumerate() {
        cluster.must(edit).await;
        let restored = format!("object=\"webhook configuration\"}} {}\n", count + 1);
        operator.until_metrics(|text| text.contains(&restored)).await;
        cluster.until(&[CONFIGURATION], parts, &good).await;
        cluster.enforced(constraint).await;
        let refused = cluster.kubectl(&["create", "--dry-run=server", "-f", bad.to_str().unwrap()]).await;
        assert!(refused.stderr.contains("[three-to-ten-replicas]"), "{}", refused.stderr);
    }
    operator.stop().await;
}

#[tokio::test]
async fn an_own_crd_that_another_client_deletes_or_replaces_is_restored() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let sync_sets = "crd/syncsets.syncset.gatekeeper.sh";
    cluster.must(&["delete", sync_sets]).await;
    cluster.must(&["wait", "--for=create", "--timeout=30s", sync_sets]).await;
    // Gatekeeper's chart has a status without conditions.
    let without = r#"[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status",
        "value": {"type": "object", "properties": {"created": {"type": "boolean"}}}}]"#;
    let templates = "crd/constrainttemplates.templates.gatekeeper.sh";
    cluster.must(&["patch", templates, "--type=json", "-p", without]).await;
    operator.until_metrics(|text| text.contains("object=\"own CRD\"} 2\n")).await;
    let path = "{.spec.versions[0].schema.openAPIV3Schema.properties.status}";
    let status = cluster.get(&[templates], path).await;
    assert!(status.contains("x-kubernetes-preserve-unknown-fields"), "{status}");

    // The watches go on: a SyncSet of the new CRD is taken in.
    cluster.must(&["wait", "--for=condition=Established", "--timeout=30s", sync_sets]).await;
    let sync = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: s}, \
                spec: {gvks: [{group: '', version: v1, kind: Service}]}}";
    cluster.apply(sync).await;
    cluster.must(&["wait", "--for=condition=Ingested", "--timeout=60s", "syncset/s"]).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_config_that_does_not_count_says_so_and_keeps_no_pod_from_becoming_ready() {
    let cluster = Cluster::start().await;
    cluster.operator().await.stop().await;
    cluster.must(&["delete", CONFIGURATION]).await;
    for namespace in [NAMESPACE, "default"] {
        let config = format!(
            "{{apiVersion: config.gatekeeper.sh/v1alpha1, kind: Config, \
             metadata: {{name: config, namespace: {namespace}}}, \
             spec: {{sync: {{syncOnly: [{{group: '', version: v1, kind: Service}}]}}}}}}"
        );
        cluster.apply(&config).await;
    }
    let operator = cluster.operator().await;
    let wait = |condition| ["wait", "--timeout=60s", "config/config", condition, "-n"];
    cluster.must(&[&wait("--for=condition=Ingested")[..], &[NAMESPACE]].concat()).await;
    cluster.must(&[&wait("--for=condition=Ingested=False")[..], &["default"]].concat()).await;
    let path = "{.status.byPod[0].errors[0].message}";
    let message = cluster.get(&["config", "config", "-n", "default"], path).await;
    assert!(message.contains("gatekeeper-system/config"), "{message}");
    operator.stop().await;
}
