//! `webtroller explain-progress` on a real API server: a quota, Namespaces in deletion, providers, nodes and addresses that are absent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, reason = "as above")]

use std::process::{Output, Stdio};
use std::time::Duration;

use control_plane::ControlPlane;
use controller_declaration::{Declaration, DeclaredAccess};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// A kind that no program knows; NAME and GROUP are replaced.
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: KIND, plural: NAMEs, singular: NAME}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

const QUOTA: &str = "
{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {pods: '0'}}}";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: example.com/c}]}
";

async fn kubectl(plane: &ControlPlane, args: &[&str], input: &str) -> String {
    let mut command = plane.kubectl();
    // Far more than any step takes on a loaded machine; kubectl's own default is 30 s.
    let patience = (args.first() == Some(&"wait")).then_some("--timeout=300s");
    command.args(args).args(patience).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "kubectl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn apply(plane: &ControlPlane, namespace: &str, manifest: &str) {
    kubectl(plane, &["apply", "--server-side", "-n", namespace, "-f", "-"], manifest).await;
}

/// Waits until a kubectl that watches has printed something.
async fn first_line(plane: &ControlPlane, args: &[&str]) {
    let mut watch = plane.kubectl();
    let mut watch = watch.args(args).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = timeout(Duration::from_secs(300), lines.next_line()).await.expect("a line").unwrap();
    assert!(first.is_some());
}

async fn explain(plane: &ControlPlane, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    command.arg("explain-progress").args(args).env("KUBECONFIG", plane.kubeconfig());
    command.output().await.unwrap()
}

/// The report, and the marked line of the text.
async fn report(plane: &ControlPlane, args: &[&str]) -> (Value, String) {
    let output = explain(plane, &[args, &["-o", "json"]].concat()).await;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["problems"], Value::Array(Vec::new()), "{report:#}");
    let text = String::from_utf8(explain(plane, args).await.stdout).unwrap();
    let marked: Vec<_> = text.lines().filter(|line| line.ends_with("<== first cause")).collect();
    assert_eq!(marked.len(), 1, "{text}");
    assert!(text.lines().last().unwrap().starts_with("First cause: "), "{text}");
    (report, marked[0].to_owned())
}

#[tokio::test]
async fn a_deployment_without_pods_is_explained_by_the_quota() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("quota").await.unwrap();
    apply(plane, &namespace, QUOTA).await;
    // A quota is enforced from the moment at which it has been counted.
    kubectl(plane, &["wait", "--for=jsonpath={.status.hard.pods}=0", "quota/small", "-n", &namespace], "")
        .await;
    apply(plane, &namespace, DEPLOYMENT).await;
    kubectl(plane, &["wait", "--for=condition=ReplicaFailure", "deploy/web", "-n", &namespace], "").await;
    let (report, marked) = report(plane, &["deploy/web", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "ReplicaSet", "{report:#}");
    assert_eq!(report["tree"]["children"][0]["relation"]["type"], "owns", "{report:#}");
    assert!(marked.contains("! ReplicaFailure=True FailedCreate"), "{marked}");
    assert!(marked.contains("exceeded quota: small"), "{marked}");
    // From the other end: the owner is shown, and is not the cause.
    let set = report["cause"]["object"]["name"].as_str().unwrap();
    let (report, _) = self::report(plane, &[&format!("replicasets.apps/{set}"), "-n", &namespace]).await;
    let owner = &report["tree"]["children"][0];
    assert_eq!(owner["relation"]["type"], "ownedBy", "{report:#}");
    assert_eq!(owner["object"]["name"], "web");
    assert_eq!(report["cause"]["object"]["name"], set);
}

#[tokio::test]
async fn a_namespace_that_does_not_go_is_explained_by_a_finalizer_in_it() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("old").await.unwrap();
    let kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, finalizers: [example.com/archive]}}";
    let manager = ["apply", "--server-side", "--field-manager=archiver", "-n", &namespace, "-f", "-"];
    kubectl(plane, &manager, kept).await;
    kubectl(plane, &["delete", "namespace", &namespace, "--wait=false"], "").await;
    let remaining = "--for=condition=NamespaceFinalizersRemaining";
    kubectl(plane, &["wait", remaining, "namespace", &namespace], "").await;
    let (report, marked) = report(plane, &[&format!("ns/{namespace}")]).await;
    assert_eq!(report["cause"]["object"]["name"], "kept", "{report:#}");
    assert_eq!(report["tree"]["children"][0]["relation"]["type"], "contains", "{report:#}");
    assert!(marked.contains("waits for finalizer example.com/archive, added by archiver at 20"), "{marked}");
    let archived = r#"--patch={"metadata": {"finalizers": null}}"#;
    kubectl(plane, &["patch", "configmap/kept", "-n", &namespace, "--type=merge", archived], "").await;
}

