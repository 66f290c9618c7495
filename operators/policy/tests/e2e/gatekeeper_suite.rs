//! The scenarios of Gatekeeper's own end-to-end suite, `test/bats/test.bats` of the pinned module, with its manifests and
//! its container arguments, against three processes behind a balancer. docs/conformance.md lists them all.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::cluster::{Answer, NAMESPACE, pauses};
use crate::fleet::{Fleet, PODS};
use crate::gatekeeper::file;
use crate::https::{Connection, authority, post};
use crate::operator::PATIENCE;

/// Those of Gatekeeper's two Deployments under test, in one process each.
const ARGS: [&str; 15] = [
    "--logtostderr",
    "--emit-admission-events",
    "--admission-events-involved-namespace",
    "--exempt-namespace=gatekeeper-system",
    "--operation=webhook",
    "--operation=mutation-webhook",
    "--disable-opa-builtin=http.send",
    "--log-mutations",
    "--mutation-annotations",
    "--emit-audit-events",
    "--audit-events-involved-namespace",
    "--operation=audit",
    "--operation=status",
    "--operation=generate",
    "--audit-chunk-size=500",
];
const PLAYGROUND: &str = "gatekeeper-test-playground";

struct Suite {
    fleet: Fleet,
    manifests: PathBuf,
}

impl Suite {
    fn path(&self, manifest: &str) -> String {
        self.manifests.join(manifest).to_str().unwrap().to_owned()
    }

    async fn kubectl(&self, verb: &str, manifest: &str) -> Answer {
        self.fleet.cluster.kubectl(&[verb, "-f", &self.path(manifest)]).await
    }

    async fn apply(&self, manifest: &str) {
        let answer = self.kubectl("apply", manifest).await;
        assert!(answer.success, "{manifest}: {}", answer.stderr);
    }

    async fn refused(&self, manifest: &str, words: &[&str]) {
        let answer = self.kubectl("apply", manifest).await;
        let has_all = words.iter().all(|word| answer.stderr.contains(word));
        assert!(!answer.success && has_all, "{manifest}: {}", answer.stderr);
    }

    async fn delete(&self, manifest: &str) {
        let answer = self.kubectl("delete", manifest).await;
        assert!(answer.success, "{manifest}: {}", answer.stderr);
    }

    /// Applies a template or a constraint, and waits until every pod enforces it. Gatekeeper's suite counts the entries of
    /// `byPod` whose operations include `webhook`.
    async fn enforce(&self, manifest: &str, object: &str) {
        self.apply(manifest).await;
        self.fleet.cluster.enforced(object).await;
        let operations = self.fleet.cluster.get(&[object], "{.status.byPod[*].operations}").await;
        assert_eq!(operations.matches("\"webhook\"").count(), PODS, "{object}: {operations}");
    }

    /// Applies the Config, and waits until every pod follows it.
    async fn config(&self, manifest: &str) {
        let path = self.path(manifest);
        self.fleet.cluster.must(&["apply", "-n", NAMESPACE, "-f", &path]).await;
        let ingested =
            ["wait", "--for=condition=Ingested", "--timeout=120s", "config/config", "-n", NAMESPACE];
        self.fleet.cluster.must(&ingested).await;
    }
}

#[tokio::test]
async fn the_scenarios_of_gatekeepers_own_suite() {
    let suite = Suite { fleet: Fleet::start_with(&ARGS).await, manifests: file("test/bats/tests") };
    is_installed(&suite).await;
    basic_resources(&suite).await;
    label_guard(&suite).await;
    warn_and_dryrun(&suite).await;
    container_limits(&suite).await;
    synced_namespaces(&suite).await;
    unique_labels(&suite).await;
    audited(&suite).await;
    events(&suite).await;
    for how in ["exact", "prefix", "suffix"] {
        excluded(&suite, how).await;
    }
    http_send(&suite).await;
    rego_v1(&suite).await;
    for language in ["cel", "rego"] {
        namespace_object(&suite, language).await;
    }
    operations(&suite).await;
    shutdown_delay(suite).await;
}

