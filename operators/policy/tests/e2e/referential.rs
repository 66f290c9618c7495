//! Policies that refer to other objects: in force only when those are there, and said so.

use crate::cluster::Cluster;

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: uniqueowner}
spec:
  crd: {spec: {names: {kind: UniqueOwner}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package uniqueowner
      violation[{"msg": msg}] {
        other := data.inventory.namespace[_][_].ConfigMap[name]
        name != input.review.name
        other.metadata.labels.owner == input.review.object.metadata.labels.owner
        msg := sprintf("%v has this owner already", [name])
      }
"#;

const CONSTRAINT: &str = "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: UniqueOwner, metadata: {name: a}, \
    spec: {match: {kinds: [{apiGroups: [''], kinds: [ConfigMap]}]}}}";

const SYNC_SET: &str = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: owners}, \
    spec: {gvks: [{group: '', version: v1, kind: ConfigMap}]}}";

fn owned(name: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{owner: me}}}}}}")
}

#[tokio::test]
async fn a_policy_whose_data_is_not_synced_is_not_enforced_and_says_what_is_missing() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply(&owned("first")).await;
    cluster.apply(TEMPLATE).await;
    cluster.enforced("constrainttemplate/uniqueowner").await;
    cluster.apply(CONSTRAINT).await;
    let message = "{.status.byPod[0].enforcementPointsStatus[0].message}";
    let missing = "its template refers to objects of kind ConfigMap, which no SyncSet names, nor the Config";
    let constraint = ["uniqueowner", "a"];
    cluster.until(&constraint, message, missing).await;
    let not_enforced = ["wait", "--for=condition=Enforced=False", "--timeout=60s", "uniqueowner/a"];
    cluster.must(&not_enforced).await;

    cluster.apply(SYNC_SET).await;
    cluster.enforced("uniqueowner/a").await;
    cluster.until(&constraint, message, "").await;
    let refused = cluster.feed(&["create", "-f", "-"], &owned("second")).await;
    assert!(refused.stderr.contains("first has this owner already"), "{}", refused.stderr);

    cluster.must(&["delete", "syncset", "owners"]).await;
    cluster.must(&not_enforced).await;
    cluster.until(&constraint, message, missing).await;
    operator.stop().await;
}