#[tokio::test]
async fn a_machine_is_explained_by_the_provider_that_is_absent() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("machines").await.unwrap();
    for (kind, group) in [("Machine", "cluster.example.com"), ("SmallMachine", "infra.example.com")] {
        let definition = DEFINITION.replace("NAME", &kind.to_lowercase()).replace("KIND", kind);
        apply(plane, &namespace, &definition.replace("GROUP", group)).await;
        let crd = format!("crd/{}s.{group}", kind.to_lowercase());
        kubectl(plane, &["wait", "--for=condition=Established", &crd], "").await;
    }
    let machine = |name: &str, version: &str, kind: &str| {
        format!(
            "{{apiVersion: cluster.example.com/v1, kind: Machine, metadata: {{name: {name}}}, \
             spec: {{infrastructureRef: {{apiVersion: {version}/v1, kind: {kind}, name: {name}}}}}}}"
        )
    };
    apply(plane, &namespace, &machine("unknown", "big.example.com", "BigMachine")).await;
    let (report, marked) = report(plane, &["machine/unknown", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "BigMachine", "{report:#}");
    assert!(marked.contains("! the cluster serves no kind BigMachine of group big.example.com"), "{marked}");

    apply(plane, &namespace, &machine("web", "infra.example.com", "SmallMachine")).await;
    let (report, marked) = self::report(plane, &["machine/web", "-n", &namespace]).await;
    assert_eq!(report["tree"]["children"][0]["relation"]["field"], "spec.infrastructureRef", "{report:#}");
    assert!(marked.contains("! does not exist"), "{marked}");

    // The kind and the object exist, but no controller reconciles it.
    let small = "{apiVersion: infra.example.com/v1, kind: SmallMachine, metadata: {name: web}, spec: {}}";
    apply(plane, &namespace, small).await;
    let (report, marked) = self::report(plane, &["machine/web", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "SmallMachine", "{report:#}");
    assert!(marked.contains(". no controller has written a status"), "{marked}");
}

/// A user has set the finalizers, so `managedFields` do not name who has to remove them: the controllers' roles do.
#[tokio::test]
async fn a_finalizer_is_explained_by_the_controller_that_declares_it() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("declared").await.unwrap();
    let declares = |name: &str, finalizer: &str| {
        let access = DeclaredAccess::to("", "configmaps").adds_finalizer(finalizer);
        Declaration::new(name, "Holds ConfigMaps.").access(access)
    };
    let archiver = declares("archiver", "example.com/archive").role(&namespace);
    apply(plane, &namespace, &serde_json::to_string(&archiver).unwrap()).await;
    let access = DeclaredAccess::to("", "configmaps").everywhere().adds_finalizer("example.com/index");
    let indexer = Declaration::new("indexer", "Holds ConfigMaps.").access(access).cluster_role().unwrap();
    apply(plane, &namespace, &serde_json::to_string(&indexer).unwrap()).await;
    let held = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: \
                [example.com/archive, example.com/index, example.com/other]}}";
    apply(plane, &namespace, held).await;
    kubectl(plane, &["delete", "configmap/held", "-n", &namespace, "--wait=false"], "").await;
    let (report, marked) = report(plane, &["configmap/held", "-n", &namespace]).await;
    assert!(marked.contains("example.com/archive, added by kubectl at 20"), "{marked}");
    assert!(marked.contains(", declared by the controller archiver"), "{marked}");
    let messages = report["tree"]["findings"].to_string();
    assert!(messages.contains(", declared by the controller indexer"), "{messages}");
    assert_eq!(messages.matches("declared by").count(), 2, "{messages}");
    let gone = r#"--patch={"metadata": {"finalizers": null}}"#;
    kubectl(plane, &["patch", "configmap/held", "-n", &namespace, "--type=merge", gone], "").await;
}

