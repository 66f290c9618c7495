//! The audit on a real API server: violations appear and disappear, with whatever causes it.

use std::time::Instant;

use futures::{StreamExt, stream};
use hyper::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use tokio::time::timeout;

use crate::audit_agreement::{SYNC, TEMPLATES};
use crate::cluster::{Cluster, NAMESPACE};
use crate::faults::{role, service_account};
use crate::operator::{Operator, PATIENCE};
use crate::scripted::{Fate, Scripted};

const OBJECT: [&str; 1] = ["needslabel/a"];

/// A template whose constraints ask for a label.
fn template(word: &str) -> String {
    format!(
        "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: needslabel}}
spec:
  crd:
    spec:
      names: {{kind: NeedsLabel}}
      validation: {{openAPIV3Schema: {{type: object, properties: {{label: {{type: string}}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package needslabel
      violation[{{\"msg\": msg}}] {{
        not input.review.object.metadata.labels[input.parameters.label]
        msg := sprintf(\"%v {word} the label %v\", [input.review.object.metadata.name, input.parameters.label])
      }}
"
    )
}

fn constraint(action: &str, more: &str) -> String {
    format!(
        "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: NeedsLabel, metadata: {{name: a}}, spec: \
         {{enforcementAction: {action}, match: {{kinds: [{{apiGroups: [''], kinds: [ConfigMap]}}], \
         namespaces: [shop] {more}}}, parameters: {{label: team}}}}}}"
    )
}

fn config_map(name: &str, labels: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop, labels: {{{labels}}}}}}}"
    )
}

impl Cluster {
    /// Waits until the status has these violations, and says how long that took.
    async fn violations(&self, expected: &str) {
        let asked = Instant::now();
        let names = "{range .status.violations[*]}{.enforcementAction} {.name}: {.message};{end}";
        self.until(&OBJECT, names, expected).await;
        let total = expected.matches(';').count().to_string();
        self.until(&OBJECT, "{.status.totalViolations}", &total).await;
        println!("{total} violations after {:.1} s", asked.elapsed().as_secs_f64());
    }

    async fn audited(&self, expected: &str) {
        let condition = "{.status.conditions[?(@.type=='Audited')].status} \
                         {.status.conditions[?(@.type=='Audited')].reason}";
        self.until(&OBJECT, condition, expected).await;
    }
}

#[tokio::test]
async fn violations_appear_and_disappear_with_what_causes_them() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let events = ["--emit-audit-events"];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &events).await;
    operator.log("webhook registered").await;
    cluster.must(&["create", "namespace", "shop"]).await;
    cluster.apply(&config_map("before", "")).await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    cluster.apply(&constraint("dryrun", "")).await;
    let root = "dryrun kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.violations(&format!("dryrun before: before lacks the label team;{root}")).await;
    cluster.audited("True FollowsChanges").await;

    // Objects.
    cluster.apply(&config_map("created", "")).await;
    let both = "dryrun before: before lacks the label team;dryrun created: created lacks the label team;";
    cluster.violations(&format!("{both}{root}")).await;
    cluster.apply(&config_map("created", "team: a")).await;
    cluster.must(&["delete", "configmap", "before", "-n", "shop"]).await;
    cluster.violations(root).await;
    cluster.apply(&config_map("created", "")).await;
    for (reason, name) in [("AuditViolation", "created"), ("AuditViolationResolved", "before")] {
        let selector = format!("--field-selector=reason={reason},involvedObject.name={name}");
        let message =
            format!("Resource Namespace: shop, Constraint: a, Message: {name} lacks the label team");
        cluster.until(&["events", "-n", NAMESPACE, &selector], "{.items[0].message}", &message).await;
    }

    // The constraint: another action, another match, gone and created again.
    cluster.apply(&constraint("warn", ", excludedNamespaces: [none]")).await;
    let created = "created: created lacks the label team;";
    let root = "kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.violations(&format!("warn {created}warn {root}")).await;
    let counts = "{.status.totalViolationsPerEnforcementAction}";
    cluster.until(&OBJECT, counts, r#"{"deny":0,"dryrun":0,"warn":2}"#).await;
    cluster.apply(&constraint("warn", ", labelSelector: {matchLabels: {only: this}}")).await;
    cluster.violations("").await;
    cluster.must(&["delete", "needslabel", "a"]).await;
    cluster.apply(&constraint("deny", "")).await;
    cluster.violations(&format!("deny {created}deny {root}")).await;

    // The template.
    cluster.apply(&template("has not")).await;
    let (created, root) = (created.replace("lacks", "has not"), root.replace("lacks", "has not"));
    cluster.violations(&format!("deny {created}deny {root}")).await;
    operator.stop().await;
}

#[tokio::test]
async fn what_a_verdict_depends_on_besides_its_object_is_followed() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.must(&["create", "namespace", "shop"]).await;
    cluster.must(&["wait", "--for=create", "-n", "shop", "configmap/kube-root-ca.crt"]).await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    let selected = ", namespaceSelector: {matchLabels: {audit: 'yes'}}";
    cluster.apply(&constraint("warn", selected)).await;
    cluster.violations("").await;

    // The labels of a Namespace.
    let root = "warn kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.must(&["label", "namespace", "shop", "audit=yes"]).await;
    cluster.violations(root).await;
    cluster.must(&["label", "namespace", "shop", "audit-"]).await;
    cluster.violations("").await;
    cluster.must(&["label", "namespace", "shop", "audit=yes"]).await;
    cluster.violations(root).await;

    // What the Config leaves out.
    let excluded = "[{excludedNamespaces: [shop], processes: [audit]}]";
    for (spec, expected) in [(excluded, ""), ("[]", root)] {
        cluster
            .apply(&format!(
                "{{apiVersion: config.gatekeeper.sh/v1alpha1, kind: Config, \
                 metadata: {{name: config, namespace: {NAMESPACE}}}, spec: {{match: {spec}}}}}"
            ))
            .await;
        cluster.violations(expected).await;
    }

    // An object of the inventory.
    cluster.apply(TEMPLATES).await;
    cluster.apply(SYNC).await;
    for kind in ["UniqueOwner", "FewHeavy"] {
        cluster.enforced(&format!("constrainttemplate/{}", kind.to_lowercase())).await;
        cluster
            .apply(&format!(
                "{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: {kind}, metadata: {{name: a}}, spec: \
                 {{enforcementAction: dryrun, match: {{kinds: [{{apiGroups: [''], kinds: [ConfigMap]}}]}}}}}}"
            ))
            .await;
    }
    cluster.apply(&config_map("one", "owner: me")).await;
    let names = "{range .status.violations[*]}{.name}: {.message};{end}";
    for (owner, expected) in [
        ("me", "one: shop/two has the same owner;two: shop/one has the same owner;"),
        ("you", ""),
        ("me", "one: shop/two has the same owner;two: shop/one has the same owner;"),
    ] {
        cluster.apply(&config_map("two", &format!("owner: {owner}"))).await;
        cluster.until(&["uniqueowner/a"], names, expected).await;
        cluster
            .until(
                &["uniqueowner/a"],
                "{.status.totalViolations}",
                if expected.is_empty() { "0" } else { "2" },
            )
            .await;
    }
    cluster.must(&["delete", "configmap", "two", "-n", "shop"]).await;
    cluster.until(&["uniqueowner/a"], "{.status.totalViolations}", "0").await;
    let message = "{.status.conditions[?(@.type=='Audited')].message}";
    let picked = "the objects of 1 kind are judged when they change";
    cluster.until(&["uniqueowner/a"], message, picked).await;
    let whole = format!("{picked}, and all of them when data.inventory does, at most every 10 s");
    cluster.until(&["fewheavy/a"], message, &whole).await;
    operator.stop().await;
}

/// A kind of its own, with a constraint that matches it.
const GADGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";
const GADGET: &str = "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: lamp}}";

#[tokio::test]
async fn a_kind_may_come_and_go_and_one_that_cannot_be_listed_is_named() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    cluster
        .apply(
            "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: NeedsLabel, metadata: {name: a}, spec: \
             {enforcementAction: dryrun, match: {kinds: [{apiGroups: [example.com, authentication.k8s.io], \
             kinds: [Gadget, TokenReview]}]}, \
             parameters: {label: team}}}",
        )
        .await;
    cluster.audited("True NothingToAudit").await;
    for _ in 0..2 {
        cluster.apply(GADGETS).await;
        cluster.must(&["wait", "--for=condition=Established", "crd/gadgets.example.com"]).await;
        cluster.apply(GADGET).await;
        cluster.violations("dryrun lamp: lamp lacks the label team;").await;
        cluster.audited("True FollowsChanges").await;
        cluster.must(&["delete", "crd", "gadgets.example.com"]).await;
        cluster.violations("").await;
        cluster.audited("True NothingToAudit").await;
    }
    operator.stop().await;
}

