//! `--emit-admission-events`: each violation is one Event, and a repeated one raises its count.

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::fleet::Fleet;
use crate::https::{Connection, authority, post};
use crate::operator::Operator;

const CONSTRAINT: &str = "k8sreplicalimits/three-to-ten-replicas";
/// The text that Gatekeeper writes behind its own words, in the operator's namespace.
const MESSAGE: &str = "Resource Namespace: default, Constraint: three-to-ten-replicas, Message: Deployment \"storefront\" asks for \
                       2 replicas; allowed: 3 to 10. Set spec.replicas accordingly.";

/// More Events than a pod writes without a pause.
const BURST: usize = 150;

const EVERYTHING: &str = "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: everything}
spec:
  crd: {spec: {names: {kind: Everything}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package everything
      violation[{\"msg\": \"no ConfigMap\"}] { input.review.operation == \"CREATE\" }
";
const CONFIG_MAPS: &str = "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Everything, metadata: {name: a}, \
    spec: {match: {kinds: [{apiGroups: [''], kinds: [ConfigMap]}]}}}";

impl Cluster {
    async fn act(&self, action: &str) {
        let patch = format!("{{\"spec\":{{\"enforcementAction\":\"{action}\"}}}}");
        self.must(&["patch", CONSTRAINT, "--type=merge", "-p", &patch]).await;
        self.enforced(CONSTRAINT).await;
    }

    /// Reads the Events of a reason until they are as expected: message and count of each.
    async fn events(&self, namespace: &str, reason: &str, expected: &str) {
        let selector = format!("--field-selector=reason={reason}");
        let lines = "{range .items[*]}{.message} x{.count};{end}";
        self.until(&["events", "-n", namespace, &selector], lines, expected).await;
    }
}

#[tokio::test]
async fn denials_warnings_and_dry_runs_give_one_event_each_that_counts_repetitions() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let flags = ["--emit-admission-events"];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &flags).await;
    operator.log("webhook registered").await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let create = ["create", "-f", bad.to_str().unwrap()];

    let denied = "Admission webhook \"validation.gatekeeper.sh\" denied request";
    for count in 1..=3 {
        assert!(!cluster.kubectl(&create).await.success);
        cluster.events(NAMESPACE, "FailedAdmission", &format!("{denied}, {MESSAGE} x{count};")).await;
    }
    let annotations = "{.items[0].metadata.annotations.constraint_action} \
                       {.items[0].metadata.annotations.request_username} {.items[0].type} \
                       {.items[0].source.component} {.items[0].involvedObject.uid}";
    let selector = "--field-selector=reason=FailedAdmission";
    let found = cluster.get(&["events", "-n", NAMESPACE, selector], annotations).await;
    let uid = "Deployment/default/storefront/K8sReplicaLimits//three-to-ten-replicas";
    assert_eq!(found, format!("deny admin Warning gatekeeper-webhook {uid}"));

    // Nothing is written for a request that writes nothing.
    cluster.kubectl(&[&create[..], &["--dry-run=server"]].concat()).await;
    cluster.act("warn").await;
    // Created twice, not changed: the API server asks again about a change that meets one of the controllers.
    let delete = ["delete", "deployment/storefront"];
    cluster.must(&create).await;
    cluster.must(&delete).await;
    cluster.must(&create).await;
    let warned = "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request";
    cluster.events(NAMESPACE, "WarningAdmission", &format!("{warned}, {MESSAGE} x2;")).await;
    cluster.act("dryrun").await;
    cluster.must(&delete).await;
    cluster.must(&create).await;
    cluster.events(NAMESPACE, "DryrunViolation", &format!("Dryrun violation, {MESSAGE} x1;")).await;
    cluster.events(NAMESPACE, "FailedAdmission", &format!("{denied}, {MESSAGE} x3;")).await;

    let metrics = operator.metrics().await;
    let stored = "webtroller_events_total{component=\"gatekeeper-webhook\",result=\"stored\"} 6\n";
    assert!(metrics.contains(stored), "{metrics}");
    operator.stop().await;
}

/// A denied creation of a ConfigMap of this name.
fn review(name: &str) -> String {
    crate::prober::review().replace("\"forbidden\"", &format!("\"{name}\""))
}

/// Three pods that deny the same requests count them in one Event each, and a pod that ends stores what waits.
#[tokio::test]
async fn pods_count_a_violation_together_and_one_that_ends_loses_none() {
    let mut fleet = Fleet::start_with(&["--emit-admission-events"]).await;
    fleet.cluster.apply(EVERYTHING).await;
    fleet.cluster.enforced("constrainttemplate/everything").await;
    fleet.cluster.apply(CONFIG_MAPS).await;
    fleet.cluster.enforced("everything/a").await;
    let side_effects = fleet
        .cluster
        .get(
            &["validatingwebhookconfiguration", "gatekeeper-validating-webhook-configuration"],
            "{.webhooks[0].sideEffects}",
        )
        .await;
    assert_eq!(side_effects, "NoneOnDryRun");
    let trusted = authority(&fleet.cluster).await;
    let deny = async |operator: &Operator, name: &str| {
        let mut connection = Connection::open(&operator.webhook, &trusted).await.unwrap();
        let (_, _, body) = connection.send(post("application/json", review(name))).await.unwrap();
        assert!(body.contains("no ConfigMap"), "{body}");
    };
    for _ in 0..4 {
        for (_, _, operator) in &fleet.pods {
            deny(operator, "shared").await;
        }
    }
    let counts = "{range .items[?(@.involvedObject.name==\"shared\")]}{.count};{end}";
    fleet.cluster.until(&["events", "-n", NAMESPACE], counts, "12;").await;

    // More than a pod writes at once: the others wait for their turn, and the process is asked to end.
    let (_, _, leaving) = fleet.pods.remove(0);
    for number in 0..BURST {
        deny(&leaving, &format!("own-{number}")).await;
    }
    leaving.stop().await;
    let names = fleet.cluster.get(&["events", "-n", NAMESPACE], "{.items[*].involvedObject.name}").await;
    assert_eq!(names.split(' ').filter(|name| name.starts_with("own-")).count(), BURST, "{names}");
}