/// "constrainttemplates crd is established", "waiting for validating webhook", "namespace label webhook is serving".
async fn is_installed(suite: &Suite) {
    let cluster = &suite.fleet.cluster;
    let crd = "crd/constrainttemplates.templates.gatekeeper.sh";
    cluster.must(&["wait", "--for=condition=Established", "--timeout=60s", crd]).await;
    let webhook = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
    cluster.must(&["wait", "--for=create", "--timeout=60s", webhook]).await;
    let trusted = authority(cluster).await;
    for (name, _, operator) in &suite.fleet.pods {
        let mut connection = Connection::open(&operator.webhook, &trusted).await.unwrap();
        let mut request = post("application/json", crate::prober::review());
        *request.uri_mut() = "/v1/admitlabel".parse().unwrap();
        let (status, _, body) = connection.send(request).await.unwrap();
        assert!(status.is_success() && body.contains("\"allowed\":true"), "{name}: {body}");
    }
}

/// "applying sync config", "create basic resources".
async fn basic_resources(suite: &Suite) {
    suite.config("sync.yaml").await;
    for how in ["", "-prefix-match", "-suffix-match"] {
        let namespace = format!("gatekeeper-excluded{how}-namespace");
        suite.fleet.cluster.must(&["create", "namespace", &namespace]).await;
    }
    for manifest in ["good/playground_ns.yaml", "good/no_dupe_cm.yaml", "bad/bad_cm_audit.yaml"] {
        suite.apply(manifest).await;
    }
    suite.enforce("templates/k8srequiredlabels_template.yaml", "constrainttemplate/k8srequiredlabels").await;
    for how in ["audit", "scoped_audit", "scoped", "scoped_webhook"] {
        let name = format!("k8srequiredlabels/cm-must-have-gk-{}", how.replace('_', "-"));
        suite.enforce(&format!("constraints/all_cm_must_have_gatekeeper_{how}.yaml"), &name).await;
    }
}

/// "no ignore label unless namespace is exempt test", "gatekeeper ns ignore label can be patched".
async fn label_guard(suite: &Suite) {
    let words = "Only exempt namespace can have the admission.gatekeeper.sh/ignore label";
    suite.refused("bad/ignore_label_ns.yaml", &[words]).await;
    let labelled = ["label", "namespace", NAMESPACE, "admission.gatekeeper.sh/ignore=no-self-managing"];
    suite.fleet.cluster.must(&labelled).await;
    let patch = r#"[{"op": "replace", "path": "/metadata/labels/admission.gatekeeper.sh~1ignore", "value": "ignore-label-test-passed"}]"#;
    suite.fleet.cluster.must(&["patch", "namespace", NAMESPACE, "--type=json", "-p", patch]).await;
}

const REQUIRED: &str = "k8srequiredlabels/cm-must-have-gk";

/// "required labels warn and dryrun test".
async fn warn_and_dryrun(suite: &Suite) {
    suite.enforce("constraints/all_cm_must_have_gatekeeper.yaml", REQUIRED).await;
    suite.apply("good/good_cm.yaml").await;
    suite.refused("bad/bad_cm.yaml", &["denied the request"]).await;
    suite.enforce("constraints/all_cm_must_have_gatekeeper-warn.yaml", REQUIRED).await;
    let warned = suite.kubectl("apply", "bad/bad_cm.yaml").await;
    assert!(warned.success && warned.stderr.contains("Warning"), "{}", warned.stderr);
    suite.delete("bad/bad_cm.yaml").await;
    suite.enforce("constraints/all_cm_must_have_gatekeeper-dryrun.yaml", REQUIRED).await;
    suite.apply("bad/bad_cm.yaml").await;
    suite.delete("bad/bad_cm.yaml").await;
    suite.refused("bad/bad_cm_scoped.yaml", &["Warning", "denied the request"]).await;
}

