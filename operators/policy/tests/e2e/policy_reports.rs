//! Reports of all violations, beside the statuses of constraints.

use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE};
use crate::operator::{Operator, webtroller};
use crate::scripted::{Fate, Scripted};

const POLICIES: &str = "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: needsteam}
spec:
  crd: {spec: {names: {kind: NeedsTeam}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package needsteam
      violation[{\"msg\": msg}] {
        not input.review.object.metadata.labels.team
        msg := sprintf(\"%v has no team\", [input.review.object.metadata.name])
      }
";

fn constraint(name: &str, action: &str, kind: &str) -> String {
    format!(
        "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: NeedsTeam, metadata: {{name: {name}}}, spec: \
         {{enforcementAction: {action}, match: {{labelSelector: {{matchLabels: {{audit: 'yes'}}}}, \
         kinds: [{{apiGroups: [''], kinds: [{kind}]}}]}}}}}}"
    )
}

const OBJECTS: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {audit: 'yes'}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop, labels: {audit: 'yes'}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop, labels: {audit: 'yes'}}}
";
const ROWS: &str = "{range .items[*].results[*]}{.rule} {.result} {.resources[0].kind} {.resources[0].name}: {.message};{end}";
const OF_SHOP: [&str; 3] = ["reports.openreports.io", "-n", "shop"];
const OF_CLUSTER: [&str; 1] = ["clusterreports.openreports.io"];
const ONE: &str = "maps warn ConfigMap one: one has no team;";
const TWO: &str = "maps warn ConfigMap two: two has no team;";

#[tokio::test]
async fn reports_hold_all_violations_and_follow_them() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--policy-reports=openreports", "--audit-interval=5"];
    let operator = Operator::start_with(&cluster.shipped, identity, &flags).await;
    cluster.apply(POLICIES).await;
    cluster.enforced("constrainttemplate/needsteam").await;
    cluster.apply(OBJECTS).await;
    cluster.apply(&constraint("maps", "warn", "ConfigMap")).await;
    cluster.apply(&constraint("spaces", "dryrun", "Namespace")).await;
    cluster.until(&OF_SHOP, ROWS, &format!("{ONE}{TWO}")).await;
    cluster.until(&OF_CLUSTER, ROWS, "spaces fail Namespace shop: shop has no team;").await;
    cluster.until(&OF_SHOP, "{.items[0].summary.warn} {.items[0].source}", "2 webtroller").await;
    assert_eq!(stored(&cluster).await, on_the_command_line(&cluster).await);

    // The action is changed, an object is deleted, a report is edited by hand, a constraint is deleted.
    cluster.apply(&constraint("spaces", "warn", "Namespace")).await;
    cluster.until(&OF_CLUSTER, ROWS, "spaces warn Namespace shop: shop has no team;").await;
    cluster.must(&["delete", "configmap", "one", "-n", "shop"]).await;
    cluster.until(&OF_SHOP, ROWS, TWO).await;
    let nothing = ["patch", "reports.openreports.io", "webtroller-0", "-n", "shop", "--type=merge"];
    cluster.must(&[nothing.as_slice(), &["-p", r#"{"results": []}"#]].concat()).await;
    cluster.until(&OF_SHOP, ROWS, TWO).await;
    cluster.must(&["delete", "needsteam", "spaces"]).await;
    cluster.until(&OF_CLUSTER, "{.items}", "[]").await;

    // Another process writes nothing before it knows what there is, and then nothing, because the reports say it already.
    operator.kill().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    let lease = ["patch", "lease", "webtroller-audit", "-n", NAMESPACE, "--type=merge", "-p"];
    let taken = r#"{"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}}"#;
    cluster.must(&[&lease[..], &[taken]].concat()).await;
    let proxy = Scripted::start(&cluster.shipped).await;
    let mut operator = Operator::start_with(proxy.kubeconfig(), identity, &flags).await;
    operator.log("webhook registered").await;
    let writes = reports_written(&cluster);
    proxy.script(|_, path| match path.split('?').next() {
        Some("/api" | "/apis") => Fate::Fail(503, "ServiceUnavailable"),
        _ => Fate::Pass,
    });
    cluster.must(&[&lease[..], &[r#"{"spec": {"holderIdentity": ""}}"#]].concat()).await;
    operator.log("the kinds to audit are not known").await;
    assert_eq!(reports_written(&cluster), writes);
    proxy.script(|_, _| Fate::Pass);
    operator.log("every object is judged; from here on those that change").await;
    cluster.until(&OF_SHOP, ROWS, TWO).await;
    assert_eq!(reports_written(&cluster), writes);

    // An object is deleted while no process audits.
    operator.kill().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.must(&["delete", "configmap", "two", "-n", "shop"]).await;
    let operator = Operator::start_with(&cluster.shipped, identity, &flags).await;
    cluster.until(&OF_SHOP, "{.items}", "[]").await;
    operator.stop().await;
}

/// Counts how often reports were written or deleted.
fn reports_written(cluster: &Cluster) -> usize {
    let log = cluster.plane.audit_log().unwrap().into_iter();
    let is_write = |event: &Value| {
        event["objectRef"]["apiGroup"] == "openreports.io"
            && ["create", "patch", "delete"].iter().any(|verb| event["verb"] == **verb)
    };
    log.filter(is_write).count()
}

/// The results of all reports, in the order in which reports are listed.
pub(crate) async fn stored(cluster: &Cluster) -> Vec<Value> {
    let mut results = Vec::new();
    for kind in ["clusterreports.openreports.io", "reports.openreports.io"] {
        let list = cluster.must(&["get", kind, "-A", "-o", "json"]).await;
        results.extend(results_of(&serde_json::from_str(&list).unwrap()));
    }
    results
}

/// Returns what the audit of the command line would write.
pub(crate) async fn on_the_command_line(cluster: &Cluster) -> Vec<Value> {
    let mut audit = webtroller();
    audit.args(["audit", "--output=openreports"]).env("KUBECONFIG", cluster.plane.kubeconfig());
    let output = audit.output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    results_of(&serde_json::from_slice(&output.stdout).unwrap())
}

fn results_of(list: &Value) -> Vec<Value> {
    let items = list["items"].as_array().unwrap().iter();
    items.flat_map(|report| report["results"].as_array().unwrap().clone()).collect()
}

#[tokio::test]
async fn what_somebody_else_does_to_a_report_is_undone_in_seconds() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operator = Operator::start_with(
        &cluster.shipped,
        identity,
        &["--policy-reports=openreports", "--audit-interval=0"],
    )
    .await;
    cluster.apply(POLICIES).await;
    cluster.enforced("constrainttemplate/needsteam").await;
    cluster.apply(OBJECTS).await;
    cluster.apply(&constraint("maps", "warn", "ConfigMap")).await;
    let both = format!("{ONE}{TWO}");
    cluster.until(&OF_SHOP, ROWS, &both).await;
    let report = ["reports.openreports.io", "webtroller-0", "-n", "shop"];
    let nothing = ["--type=merge", "-p", r#"{"results": []}"#];
    cluster.must(&[["patch"].as_slice(), &report, &nothing].concat()).await;
    cluster.until(&OF_SHOP, ROWS, &both).await;
    cluster.must(&[["delete"].as_slice(), &report].concat()).await;
    cluster.until(&OF_SHOP, ROWS, &both).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_report_that_a_frozen_pod_creates_late_is_deleted() {
    let cluster = Cluster::start().await;
    cluster.apply(OBJECTS).await;
    let proxy = Scripted::start(&cluster.shipped).await;
    let flags = ["--policy-reports=openreports", "--audit-interval=0"];
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let frozen = Operator::start_with(proxy.kubeconfig(), identity, &flags).await;
    cluster.apply(POLICIES).await;
    cluster.enforced("constrainttemplate/needsteam").await;
    let mut late = proxy.hits();
    proxy.once(Fate::Late, |method, path| method == "POST" && path.contains("/namespaces/shop/reports"));
    cluster.apply(&constraint("maps", "warn", "ConfigMap")).await;
    late.wait_for(|hits| *hits == 1).await.unwrap();
    frozen.signal("-STOP");

    let uid = cluster.pod("webtroller-1").await;
    let mut next = Operator::start_with(&cluster.shipped, ["webtroller-1", NAMESPACE, &uid], &flags).await;
    next.log("every object is judged; from here on those that change").await;
    cluster.must(&["delete", "configmap", "one", "two", "-n", "shop"]).await;
    let total = ["needsteam", "maps"];
    cluster.until(&total, "{.status.totalViolations}", "0").await;
    assert_eq!(cluster.get(&OF_SHOP, "{.items}").await, "[]");
    proxy.release();
    next.log("another client has changed a report of the audit").await;
    cluster.until(&OF_SHOP, "{.items}", "[]").await;

    frozen.signal("-CONT");
    frozen.stop().await;
    next.stop().await;
}

#[tokio::test]
async fn reports_are_written_to_the_crds_that_another_tool_has_installed() {
    let cluster = Cluster::start().await;
    for (kind, scope) in [("PolicyReport", "Namespaced"), ("ClusterPolicyReport", "Cluster")] {
        let plural = format!("{}s", kind.to_lowercase());
        cluster
            .apply(&format!(
                "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
                 metadata: {{name: {plural}.wgpolicyk8s.io}}, spec: {{group: wgpolicyk8s.io, scope: {scope}, \
                 names: {{kind: {kind}, plural: {plural}}}, versions: [{{name: v1alpha2, served: true, \
                 storage: true, schema: {{openAPIV3Schema: {{type: object, \
                 x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}"
            ))
            .await;
    }
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--policy-reports=wgpolicy"];
    let operator = Operator::start_with(&cluster.shipped, identity, &flags).await;
    cluster.apply(POLICIES).await;
    cluster.enforced("constrainttemplate/needsteam").await;
    cluster.apply(OBJECTS).await;
    cluster.apply(&constraint("maps", "warn", "ConfigMap")).await;
    cluster.until(&["policyreports", "-n", "shop"], ROWS, &format!("{ONE}{TWO}")).await;
    let generation = cluster.get(&["crd", "policyreports.wgpolicyk8s.io"], "{.metadata.generation}").await;
    assert_eq!(generation, "1");
    operator.stop().await;
}
