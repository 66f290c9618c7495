//! Policies that refer to other objects: in force only when those are there, and said so.

use crate::cluster::NAMESPACE;
use crate::fleet::{Fleet, PODS};

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

/// Rounds of the test; few in CI.
fn rounds() -> usize {
    std::env::var("WEBTROLLER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Each pod refuses the creation of another object with the same owner.
async fn refused_by_each(fleet: &Fleet) {
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"second","namespace":"default","labels":{"owner":"me"}}}"#;
    let review = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE",
        "kind":{{"group":"","version":"v1","kind":"ConfigMap"}},"namespace":"default","name":"second","object":{object}}}}}"#
    );
    for answer in fleet.ask_each(&review).await {
        assert!(answer.contains("first has this owner already"), "{answer}");
    }
}

/// `Enforced` means that the data is in the inventory of each of three pods, one of which is slow in every round.
#[tokio::test]
async fn a_policy_whose_data_is_not_synced_is_not_enforced_and_says_what_is_missing() {
    let fleet = Fleet::start().await;
    let cluster = &fleet.cluster;
    cluster.apply(&owned("first")).await;
    cluster.apply(TEMPLATE).await;
    cluster.enforced("constrainttemplate/uniqueowner").await;
    cluster.apply(CONSTRAINT).await;
    let messages = "{range .status.byPod[*]}{.enforcementPointsStatus[0].message};{end}";
    let missing = "its template refers to objects of kind ConfigMap, which no SyncSet names, nor the Config;"
        .repeat(PODS);
    let constraint = ["uniqueowner", "a"];
    let not_enforced = ["wait", "--for=condition=Enforced=False", "--timeout=120s", "uniqueowner/a"];
    for round in 0..rounds() {
        cluster.until(&constraint, messages, &missing).await;
        cluster.must(&not_enforced).await;
        let slow = &fleet.proxies[round % PODS];
        slow.delay_millis(400);
        cluster.apply(SYNC_SET).await;
        cluster.enforced("uniqueowner/a").await;
        refused_by_each(&fleet).await;
        slow.delay_millis(0);
        cluster.until(&constraint, messages, &";".repeat(PODS)).await;
        let refused = cluster.feed(&["create", "-f", "-"], &owned("second")).await;
        assert!(refused.stderr.contains("first has this owner already"), "{}", refused.stderr);
        cluster.must(&["delete", "syncset", "owners"]).await;
    }
    cluster.must(&not_enforced).await;
    cluster.until(&constraint, messages, &missing).await;

    // Another client deletes the pods' reports, and then their CRD.
    cluster.apply(SYNC_SET).await;
    cluster.enforced("uniqueowner/a").await;
    cluster.must(&["delete", "podreports", "--all", "-n", NAMESPACE]).await;
    cluster.apply(&TEMPLATE.replace("already", "now")).await;
    cluster.enforced("constrainttemplate/uniqueowner").await;
    cluster.must(&["delete", "crd", "podreports.status.webtroller.dev"]).await;
    cluster.apply(TEMPLATE).await;
    cluster.enforced("constrainttemplate/uniqueowner").await;
    cluster.enforced("uniqueowner/a").await;
    refused_by_each(&fleet).await;

    // With the kind of SyncSets they go, too, and the data: nothing says that the policy is enforced without it.
    let sync_sets = "crd/syncsets.syncset.gatekeeper.sh";
    cluster.must(&["delete", sync_sets]).await;
    cluster.must(&not_enforced).await;
    cluster.until(&constraint, messages, &missing).await;
    cluster.must(&["wait", "--for=create", "--timeout=120s", sync_sets]).await;
    cluster.must(&["wait", "--for=condition=Established", "--timeout=120s", sync_sets]).await;
    cluster.apply(SYNC_SET).await;
    cluster.enforced("uniqueowner/a").await;
    refused_by_each(&fleet).await;
}