/// "container limits test", "deployment test".
async fn container_limits(suite: &Suite) {
    suite
        .enforce("templates/k8scontainterlimits_template.yaml", "constrainttemplate/k8scontainerlimits")
        .await;
    let limits = "k8scontainerlimits/container-must-have-limits";
    suite.enforce("constraints/containers_must_be_limited.yaml", limits).await;
    let account = ["wait", "--for=create", "--timeout=120s", "-n", PLAYGROUND, "serviceaccount/default"];
    suite.fleet.cluster.must(&account).await;
    suite.refused("bad/opa_no_limits.yaml", &["denied the request"]).await;
    suite.apply("good/opa.yaml").await;
    suite.apply("bad/bad_deployment.yaml").await;
    let deployment = ["deployment", "opa-test-deployment", "-n", PLAYGROUND];
    suite.fleet.cluster.until(&deployment, "{.status.unavailableReplicas}", "2").await;
}

/// "waiting for namespaces to be synced using metrics endpoint", of each pod.
async fn synced_namespaces(suite: &Suite) {
    let names = suite.fleet.cluster.get(&["namespaces"], "{.items[*].metadata.name}").await;
    let count = names.split(' ').count();
    let line = format!("gatekeeper_sync{{kind=\"Namespace\",status=\"active\"}} {count}\n");
    for (_, _, operator) in &suite.fleet.pods {
        operator.until_metrics(|metrics| metrics.contains(&line)).await;
    }
}

/// "unique labels test".
async fn unique_labels(suite: &Suite) {
    suite.enforce("templates/k8suniquelabel_template.yaml", "constrainttemplate/k8suniquelabel").await;
    suite
        .enforce("constraints/all_cm_gatekeeper_label_unique.yaml", "k8suniquelabel/cm-gk-label-unique")
        .await;
    suite.refused("bad/no_dupe_cm_2.yaml", &["denied the request"]).await;
}

