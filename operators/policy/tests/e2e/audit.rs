//! The audit on a real API server: violations appear and disappear, with whatever causes it.

use crate::cluster::Cluster;

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
    let operator = cluster.operator().await;
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