#[tokio::test]
async fn a_kind_that_may_not_be_listed_is_named_and_the_others_are_audited() {
    let cluster = Cluster::start().await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = service_account(&cluster, &folder).await;
    let rights = role("'*'", "'*'");
    let more = rights.replace("[namespaces, pods, secrets]", "[namespaces, pods, secrets, configmaps]");
    cluster.apply(&rights).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let proxy = Scripted::start(&kubeconfig).await;
    let operator = Operator::start_ready(proxy.kubeconfig(), identity).await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    cluster
        .apply(
            "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: NeedsLabel, metadata: {name: a}, spec: \
             {enforcementAction: dryrun, match: {kinds: [{apiGroups: [''], kinds: [Pod, ConfigMap]}], \
             namespaces: [gatekeeper-system]}, parameters: {label: team}}}",
        )
        .await;
    let pod = "dryrun webtroller-0: webtroller-0 lacks the label team;";
    cluster.audited("False KindsMissing").await;
    cluster.violations(pod).await;
    let message = "{.status.conditions[?(@.type=='Audited')].message}";
    let named = cluster.get(&OBJECT, message).await;
    assert!(named.starts_with("not audited: ConfigMap (v1): ") && named.contains("forbidden"), "{named}");
    cluster.apply(&more).await;
    cluster.audited("True FollowsChanges").await;
    let map = "dryrun kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.violations(&format!("{map}{pod}")).await;

    // The right is taken away from the running process, which notices when its watch ends. What it knew stays.
    cluster.must(&["create", "configmap", "gone", "-n", NAMESPACE]).await;
    let gone = "dryrun gone: gone lacks the label team;";
    cluster.violations(&format!("{gone}{map}{pod}")).await;
    cluster.apply(&rights).await;
    let account = format!("--as=system:serviceaccount:{NAMESPACE}:default");
    while cluster.kubectl(&["auth", "can-i", "watch", "configmaps", "-A", &account]).await.success {}
    proxy.cut();
    cluster.audited("False KindsMissing").await;
    let named = cluster.get(&OBJECT, message).await;
    assert!(named.starts_with("not audited: ConfigMap (v1): ") && named.contains("forbidden"), "{named}");
    cluster.pod("another").await;
    let another = "dryrun another: another lacks the label team;";
    cluster.violations(&format!("{gone}{map}{another}{pod}")).await;
    cluster.must(&["label", "pod", "another", "-n", NAMESPACE, "team=a"]).await;
    cluster.must(&["delete", "configmap", "gone", "-n", NAMESPACE]).await;
    cluster.must(&["create", "configmap", "own", "-n", NAMESPACE]).await;
    cluster.apply(&more).await;
    cluster.audited("True FollowsChanges").await;
    let own = "dryrun own: own lacks the label team;";
    cluster.violations(&format!("{map}{own}{pod}")).await;
    operator.stop().await;
}