/// "required labels audit test": five violations, with the actions of the audit.
async fn audited(suite: &Suite) {
    let cluster = &suite.fleet.cluster;
    for (how, action, scoped) in [
        ("audit", "deny", ""),
        ("scoped", "scoped", r#"["deny"]"#),
        ("scoped-audit", "scoped", r#"["warn"]"#),
    ] {
        let constraint = format!("k8srequiredlabels/cm-must-have-gk-{how}");
        cluster.until(&[&constraint], "{.status.totalViolations}", "5").await;
        let actions = "{range .status.violations[*]}{.enforcementAction}{.enforcementActions};{end}";
        cluster.until(&[&constraint], actions, &format!("{action}{scoped};").repeat(5)).await;
    }
    let webhook = ["k8srequiredlabels/cm-must-have-gk-scoped-webhook"];
    assert!(["", "0"].contains(&cluster.get(&webhook, "{.status.totalViolations}").await.as_str()));
}

/// "emit events test". In the namespace of its object the message does not name it.
async fn events(suite: &Suite) {
    for reason in ["FailedAdmission", "DryrunViolation", "AuditViolation"] {
        let selector = format!("--field-selector=reason={reason}");
        let found = ["events", "-n", PLAYGROUND, &selector];
        let kinds = "{.items[*].metadata.annotations.constraint_kind}";
        let format = format!("jsonpath={kinds}");
        let asking = async {
            let mut ticks = pauses();
            while !suite
                .fleet
                .cluster
                .must(&[&["get"], &found[..], &["-o", &format]].concat())
                .await
                .contains("K8sRequiredLabels")
            {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("no Event with the reason {reason}"));
    }
    let messages = suite.fleet.cluster.get(&["events", "-n", PLAYGROUND], "{.items[*].message}").await;
    let denied = "Admission webhook \"validation.gatekeeper.sh\" denied request, Constraint: cm-must-have-gk, \
                  Message: you must provide labels: {\"gatekeeper\"}";
    assert!(messages.contains(denied), "{messages}");
}

/// "config namespace exclusion test", by name, prefix and suffix.
async fn excluded(suite: &Suite, how: &str) {
    let cluster = &suite.fleet.cluster;
    let infix = if how == "exact" { String::new() } else { format!("-{how}-match") };
    let namespace = format!("gatekeeper-excluded{infix}-namespace");
    suite.config("sync.yaml").await;
    suite.enforce("constraints/all_cm_must_have_gatekeeper.yaml", REQUIRED).await;
    let create = |name| ["create", "configmap", name, "-n", &namespace];
    let refused = cluster.kubectl(&create("should-fail")).await;
    assert!(!refused.success && refused.stderr.contains("denied the request"), "{}", refused.stderr);
    suite.config(&format!("sync_with_exclusion_{how}_match.yaml")).await;
    cluster.must(&create("should-succeed")).await;
}

/// "disable http.send". Gatekeeper stores the template, and the constraint is then of an unknown kind; here the template is
/// refused in the same words.
async fn http_send(suite: &Suite) {
    suite.refused("templates/use_http_send_template.yaml", &["undefined function http.send"]).await;
    assert!(!suite.kubectl("apply", "bad/bad_http_send.yaml").await.success);
}

const LABELS_V1: &str = "constraints/all_ns_must_have_label_provided.yaml";

/// "rego v1 tests".
async fn rego_v1(suite: &Suite) {
    let template = "templates/k8srequiredlabels_template_regov1.yaml";
    suite.enforce(template, "constrainttemplate/k8srequiredlabelsv1").await;
    suite.enforce(LABELS_V1, "k8srequiredlabelsv1/all-must-have-label").await;
    suite.refused("bad/bad_ns.yaml", &["denied"]).await;
    suite.delete(LABELS_V1).await;
    suite.delete(template).await;
}

/// "namespace object access", in CEL and in Rego.
async fn namespace_object(suite: &Suite, language: &str) {
    suite.apply("good/ns_with_env_label.yaml").await;
    suite.apply("bad/ns_without_env_label.yaml").await;
    let template = format!("templates/k8snamespacelabelcheck_template_{language}.yaml");
    suite.enforce(&template, &format!("constrainttemplate/k8snamespacelabelcheck{language}")).await;
    let constraint = format!("constraints/ns_must_have_env_label_{language}.yaml");
    let name = format!("k8snamespacelabelcheck{language}/ns-must-have-env-label-{language}");
    suite.enforce(&constraint, &name).await;
    suite.apply("good/cm_in_labeled_ns.yaml").await;
    suite.refused("bad/cm_in_unlabeled_ns.yaml", &["denied", "does not have required label"]).await;
    suite.delete("good/cm_in_labeled_ns.yaml").await;
    suite.delete(&constraint).await;
    suite.delete(&template).await;
}

/// "constraint template operations test".
async fn operations(suite: &Suite) {
    let cluster = &suite.fleet.cluster;
    let template = "constrainttemplate/k8srequiredlabelsv1";
    suite.enforce("templates/k8srequiredlabels_template_with_update_operations.yaml", template).await;
    suite.enforce(LABELS_V1, "k8srequiredlabelsv1/all-must-have-label").await;
    suite.apply("good/good_ns.yaml").await;
    let update = ["label", "namespace", "gatekeeper-test-ns2", "test=label", "--overwrite"];
    let refused = cluster.kubectl(&update).await;
    assert!(!refused.success && refused.stderr.contains("denied"), "{}", refused.stderr);
    suite.delete("good/good_ns.yaml").await;
    suite.enforce("templates/k8srequiredlabels_template_with_all_operations.yaml", template).await;
    suite.refused("good/good_ns.yaml", &["denied"]).await;
}

/// "shutdown delay": a pod that is asked to end answers for as long as it was told to (1 s here).
async fn shutdown_delay(mut suite: Suite) {
    let (_, _, mut leaving) = suite.fleet.pods.remove(0);
    // The only time that is compared is one that cannot be shorter. What is answered meanwhile is tested in endings.rs.
    let asked = Instant::now();
    leaving.terminate();
    assert!(leaving.child.wait().await.unwrap().success());
    assert!(asked.elapsed() >= Duration::from_secs(1), "{:?}", asked.elapsed());
}
