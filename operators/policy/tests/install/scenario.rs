//! Install, upgrade and uninstall, under traffic.

use std::path::Path;
use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::Value;
use tokio::time::{interval, timeout};

use crate::cluster::{Cluster, must};
use crate::helm::{LATER, NAMESPACE, RELEASE, chart, helm, later_chart, refused, run, workspace};
use crate::rights;
use crate::traffic::Traffic;

/// Far more than a loaded machine needs: a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn installed_upgraded_and_uninstalled_without_a_failed_request() {
    let mut cluster = Cluster::start().await;
    let (plane, client) = (&cluster.plane, cluster.client.clone());
    let folder = cluster.folder.path();
    let (kubeconfig, chart) = (Some(plane.kubeconfig()), chart());
    let chart = chart.to_str().unwrap();
    let fail = "validatingWebhookFailurePolicy=Fail,emitAdmissionEvents=true,policyReports=openreports";

    let traffic = Traffic::default();
    cluster.background.spawn(traffic.clone().run(client.clone()));
    helm(
        kubeconfig,
        &[
            "install",
            RELEASE,
            chart,
            "-n",
            NAMESPACE,
            "--create-namespace",
            "--wait",
            "--timeout=300s",
            "--set",
            fail,
        ],
    )
    .await;
    for (file, object) in [
        ("template", "constrainttemplate/k8sreplicalimits"),
        ("constraint", "k8sreplicalimits/three-to-ten-replicas"),
    ] {
        let path = workspace(&format!("examples/quickstart/{file}.yaml"));
        must(plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
        must(plane.kubectl().args(["wait", "--for=condition=Enforced", "--timeout=120s", object])).await;
    }
    change_what_the_operator_wrote(plane, folder).await;
    deny_twice(plane, client.clone()).await;
    report_violations(plane, folder).await;
    let installed = traffic.take();
    assert_eq!(installed.failed, [""; 0], "while installing");

    upgrade_to_another_version(plane, folder).await;
    // A rotation begins under the shipped roles; its end is tested in tests/e2e/certificates.rs.
    let secret = "secret/gatekeeper-webhook-server-cert";
    must(plane.kubectl().args(["annotate", "-n", NAMESPACE, secret, "webtroller.dev/renew=now"])).await;
    let announced = "--for=jsonpath={.data.next\\.crt}";
    must(plane.kubectl().args(["wait", "-n", NAMESPACE, announced, "--timeout=120s", secret])).await;
    let upgraded = traffic.take();
    assert_eq!((upgraded.slipped, upgraded.failed.as_slice()), (0, [].as_slice()), "while upgrading");
    assert!(upgraded.admitted > 0 && upgraded.denied > 0, "{upgraded:?}");
    // Values that would leave the webhook configuration behind, calling a Service that is gone.
    let without = "validatingWebhookFailurePolicy=Fail,besideGatekeeper=true";
    let refusal = refused(kubeconfig, &["upgrade", RELEASE, chart, "-n", NAMESPACE, "--set", without]).await;
    assert!(refusal.contains("keep besideGatekeeper and validatingWebhookName"), "{refusal}");
    let second =
        ["install", "second", chart, "-n", "other", "--create-namespace", "--set", "besideGatekeeper=true"];
    let refusal = refused(kubeconfig, &second).await;
    assert!(refusal.contains("gatekeeper-system/webtroller is webtroller's already"), "{refusal}");
    let log = plane.audit_log().unwrap();
    assert_eq!(rights::mismatches(client.clone()).await, [""; 0]);
    // The reports of old pods are removed by the aggregator or by garbage collection, whichever is first; a Pod is read
    // when it is gone before its report, as in tests/e2e/fleet.rs, and an Event when two pods have counted in it at once,
    // as in tests/e2e/admission_events.rs.
    let rare = ["delete podreports.status.webtroller.dev", "get events", "get pods"];
    let is_rare = |line: &String| rare.iter().any(|call| *line == format!("declared and never made: {call}"));
    let differences: Vec<_> = rights::differences(&log).into_iter().filter(|line| !is_rare(line)).collect();
    assert_eq!(differences, [""; 0]);

    let hook_rules = rights::of_hook(client.clone()).await;
    helm(kubeconfig, &["uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout=300s"]).await;
    let uninstalled = traffic.take();
    assert_eq!(uninstalled.failed, [""; 0], "while uninstalling");
    println!(
        "install: {} admitted, 0 failed; upgrade: {} admitted, {} denied, 0 failed; uninstall: {} admitted, {} denied, {} admitted after the webhook went, 0 failed",
        installed.admitted,
        upgraded.admitted,
        upgraded.denied,
        uninstalled.admitted,
        uninstalled.denied,
        uninstalled.slipped
    );
    let hook = format!("system:serviceaccount:{NAMESPACE}:{RELEASE}-uninstall");
    let log = plane.audit_log().unwrap();
    let of_hook: Vec<_> = log.iter().filter(|line| line["user"]["username"] == hook.as_str()).collect();
    let forbidden: Vec<_> = of_hook.iter().filter(|line| line["responseStatus"]["code"] == 403).collect();
    assert!(!of_hook.is_empty() && forbidden.is_empty(), "{forbidden:#?}");
    assert_eq!(rights::unused_by_hook(&hook_rules, &log), [""; 0]);
    // A status must not say Enforced=True when no process is left that enforces.
    for object in ["constrainttemplate/k8sreplicalimits", "k8sreplicalimits/three-to-ten-replicas"] {
        let status =
            plane.kubectl().args(["get", object, "-o", "jsonpath={.status}"]).output().await.unwrap();
        let status = String::from_utf8(status.stdout).unwrap();
        // The default of the schema: no status is written.
        assert_eq!(status, r#"{"observedGeneration":-1}"#, "{object}");
    }
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    assert_eq!(configurations.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let own = ListParams::default().labels("app.kubernetes.io/name=webtroller");
    assert_eq!(pods.list(&own).await.unwrap().items.len(), 0);
    cluster.background.shutdown().await;
}

/// Runs the command of docs/install.md with a later version of the chart: its pods run, with the former settings.
async fn upgrade_to_another_version(plane: &ControlPlane, folder: &Path) {
    let (kubeconfig, later) = (Some(plane.kubeconfig()), later_chart(folder));
    let arguments = [RELEASE, later.to_str().unwrap(), "-n", NAMESPACE, "--reset-then-reuse-values"];
    helm(kubeconfig, &[&["upgrade", "--wait", "--timeout=300s"][..], &arguments].concat()).await;
    let history = helm(kubeconfig, &["history", RELEASE, "-n", NAMESPACE, "-o", "json"]).await;
    let history: Value = serde_json::from_str(&history).unwrap();
    let revisions = history.as_array().unwrap().iter();
    let revisions: Vec<_> = revisions
        .map(|revision| ["status", "chart", "app_version"].map(|key| revision[key].as_str().unwrap()))
        .collect();
    let (first, second) = (env!("CARGO_PKG_VERSION"), LATER);
    let charts = [first, second].map(|version| format!("webtroller-{version}"));
    assert_eq!(revisions, [["superseded", &charts[0], first], ["deployed", &charts[1], second]]);

    let get = ["get", "deployment", "-n", NAMESPACE, RELEASE, "-o", "json"];
    let deployment = plane.kubectl().args(get).output().await.unwrap();
    let deployment: Value = serde_json::from_slice(&deployment.stdout).unwrap();
    assert_eq!(deployment["status"]["updatedReplicas"], 3);
    let pod = &deployment["spec"]["template"];
    assert_eq!(pod["metadata"]["annotations"]["revision"], LATER);
    assert_eq!(pod["metadata"]["labels"]["app.kubernetes.io/version"], LATER);
    assert!(pod["spec"].to_string().contains("--emit-admission-events"), "{pod}");
}

/// Under failurePolicy Fail and without pods every write outside of the operator's namespace is refused, also those of helm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uninstalled_when_no_pod_answers() {
    let mut cluster = Cluster::start().await;
    let (kubeconfig, chart) = (Some(cluster.plane.kubeconfig()), chart());
    let set = "validatingWebhookFailurePolicy=Fail,replicas=1,controllerManager.shutdownDelay=0,validatingWebhookName=mine";
    let install = [
        "install",
        RELEASE,
        chart.to_str().unwrap(),
        "-n",
        NAMESPACE,
        "--create-namespace",
        "--wait",
        "--set",
        set,
    ];
    helm(kubeconfig, &install).await;
    let kubectl = || cluster.plane.kubectl();
    let webhook = "validatingwebhookconfiguration/mine";
    must(kubectl().args(["wait", "--for=create", "--timeout=120s", webhook])).await;
    // The configuration keeps its name, and would call a Service that is gone.
    let beside = format!("{set},besideGatekeeper=true");
    let upgrade = ["upgrade", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--set", &beside];
    let refusal = refused(kubeconfig, &upgrade).await;
    assert!(refusal.contains("--cert-service-name=gatekeeper-webhook-service"), "{refusal}");
    must(kubectl().args(["scale", "-n", NAMESPACE, "--replicas=0", "deployment/webtroller"])).await;
    let pods = [
        "wait",
        "-n",
        NAMESPACE,
        "--for=delete",
        "--timeout=120s",
        "pods",
        "-l",
        "app.kubernetes.io/name=webtroller",
    ];
    must(kubectl().args(pods)).await;
    let write = ["create", "configmap", "a"];
    let answer = kubectl().args(write).output().await.unwrap();
    assert!(!answer.status.success(), "a write must be refused while no pod answers");

    helm(kubeconfig, &["uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout=300s"]).await;
    must(kubectl().args(write)).await;
    cluster.background.shutdown().await;
}

/// A pod with the labels of the Service that does not report: the API server may send requests to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_enforced_beside_another_pod_behind_the_service() {
    let mut cluster = Cluster::start().await;
    let chart = chart();
    let set = "replicas=2,controllerManager.shutdownDelay=0";
    let install =
        ["install", RELEASE, chart.to_str().unwrap(), "-n", NAMESPACE, "--create-namespace", "--wait"];
    helm(Some(cluster.plane.kubeconfig()), &[&install[..], &["--set", set]].concat()).await;
    let template = workspace("examples/quickstart/template.yaml");
    let object = "constrainttemplate/k8sreplicalimits";
    let enforced = |status: &str| format!("--for=condition=Enforced={status}");
    let kubectl = || cluster.plane.kubectl();
    let wait = async |status: &str| {
        must(kubectl().args(["wait", &enforced(status), "--timeout=120s", object])).await;
    };
    must(kubectl().args(["apply", "-f", template.to_str().unwrap()])).await;
    wait("True").await;

    let folder = cluster.folder.path().join("policies");
    std::fs::create_dir(&folder).unwrap();
    let stranger = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": NAMESPACE, "labels": {
            "app.kubernetes.io/name": "webtroller", "app.kubernetes.io/instance": RELEASE,
        }},
        "spec": {"serviceAccountName": "default", "containers": [{
            "name": "stranger", "image": "example.com/a", "args": ["serve", "--standalone", folder],
        }]},
    });
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    pods.create(&PostParams::default(), &serde_json::from_value(stranger).unwrap()).await.unwrap();
    let runs = "--for=jsonpath={.status.phase}=Running";
    must(kubectl().args(["wait", "-n", NAMESPACE, runs, "--timeout=60s", "pod/stranger"])).await;
    let ready = serde_json::json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status("stranger", &PatchParams::default(), &Patch::Strategic(ready)).await.unwrap();
    wait("Unknown").await;
    let message = "jsonpath={.status.conditions[?(@.type==\"Enforced\")].message}";
    let message = kubectl().args(["get", object, "-o", message]).output().await.unwrap();
    let message = String::from_utf8(message.stdout).unwrap();
    assert!(message.ends_with("waiting for stranger"), "{message}");
    must(kubectl().args(["delete", "pod", "-n", NAMESPACE, "stranger", "--grace-period=1"])).await;
    wait("True").await;
    cluster.background.shutdown().await;
}

