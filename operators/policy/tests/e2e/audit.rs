//! The audit on a real API server: violations appear and disappear, with whatever causes it.

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, PostParams};

use crate::cluster::{Cluster, NAMESPACE};
use crate::faults::{role, service_account};
use crate::operator::Operator;

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
    async fn violations(&self, expected: &str) {
        let names = "{range .status.violations[*]}{.enforcementAction} {.name}: {.message};{end}";
        self.until(&OBJECT, names, expected).await;
        let total = expected.matches(';').count().to_string();
        self.until(&OBJECT, "{.status.totalViolations}", &total).await;
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
    let mut operator = Operator::start_with(cluster.plane.kubeconfig(), identity, &events).await;
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
    cluster.apply(&rights).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operator = Operator::start_ready(&kubeconfig, identity).await;
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
    cluster
        .apply(&rights.replace("[namespaces, pods, secrets]", "[namespaces, pods, secrets, configmaps]"))
        .await;
    cluster.audited("True FollowsChanges").await;
    let map = "dryrun kube-root-ca.crt: kube-root-ca.crt lacks the label team;";
    cluster.violations(&format!("{map}{pod}")).await;
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