/// A Job has no condition while its pods cannot be made: its Events say why.
#[tokio::test]
async fn a_job_without_pods_is_explained_by_its_events() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("jobs").await.unwrap();
    apply(plane, &namespace, QUOTA).await;
    kubectl(plane, &["wait", "--for=jsonpath={.status.hard.pods}=0", "quota/small", "-n", &namespace], "")
        .await;
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: stuck}, spec: {template: {spec: \
               {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}";
    apply(plane, &namespace, job).await;
    let selector = "involvedObject.name=stuck,reason=FailedCreate";
    let events = ["get", "events", "--watch", "-o", "name", "-n", &namespace, "--field-selector", selector];
    first_line(plane, &events).await;
    let (report, marked) = report(plane, &["job/stuck", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "Job", "{report:#}");
    assert!(marked.contains(". Warning FailedCreate at 20"), "{marked}");
    assert!(marked.contains("exceeded quota: small"), "{marked}");
}

/// The API server lists them by name, and the newest one comes last.
#[tokio::test]
async fn the_newest_of_many_events_is_the_one_that_is_shown() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("many-events").await.unwrap();
    let kind = "{apiVersion: v1, kind: ConfigMap, metadata: {name: noisy}}";
    apply(plane, &namespace, kind).await;
    let uid = ["get", "configmap", "noisy", "-n", &namespace, "-o", "jsonpath={.metadata.uid}"];
    let uid = kubectl(plane, &uid, "").await;
    let event = |number: u32| {
        serde_json::json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("noisy.{number:04}"), "namespace": namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "noisy", "namespace": namespace, "uid": uid},
            "type": "Warning", "reason": "Noise", "message": format!("number {number}"),
            "lastTimestamp": format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60),
        })
    };
    let events: Vec<_> = (0..1100).map(event).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": events});
    kubectl(plane, &["create", "-f", "-"], &list.to_string()).await;
    let (_, marked) = report(plane, &["configmap/noisy", "-n", &namespace]).await;
    assert!(marked.contains("number 1099"), "{marked}");
}

#[tokio::test]
async fn a_load_balancer_is_explained_by_the_address_that_it_has_not() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("balancers").await.unwrap();
    let service = "{apiVersion: v1, kind: Service, metadata: {name: web}, \
                   spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}}";
    apply(plane, &namespace, service).await;
    let (_, marked) = report(plane, &["service/web", "-n", &namespace]).await;
    assert!(
        marked.contains(". no controller has given it an address: spec.type is LoadBalancer"),
        "{marked}"
    );
    let status = r#"--patch={"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}"#;
    let patch = ["patch", "service/web", "-n", &namespace, "--subresource=status", "--type=merge", status];
    kubectl(plane, &patch, "").await;
    let output = explain(plane, &["service/web", "-n", &namespace]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A StatefulSet has nothing but a number; its pod names the claim, and an Event of the claim what that waits for.
#[tokio::test]
async fn a_stateful_set_is_explained_by_the_claim_of_its_pod() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("claims").await.unwrap();
    let set = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2, serviceName: db, \
               selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: \
               [{name: c, image: example.com/c}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: \
               {storageClassName: absent, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}";
    apply(plane, &namespace, set).await;
    let selector = "involvedObject.name=data-db-0";
    let events = ["get", "events", "--watch", "-o", "name", "-n", &namespace, "--field-selector", selector];
    first_line(plane, &events).await;
    let (report, marked) = report(plane, &["sts/db", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "PersistentVolumeClaim", "{report:#}");
    assert!(marked.contains("ProvisioningFailed"), "{marked}");
    assert!(marked.contains(r#"storageclass.storage.k8s.io "absent" not found"#), "{marked}");
}

#[tokio::test]
async fn a_cron_job_is_explained_by_its_suspension() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("crons").await.unwrap();
    let cron = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '0 3 * * *', suspend: \
                true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: \
                example.com/c}]}}}}}}";
    apply(plane, &namespace, cron).await;
    let (_, marked) = report(plane, &["cronjob/nightly", "-n", &namespace]).await;
    assert!(marked.contains("! spec.suspend is true"), "{marked}");
}

/// Nothing writes the status of a CronJob before its time, and of most priority levels ever.
#[tokio::test]
async fn what_is_well_without_a_status_is_not_held_up() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("silent").await.unwrap();
    let cron = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: rare}, spec: {schedule: '@yearly', jobTemplate: {spec: \
                {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}}}";
    apply(plane, &namespace, cron).await;
    let levels = kubectl(plane, &["get", "prioritylevelconfigurations", "-o", "name"], "").await;
    assert!(levels.lines().count() > 2, "{levels}");
    for object in levels.lines().chain(["cronjob/rare"]) {
        let object = object.replace(".flowcontrol.apiserver.k8s.io", "");
        let output = explain(plane, &[&object, "-n", &namespace]).await;
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// No finalizer holds it, and its grace period is over: the node that should confirm its end is not there.
#[tokio::test]
async fn a_pod_that_does_not_end_is_explained_by_its_node() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("nodes").await.unwrap();
    let node = format!("lost-{namespace}");
    apply(plane, &namespace, &format!("{{apiVersion: v1, kind: Node, metadata: {{name: {node}}}}}")).await;
    let status = r#"--patch={"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}}"#;
    kubectl(plane, &["patch", "node", &node, "--subresource=status", "--type=merge", status], "").await;
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{nodeName: {node}, containers: [{{name: c, image: \
         example.com/c}}]}}}}"
    );
    apply(plane, &namespace, &pod).await;
    kubectl(plane, &["delete", "pod/web", "-n", &namespace, "--grace-period=1", "--wait=false"], "").await;
    let (report, marked) = report(plane, &["pod/web", "-n", &namespace]).await;
    assert_eq!(report["cause"]["object"]["kind"], "Node", "{report:#}");
    assert!(marked.contains("Ready=Unknown NodeStatusUnknown"), "{marked}");
    kubectl(plane, &["delete", "node", &node], "").await;
}