/// An upgrade that has applied its objects and waits for pods does not bring the webhook back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uninstalled_while_an_upgrade_waits_for_its_pods() {
    let mut cluster = Cluster::start().await;
    let (kubeconfig, chart) = (Some(cluster.plane.kubeconfig()), chart());
    let set = "validatingWebhookFailurePolicy=Fail,replicas=2,controllerManager.shutdownDelay=0";
    let chart = chart.to_str().unwrap();
    let common = [RELEASE, chart, "-n", NAMESPACE, "--wait", "--set", set];
    let install = [&["install", "--create-namespace"][..], &common].concat();
    helm(kubeconfig, &install).await;
    let kubectl = || cluster.plane.kubectl();
    let webhook = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
    must(kubectl().args(["wait", "--for=create", "--timeout=120s", webhook])).await;
    let refusal = refused(kubeconfig, &install).await;
    assert!(refusal.contains("cannot reuse a name") || refusal.contains("cannot re-use a name"), "{refusal}");

    let revision = ["upgrade", "--timeout=60s", "--set", "podAnnotations.revision=second"];
    let upgrade = [&revision[..], &common].concat();
    let uninstall = async {
        let applied = "--for=jsonpath={.metadata.generation}=2";
        let deployment = ["wait", "-n", NAMESPACE, applied, "--timeout=60s", "deployment/webtroller"];
        must(kubectl().args(deployment)).await;
        helm(kubeconfig, &["uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout=300s"]).await;
    };
    // The upgrade may be told that its release is gone, or that its Deployment is.
    let (upgraded, ()) = tokio::join!(run(kubeconfig, &upgrade), uninstall);
    println!("the upgrade ended with {upgraded:?}");
    let left = kubectl().args(["get", webhook]).output().await.unwrap();
    assert!(!left.status.success(), "the webhook configuration came back");
    must(kubectl().args(["create", "configmap", "a"])).await;
    cluster.background.shutdown().await;
}