#[tokio::test]
async fn ten_thousand_violating_objects_are_counted_exactly() {
    const OBJECTS: usize = 10_000;
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.must(&["create", "namespace", "shop"]).await;
    cluster.must(&["wait", "--for=create", "-n", "shop", "configmap/kube-root-ca.crt"]).await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.plane.client().unwrap(), "shop");
    let create = async |number: usize| {
        let name = Some(format!("m-{number:05}"));
        let map =
            ConfigMap { metadata: ObjectMeta { name, ..ObjectMeta::default() }, ..ConfigMap::default() };
        maps.create(&PostParams::default(), &map).await.unwrap();
    };
    stream::iter(1..OBJECTS).map(create).buffer_unordered(16).collect::<()>().await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    cluster.apply(&constraint("dryrun", "")).await;
    let total = "{.status.totalViolations}";
    cluster.until(&OBJECT, total, &OBJECTS.to_string()).await;
    let first = "{.status.violations[0].name} {.status.violations[19].name}";
    cluster.until(&OBJECT, first, "kube-root-ca.crt m-00019").await;
    maps.delete("m-00001", &DeleteParams::default()).await.unwrap();
    cluster.until(&OBJECT, total, &(OBJECTS - 1).to_string()).await;
    cluster.until(&OBJECT, first, "kube-root-ca.crt m-00020").await;
    operator.stop().await;
}

/// Returns true if a request reads config maps; a watch, or a list.
fn reads_maps(path: &str, watch: bool) -> bool {
    path.starts_with("/api/v1/configmaps?") && path.contains("watch=true") == watch
}

/// Lets `cause` happen, in which the first request that `chosen` chooses is told that what it asks for has expired.
async fn expired(proxy: &Scripted, chosen: fn(&str) -> bool, cause: impl Future<Output = ()>) {
    let mut hits = proxy.hits();
    hits.mark_unchanged();
    proxy.once(Fate::Fail(410, "Expired"), move |_, path| chosen(path));
    cause.await;
    timeout(PATIENCE, hits.changed()).await.expect("the request must come").unwrap();
}