/// On a control plane of its own: an API server that is registered and absent is one for every Namespace.
#[tokio::test]
async fn a_namespace_that_does_not_go_is_explained_by_the_server_that_does_not_answer() {
    let plane = &ControlPlane::start().await.unwrap();
    let registration = "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.absent.example.com}, \
                        spec: {group: absent.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, \
                        insecureSkipTLSVerify: true, service: {namespace: default, name: absent}}}";
    apply(plane, "default", registration).await;
    kubectl(plane, &["wait", "--for=condition=Available=False", "apiservice/v1.absent.example.com"], "")
        .await;
    kubectl(plane, &["create", "namespace", "old"], "").await;
    kubectl(plane, &["delete", "namespace", "old", "--wait=false"], "").await;
    kubectl(plane, &["wait", "--for=condition=NamespaceDeletionDiscoveryFailure", "namespace/old"], "").await;
    let output = explain(plane, &["namespace/old"]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("└── needs APIService v1.absent.example.com"), "{text}");
    let marked = text.lines().find(|line| line.ends_with("<== first cause")).expect("a mark");
    assert!(marked.contains("Available=False ServiceNotFound"), "{text}");
}

/// The garbage collector leaves alone what names an owner that it cannot find, and what names one that cannot be.
#[tokio::test]
async fn owners_that_cannot_be_found_are_named() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("owners").await.unwrap();
    let owned = |what: &str, version: &str, kind: &str, name: &str, uid: &str| {
        format!(
            "{{{what}, metadata: {{name: {namespace}-owned, ownerReferences: \
             [{{apiVersion: {version}, kind: {kind}, name: {name}, uid: {uid}}}]}}}}"
        )
    };
    let uid = "6c4ad9a8-8a6f-4b8c-b0d8-3b8c2f1d9c11";
    let map = owned("apiVersion: v1, kind: ConfigMap", "absent.example.com/v1", "Absent", "a", uid);
    apply(plane, &namespace, &map).await;
    let (_, marked) = report(plane, &[&format!("configmap/{namespace}-owned"), "-n", &namespace]).await;
    assert!(marked.contains("the cluster serves no such kind"), "{marked}");

    let root = "configmap/kube-root-ca.crt";
    kubectl(plane, &["wait", "--for=create", root, "-n", &namespace], "").await;
    let uid = kubectl(plane, &["get", root, "-n", &namespace, "-o", "jsonpath={.metadata.uid}"], "").await;
    let role = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole";
    apply(plane, &namespace, &owned(role, "v1", "ConfigMap", "kube-root-ca.crt", &uid)).await;
    let output = explain(plane, &[&format!("clusterrole/{namespace}-owned")]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("└── owned by ConfigMap kube-root-ca.crt"), "{text}");
    assert!(text.contains(". cannot own what is in no namespace"), "{text}");

    // From the other end: what a kind without namespaces owns is found in all of them.
    let uid = kubectl(plane, &["get", "namespace", &namespace, "-o", "jsonpath={.metadata.uid}"], "").await;
    let map = owned("apiVersion: v1, kind: ConfigMap", "v1", "Namespace", &namespace, &uid);
    apply(plane, &namespace, &map.replace("-owned", "-below")).await;
    let output = explain(plane, &[&format!("namespace/{namespace}")]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("└── owns ConfigMap {namespace}/{namespace}-below")), "{text}");
}

#[tokio::test]
async fn what_does_not_exist_and_what_is_well_have_exit_codes_of_their_own() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("well").await.unwrap();
    for (object, code, said) in [
        ("configmap/kube-root-ca.crt", 0, "Nothing holds it up."),
        ("configmap/none", 2, "there is no ConfigMap none in namespace well-"),
        ("unheard-of/none", 2, "the cluster serves no kind unheard-of"),
        ("configmap", 2, "configmap is not KIND/NAME"),
        ("deployment/web/scale", 2, "deployment/web/scale is not KIND/NAME"),
        ("configmap/..", 2, "configmap/.. is not KIND/NAME"),
    ] {
        kubectl(plane, &["wait", "--for=create", "configmap/kube-root-ca.crt", "-n", &namespace], "").await;
        let output = explain(plane, &[object, "-n", &namespace]).await;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(output.status.code(), Some(code), "{object}: {text}");
        assert!(text.contains(said), "{object}: {text}");
    }
}
