//! Validation at admission, the lockout guard, and break-glass. Exclusion of namespaces is in `gatekeeper_suite`.

use crate::cluster::{Cluster, NAMESPACE, workspace};

const CONSTRAINT: &str = "k8sreplicalimits/three-to-ten-replicas";

/// A template of this kind with the body of its rule.
fn template(kind: &str, body: &str) -> String {
    format!(
        "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: {name}}}
spec:
  crd: {{spec: {{names: {{kind: {kind}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package a
      {body}
",
        name = kind.to_lowercase()
    )
}

fn constraint(kind: &str, metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: {kind}, metadata: {{name: a{metadata}}}, spec: {spec}}}"
    )
}

async fn refused(cluster: &Cluster, manifest: &str, reasons: &[&str]) {
    for args in [&["apply", "-f", "-"][..], &["apply", "--dry-run=server", "-f", "-"]] {
        let answer = cluster.feed(args, manifest).await;
        assert!(!answer.success, "{manifest} was taken");
        for reason in reasons {
            assert!(answer.stderr.contains(reason), "{reason} is missing: {}", answer.stderr);
        }
    }
}

#[tokio::test]
async fn policies_are_refused_with_all_that_is_wrong_before_they_are_stored() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    let broken =
        "violation[{\"msg\": m}] { m := nowhere }\n      violation[{\"msg\": n}] { n := http.send({}) }";
    refused(&cluster, &template("Broken", broken), &["2:", "nowhere", "3:", "undefined function http.send"])
        .await;

    cluster.apply(&template("DenyAll", "violation[{\"msg\": \"no\"}] { true }")).await;
    cluster.enforced("constrainttemplate/denyall").await;
    let wrong =
        "{enforcementAction: forbid, match: {labelSelector: {matchExpressions: [{key: a, operator: Is}]}}}";
    let reasons =
        ["/spec/enforcementAction: must be deny, dryrun, warn or scoped", "/spec/match/labelSelector"];
    refused(&cluster, &constraint("DenyAll", "", wrong), &reasons).await;
    let sync = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: a}, \
                spec: {gvks: [{group: '', version: v1, kind: Pod}, {group: apps}]}}";
    let reasons = ["/spec/gvks/1/version: must not be empty", "/spec/gvks/1/kind: must not be empty"];
    refused(&cluster, sync, &reasons).await;
    let config = |name: &str, process: &str| {
        format!(
            "{{apiVersion: config.gatekeeper.sh/v1alpha1, kind: Config, metadata: {{name: {name}, namespace: {NAMESPACE}}}, \
             spec: {{match: [{{excludedNamespaces: ['kube-*'], processes: [{process}]}}]}}}}"
        )
    };
    refused(&cluster, &config("other", "webhook"), &["/metadata/name: must be \"config\""]).await;
    refused(&cluster, &config("config", "webhok"), &["/spec/match/0/processes/0: must be one of"]).await;

    // Nodes would be taken for dead; a constraint that is about something else is none of this guard's business.
    let lockout = "this constraint would deny the Leases by which nodes stay alive";
    refused(&cluster, &constraint("DenyAll", "", "{}"), &[lockout, "webtroller.dev/allow-lockout"]).await;
    let pods = "{match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}}";
    let answer = cluster.feed(&["apply", "-f", "-"], &constraint("DenyAll", "", pods)).await;
    assert!(
        answer.success && answer.stderr.contains("denies Pods such as kube-apiserver"),
        "{}",
        answer.stderr
    );
    let allowed = ", annotations: {webtroller.dev/allow-lockout: 'true'}";
    let leases = "{match: {kinds: [{apiGroups: [coordination.k8s.io], kinds: [Lease]}]}}";
    refused(&cluster, &constraint("DenyAll", "", leases), &[lockout]).await;
    let answer = cluster.feed(&["apply", "-f", "-"], &constraint("DenyAll", allowed, leases)).await;
    assert!(answer.success && answer.stderr.contains("denies the Leases"), "{}", answer.stderr);
    operator.stop().await;
}

#[tokio::test]
async fn an_object_that_is_broken_already_can_still_be_labelled_and_deleted() {
    let cluster = Cluster::start().await;
    cluster.operator().await.stop().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.apply(&template("Broken", "violation[{\"msg\": m}] { m := nowhere }")).await;
    let operator = cluster.operator().await;
    cluster.must(&["label", "constrainttemplate/broken", "a=b"]).await;
    cluster.must(&["delete", "constrainttemplate/broken"]).await;
    operator.stop().await;
}

#[tokio::test]
async fn break_glass_suspends_everything_until_it_ends_and_says_so() {
    let cluster = Cluster::start().await;
    let mut operator = cluster.operator().await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let create = ["create", "--dry-run=server", "-f", bad.to_str().unwrap()];
    assert!(!cluster.kubectl(&create).await.success);
    let break_glass = |until: &str| {
        format!(
            "{{apiVersion: enforcement.webtroller.dev/v1alpha1, kind: BreakGlass, metadata: {{name: outage}}, \
             spec: {{until: '{until}', reason: the registry is down}}}}"
        )
    };
    cluster.apply(&break_glass("2999-01-01T00:00:00Z")).await;
    let line = operator.log("nothing is enforced").await;
    let reason = line["reason"].as_str().unwrap();
    assert!(reason.contains("BreakGlass outage: the registry is down") && !reason.contains("2999"), "{line}");
    cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", CONSTRAINT]).await;
    for object in [CONSTRAINT, "constrainttemplate/k8sreplicalimits"] {
        cluster.must(&["wait", "--for=condition=Enforced=False", "--timeout=60s", object]).await;
        let message = cluster.get(&[object], "{.status.conditions[?(@.type==\"Enforced\")].message}").await;
        assert!(message.contains("BreakGlass outage: the registry is down"), "{object}: {message}");
    }
    let answer = cluster.kubectl(&create).await;
    assert!(
        answer.success && answer.stderr.contains("Warning: enforcement is suspended"),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.contains("not enforced: [three-to-ten-replicas]"), "{}", answer.stderr);
    cluster.must(&["delete", "breakglass", "outage"]).await;
    cluster.enforced(CONSTRAINT).await;
    assert!(!cluster.kubectl(&create).await.success);

    // It ends by itself.
    let soon = k8s_openapi::jiff::Timestamp::now() + std::time::Duration::from_secs(5);
    cluster.apply(&break_glass(&soon.to_string())).await;
    operator.log("nothing is enforced").await;
    operator.log("policies are enforced again").await;
    cluster.enforced(CONSTRAINT).await;
    assert!(!cluster.kubectl(&create).await.success);
    operator.stop().await;
}