#[tokio::test]
async fn lists_and_watches_that_expire_or_lose_events_end_in_what_a_fresh_audit_finds() {
    let cluster = Cluster::start().await;
    let proxy = Scripted::start(&cluster.shipped).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--audit-chunk-size=3", "--audit-interval=8"];
    let mut operator = Operator::start_with(proxy.kubeconfig(), identity, &flags).await;
    operator.log("webhook registered").await;
    cluster.must(&["create", "namespace", "shop"]).await;
    for number in 0..8 {
        cluster.apply(&config_map(&format!("m-{number}"), "")).await;
    }
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;

    // The first list of the kind, in its middle; and a list that a changed constraint makes necessary.
    let second_page = |path: &str| reads_maps(path, false) && path.contains("continue=");
    expired(&proxy, second_page, cluster.apply(&constraint("dryrun", ""))).await;
    cluster.agrees(20).await;
    cluster.until(&OBJECT, "{.status.totalViolations}", "9").await;
    expired(&proxy, second_page, cluster.apply(&constraint("warn", ", excludedNamespaces: [none]"))).await;
    cluster.agrees(20).await;

    // The watch ends, and what it asks for afterwards has expired; meanwhile objects come, go and change.
    proxy.script(|_, path| match path.starts_with("/api/v1/configmaps?") {
        true => Fate::Fail(503, "ServiceUnavailable"),
        false => Fate::Pass,
    });
    proxy.cut();
    cluster.must(&["delete", "configmap", "m-0", "-n", "shop"]).await;
    cluster.apply(&config_map("m-1", "team: a")).await;
    cluster.apply(&config_map("m-8", "")).await;
    expired(&proxy, |path| reads_maps(path, true), async {}).await;
    cluster.agrees(20).await;

    // Events are lost: a verification finds what they should have said, and counts it.
    assert!(operator.metrics().await.contains("webtroller_audit_drift_total 0\n"));
    proxy.lose(&[r#""name":"m-2""#, r#""name":"m-3""#, r#""name":"m-9""#]);
    cluster.must(&["delete", "configmap", "m-2", "-n", "shop"]).await;
    cluster.apply(&config_map("m-3", "team: a")).await;
    cluster.apply(&config_map("m-9", "")).await;
    operator.until_metrics(|text| text.contains("webtroller_audit_drift_total 3\n")).await;
    cluster.agrees(20).await;

    // Another process has the Lease for a while, and does nothing.
    let lease = ["patch", "lease", "webtroller-audit", "-n", NAMESPACE, "--type=merge", "-p"];
    let holder = |name: &str| format!(r#"{{"spec": {{"holderIdentity": "{name}"}}}}"#);
    cluster.must(&[&lease[..], &[&holder("somebody")]].concat()).await;
    while operator.log("lease ended").await["lease"] != "webtroller-audit" {}
    cluster.must(&["delete", "configmap", "m-4", "-n", "shop"]).await;
    cluster.must(&[&lease[..], &[&holder("")]].concat()).await;
    cluster.agrees(20).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_status_that_a_frozen_pod_writes_late_is_written_again() {
    let cluster = Cluster::start().await;
    let proxy = Scripted::start(&cluster.shipped).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--audit-interval=0"];
    let mut frozen = Operator::start_with(proxy.kubeconfig(), identity, &flags).await;
    frozen.log("webhook registered").await;
    cluster.must(&["create", "namespace", "shop"]).await;
    cluster.must(&["wait", "--for=create", "-n", "shop", "configmap/kube-root-ca.crt"]).await;
    cluster.apply(&config_map("gone", "")).await;
    cluster.apply(&template("lacks")).await;
    cluster.enforced("constrainttemplate/needslabel").await;
    let mut late = proxy.hits();
    proxy.once(Fate::Late, |method, path| {
        *method == Method::PATCH
            && path.contains("/status?")
            && path.contains("fieldManager=webtroller-audit")
    });
    cluster.apply(&constraint("dryrun", "")).await;
    late.wait_for(|hits| *hits == 1).await.unwrap();
    frozen.signal("-STOP");

    let uid = cluster.pod("webtroller-1").await;
    let mut next = Operator::start_with(&cluster.shipped, ["webtroller-1", NAMESPACE, &uid], &flags).await;
    let written = "audit results for constraint";
    while next.log(written).await["constraint_violations"] != 2 {}
    cluster.must(&["delete", "configmap", "gone", "-n", "shop"]).await;
    while next.log(written).await["constraint_violations"] != 1 {}
    let root = "dryrun kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.violations(root).await;
    proxy.release();
    assert_eq!(next.log(written).await["constraint_violations"], 1, "the late one is replaced");
    cluster.violations(root).await;

    frozen.signal("-CONT");
    frozen.stop().await;
    next.stop().await;
}
