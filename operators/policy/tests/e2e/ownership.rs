//! Constraint CRDs: templates that are deleted, replaced and edited while pods lag behind and garbage collection is
//! slow or stopped.

use control_plane::Component;
use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE};
use crate::operator::Operator;
use crate::proxy::Proxy;

const CRD: &str = "crd/marked.constraints.gatekeeper.sh";

/// A template whose constraints have the parameter `mark`, and `more` where that is asked for.
fn template(kind: &str, more: bool) -> String {
    let more = if more { ", more: {type: string}" } else { "" };
    format!(
        "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: marked}}
spec:
  crd:
    spec:
      names: {{kind: {kind}}}
      validation: {{openAPIV3Schema: {{type: object, properties: {{mark: {{type: string}}{more}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package marked
      violation[{{\"msg\": msg}}] {{ msg := input.parameters.mark; input.review.name == \"forbidden\" }}
"
    )
}

fn constraint(kind: &str) -> String {
    format!(
        "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: {kind}, metadata: {{name: a}}, \
         spec: {{parameters: {{mark: red, more: kept}}}}}}"
    )
}

/// Rounds of a test that takes long; few in CI.
fn rounds() -> u32 {
    std::env::var("WEBTROLLER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

async fn crd(cluster: &Cluster) -> Value {
    serde_json::from_str(&cluster.must(&["get", CRD, "-o", "json"]).await).unwrap()
}

#[tokio::test]
async fn a_template_replaced_and_edited_while_a_pod_lags_keeps_its_schema_and_its_constraints() {
    let cluster = Cluster::start().await;
    let prompt = cluster.operator().await;
    let proxy = Proxy::start(&cluster.shipped).await;
    let other = cluster.pod("webtroller-1").await;
    let slow = Operator::start_ready(proxy.kubeconfig(), ["webtroller-1", NAMESPACE, &other]).await;
    cluster.apply(&template("Marked", false)).await;
    cluster.enforced("constrainttemplate/marked").await;
    for _ in 0..rounds() {
        proxy.delay_millis(700);
        // The pod behind the proxy still works on these while the next ones are there.
        cluster.feed(&["replace", "--force", "-f", "-"], &template("Marked", false)).await;
        cluster.apply(&template("Marked", true)).await;
        // The constraint is there before anyone says that its template is enforced.
        cluster.must(&["wait", "--for=condition=Established", "--timeout=60s", CRD]).await;
        cluster.enforced("constrainttemplate/marked").await;
        cluster.apply(&constraint("Marked")).await;
        cluster.enforced("marked/a").await;
        proxy.delay_millis(0);
        cluster.must(&["annotate", "--overwrite", "constrainttemplate/marked", "round=done"]).await;
        cluster.enforced("marked/a").await;

        let uid = cluster.get(&["constrainttemplate", "marked"], "{.metadata.uid}").await;
        let crd = crd(&cluster).await;
        assert_eq!(crd["metadata"]["ownerReferences"][0]["uid"], uid.as_str());
        assert_eq!(cluster.get(&["marked", "a"], "{.spec.parameters.more}").await, "kept");
    }
    prompt.stop().await;
    slow.stop().await;
}

#[tokio::test]
async fn a_template_created_again_takes_over_while_garbage_collection_is_stopped() {
    let mut cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply(&template("Marked", false)).await;
    cluster.enforced("constrainttemplate/marked").await;
    cluster.plane.stop(Component::ControllerManager).await.unwrap();

    cluster.must(&["delete", "constrainttemplate", "marked"]).await;
    cluster.apply(&template("Marked", true)).await;
    cluster.enforced("constrainttemplate/marked").await;
    let uid = cluster.get(&["constrainttemplate", "marked"], "{.metadata.uid}").await;
    assert_eq!(crd(&cluster).await["metadata"]["ownerReferences"][0]["uid"], uid.as_str());

    // The spelling of a kind cannot change while its CRD is in use, and the message says so...
    cluster.apply(&template("MARKED", true)).await;
    cluster
        .must(&["wait", "--for=condition=Ingested=False", "--timeout=60s", "constrainttemplate/marked"])
        .await;
    let message =
        cluster.get(&["constrainttemplate", "marked"], "{.status.byPod[0].errors[0].message}").await;
    assert!(message.contains("restore the spelling"), "{message}");
    cluster.apply(&template("Marked", true)).await;
    cluster.enforced("constrainttemplate/marked").await;
    // ...but a template that is created again may spell it in another way.
    cluster.plane.restart(Component::ControllerManager).await.unwrap();
    cluster.must(&["delete", "constrainttemplate", "marked"]).await;
    cluster.apply(&template("MARKED", true)).await;
    cluster.enforced("constrainttemplate/marked").await;
    cluster.apply(&constraint("MARKED")).await;
    cluster.enforced("marked/a").await;
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: forbidden, namespace: default}}";
    let refused = cluster.feed(&["create", "--dry-run=server", "-f", "-"], manifest).await;
    assert!(refused.stderr.contains("red"), "{}", refused.stderr);

    // What another client changes is restored, and counted.
    let edit = r#"[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]"#;
    cluster.must(&["patch", CRD, "--type=json", "-p", edit]).await;
    let column = r#"--for=jsonpath={.spec.versions[0].additionalPrinterColumns[2].name}=enforced"#;
    cluster.must(&["wait", column, "--timeout=30s", CRD]).await;
    let metrics = operator.metrics().await;
    assert!(metrics.contains("webtroller_repairs_total{object=\"constraint CRD\"} 1\n"), "{metrics}");
    operator.stop().await;
}