/// Has reports written, changed and deleted: one of a namespace, and one of cluster-scoped objects.
async fn report_violations(plane: &ControlPlane, folder: &Path) {
    let constraint = |action: &str| {
        format!(
            "
{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Forbidden, metadata: {{name: all}}, spec:
  {{enforcementAction: {action}, match: {{labelSelector: {{matchLabels: {{report: this}}}}}}}}}}
"
        )
    };
    let (template, objects) = (folder.join("forbidden.yaml"), folder.join("reported.yaml"));
    std::fs::write(&template, FORBIDDEN).unwrap();
    std::fs::write(&objects, REPORTED).unwrap();
    must(plane.kubectl().args(["apply", "-f", objects.to_str().unwrap()])).await;
    must(plane.kubectl().args(["apply", "-f", template.to_str().unwrap()])).await;
    let enforced = ["wait", "--for=condition=Enforced", "--timeout=120s", "constrainttemplate/forbidden"];
    must(plane.kubectl().args(enforced)).await;
    let path = folder.join("forbids.yaml");
    for (action, result) in [("dryrun", "fail"), ("warn", "warn")] {
        std::fs::write(&path, constraint(action)).unwrap();
        must(plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
        for report in ["report/webtroller-0", "clusterreport/webtroller-0"] {
            must(plane.kubectl().args(["wait", "-n", "reported", "--for=create", "--timeout=120s", report]))
                .await;
            let says = format!("--for=jsonpath={{.results[0].result}}={result}");
            must(plane.kubectl().args(["wait", "-n", "reported", &says, "--timeout=120s", report])).await;
        }
    }
    must(plane.kubectl().args(["delete", "forbidden", "all"])).await;
    for report in ["report/webtroller-0", "clusterreport/webtroller-0"] {
        must(plane.kubectl().args(["wait", "-n", "reported", "--for=delete", "--timeout=120s", report]))
            .await;
    }
}

const FORBIDDEN: &str = "
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: forbidden}
spec:
  crd: {spec: {names: {kind: Forbidden}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package forbidden
      violation[{\"msg\": \"no\"}] { true }
";
const REPORTED: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: reported, labels: {report: this}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: reported, labels: {report: this}}}
";

/// Uses the rights that a quiet installation does not: statuses of SyncSets and the Config, and repairs.
async fn change_what_the_operator_wrote(plane: &ControlPlane, folder: &Path) {
    let gvks = "[{group: '', version: v1, kind: Service}]";
    let sources = format!(
        "{{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {{name: s}}, spec: {{gvks: {gvks}}}}}
---
{{apiVersion: config.gatekeeper.sh/v1alpha1, kind: Config, metadata: {{name: config, namespace: {NAMESPACE}}},
  spec: {{sync: {{syncOnly: {gvks}}}}}}}
"
    );
    let path = folder.join("sources.yaml");
    std::fs::write(&path, sources).unwrap();
    must(plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
    for object in ["syncset/s", "config/config"] {
        let wait = ["wait", "--for=condition=Ingested", "--timeout=120s", "-n", NAMESPACE, object];
        must(plane.kubectl().args(wait)).await;
    }
    let crd = "crd/k8sreplicalimits.constraints.gatekeeper.sh";
    let webhook = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
    let edits = [
        (
            crd,
            "/spec/versions/0/additionalPrinterColumns",
            "[]",
            "{.spec.versions[0].additionalPrinterColumns[2].name}=enforced",
        ),
        (webhook, "/webhooks/0/timeoutSeconds", "7", "{.webhooks[0].timeoutSeconds}=3"),
    ];
    for (object, path, value, restored) in edits {
        let edit = format!(r#"[{{"op": "replace", "path": "{path}", "value": {value}}}]"#);
        must(plane.kubectl().args(["patch", object, "--type=json", "-p", &edit])).await;
        let restored = format!("--for=jsonpath={restored}");
        must(plane.kubectl().args(["wait", &restored, "--timeout=60s", object])).await;
    }
    let path = folder.join("former.yaml");
    std::fs::write(&path, FORMER).unwrap();
    must(plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
    let gone = ["wait", "--for=delete", "--timeout=120s", "validatingwebhookconfiguration/former"];
    must(plane.kubectl().args(gone)).await;
    let other =
        plane.kubectl().args(["get", "validatingwebhookconfiguration/neighbour"]).output().await.unwrap();
    assert!(other.status.success(), "the configuration of another namespace was removed");
    must(plane.kubectl().args(["delete", "validatingwebhookconfiguration/neighbour"])).await;
}

/// The registrations of pods with other names: those of this installation, and those of another one.
const FORMER: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: neighbour, labels: {gatekeeper.sh/system: 'yes'}, annotations: {webtroller.dev/registration-epoch: '1'}}
webhooks:
- name: validation.gatekeeper.sh
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {namespace: elsewhere, name: gone-webhook-service}}
  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [podtemplates]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: former, labels: {gatekeeper.sh/system: 'yes'}, annotations: {webtroller.dev/registration-epoch: '1'}}
webhooks:
- name: validation.gatekeeper.sh
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {namespace: gatekeeper-system, name: gone-webhook-service}}
  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [podtemplates]}]
";

/// The second denial raises the count of the first one's Event: one is created, and then patched.
async fn deny_twice(plane: &ControlPlane, client: kube::Client) {
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let events: Api<Event> = Api::namespaced(client, NAMESPACE);
    let denials = ListParams::default().fields("reason=FailedAdmission");
    for count in 1..=2 {
        let created = plane.kubectl().args(["create", "-f", bad.to_str().unwrap()]).output().await.unwrap();
        assert!(!created.status.success());
        let counted = async {
            let mut ticks = interval(Duration::from_millis(100));
            while events.list(&denials).await.unwrap().items.iter().all(|event| event.count != Some(count)) {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, counted).await.unwrap_or_else(|_| panic!("no Event has the count {count}"));
    }
    assert_eq!(events.list(&denials).await.unwrap().items.len(), 1);
}
