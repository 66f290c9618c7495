//! The building blocks that talk to a cluster, on a real API server: what they print, with the rights that they declare and no
//! others, and what they declare against the API server's audit log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, reason = "as above")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use control_plane::{ControlPlane, Options};
use controller_declaration::{Declaration, check, check_consistency, of_user};
use examples::{Cluster, building_blocks, declared_page, declared_roles, grant};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// Bodies of writes are logged, so that the fields that are written are compared with those that are declared.
const WRITES_WITH_BODIES: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
        {"level": "Request", "verbs": ["create", "update", "patch"]},
        {"level": "Metadata"}
    ]
}"#;
/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(300);
const GADGETS: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, \
    spec: {group: example.com, scope: Namespaced, names: {kind: Gadget, plural: gadgets}, versions: [{name: v1, served: true, \
    storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";

async fn plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED
        .get_or_init(async || Options::default().audit_policy(WRITES_WITH_BODIES).start().await.unwrap())
        .await
}

fn username(declaration: &Declaration) -> String {
    format!("system:serviceaccount:default:{}", declaration.name())
}

/// A program with the rights of its declaration; its kubeconfig is in the folder.
async fn program(name: &str, declaration: &Declaration) -> (Command, TempDir) {
    let plane = plane().await;
    let admin = Cluster::connect(plane.config(), "default", "admin", None).unwrap();
    grant(&admin, std::slice::from_ref(declaration)).await.unwrap();
    let mut config: Value =
        serde_json::from_str(&std::fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"]["as"] = username(declaration).into();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let mut command = Command::new(path);
    command.env("KUBECONFIG", kubeconfig).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    (command, folder)
}

/// Runs a program and returns what it prints until it ends by itself.
async fn printed(mut command: Command) -> String {
    let output = timeout(PATIENCE, command.output()).await.expect("it must end").unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

async fn kubectl(arguments: &[&str], input: &str) -> String {
    let mut command = plane().await.kubectl();
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Nothing undeclared, nothing unused, nothing refused.
async fn check_audit(declaration: &Declaration) {
    check_audit_but(declaration, &[]).await;
}

/// The same, where it depends on timing if some declared calls are made.
async fn check_audit_but(declaration: &Declaration, rare: &[&str]) {
    let user = username(declaration);
    let differences = |log: &[Value]| {
        let report = check(declaration, of_user(log, &user)).to_string();
        let is_rare = |line: &str| rare.iter().any(|call| line == format!("declared and never made: {call}"));
        report.lines().filter(|line| !is_rare(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    let log = plane().await.audit_log_until(|log| differences(log).is_empty()).await.unwrap();
    assert!(of_user(&log, &user).next().is_some(), "{} made no call", declaration.name());
    assert_eq!(differences(&log), [""; 0], "{}", declaration.name());
}

#[tokio::test]
async fn the_webhooks_refuse_and_change_and_outlive_their_certificate() {
    let declaration = building_blocks::admission_server();
    let (command, _folder) = program("admission_server", &declaration).await;
    let said = printed(command).await;
    let lines: Vec<_> = said.lines().collect();
    let [refused, created, rotated] = lines.as_slice() else { panic!("{said}") };
    assert!(refused.contains("ConfigMap without-owner needs data.owner"), "{refused}");
    assert_eq!(*created, r#"created with-owner with {"app": "a", "team": "shop"}"#);
    assert_eq!(*rotated, r#"rotated: created after-rotation with {"app": "a", "team": "shop"}"#);
    check_audit(&declaration).await;
    a_program_that_is_asked_to_end_leaves_no_webhook(&declaration).await;
}

/// Stopped in the middle, when another client deletes one of the two webhooks; SIGTERM finds the other one.
async fn a_program_that_is_asked_to_end_leaves_no_webhook(declaration: &Declaration) {
    let (mut command, _folder) = program("admission_server", declaration).await;
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let refused = timeout(PATIENCE, lines.next_line()).await.expect("it refuses").unwrap().unwrap();
    assert!(refused.contains("needs data.owner") && !refused.contains("Status"), "{refused}");
    let process = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    kubectl(&["delete", "mutatingwebhookconfiguration/admission-example"], "").await;
    kill_process(process, Signal::TERM).unwrap();
    kill_process(process, Signal::CONT).unwrap();
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("it must end").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        assert_eq!(kubectl(&["get", kind, "-o", "name"], "").await, "", "{kind}");
    }
}

#[tokio::test]
async fn watches_of_kinds_that_come_later_are_followed() {
    let declaration = building_blocks::watch_manager();
    let (mut command, _folder) = program("watch_manager", &declaration).await;
    let mut watching = command.arg("--cluster").spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let gadget = "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: lamp}}";
    for (before, expected) in [
        ("", "policies: that was every Namespace"),
        (GADGETS, "policies: that was every Gadget"),
        (gadget, "policies: Gadget default/lamp is there"),
    ] {
        if !before.is_empty() {
            kubectl(&["apply", "--server-side", "-f", "-"], before).await;
        }
        let found = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line == expected {
                    return;
                }
            }
            panic!("{expected}: it has ended");
        };
        timeout(PATIENCE, found).await.expect(expected);
    }
    check_audit(&declaration).await;
}

/// Two replicas; one ends, and what it has reported goes with its pod.
#[tokio::test]
async fn replicas_report_what_they_enforce() {
    let declaration = building_blocks::replica();
    let (mut folders, mut running) = (Vec::new(), Vec::new());
    for name in ["replica-a", "replica-b"] {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: c, image: none.invalid/none}}]}}}}"
        );
        let pod: Value =
            serde_json::from_str(&kubectl(&["create", "-o", "json", "-f", "-"], &pod).await).unwrap();
        let (mut command, folder) = program("pod_status", &declaration).await;
        command.env("POD_NAME", name).env("POD_NAMESPACE", "default");
        command
            .env("POD_UID", pod["metadata"]["uid"].as_str().unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        running.push(command.spawn().unwrap());
        folders.push(folder);
    }
    kubectl(&["wait", "--for=create", "--timeout=300s", "crd/lamps.example.com"], "").await;
    kubectl(&["wait", "--for=condition=Established", "--timeout=300s", "crd/lamps.example.com"], "").await;
    kubectl(&["apply", "-f", "-"], "{apiVersion: example.com/v1, kind: Lamp, metadata: {name: hall}}").await;
    let entry = async |which: &str, name: &str| {
        let there = format!("--for=jsonpath={{.status.byPod[{which}].id}}={name}");
        kubectl(&["wait", &there, "--timeout=300s", "lamp/hall"], "").await;
    };
    entry(r#"?(@.id=="replica-a")"#, "replica-a").await;
    entry(r#"?(@.id=="replica-b")"#, "replica-b").await;
    drop(running.remove(0));
    kubectl(&["delete", "pod", "replica-a", "--grace-period=0", "--force"], "").await;
    // The entries are in the order of the names.
    entry("0", "replica-b").await;
    // One that finds its definitions established in the first list does not watch them.
    check_audit_but(&declaration, &["watch customresourcedefinitions.apiextensions.k8s.io"]).await;
}

#[tokio::test]
async fn conditions_are_read_from_any_kind() {
    let declaration = building_blocks::duck_reader();
    kubectl(&["wait", "--for=create", "--timeout=300s", "namespace/kube-system"], "").await;
    let (mut command, _folder) = program("duck_reader", &declaration).await;
    command.args(["--cluster", "v1/Namespace"]);
    let said = printed(command).await;
    assert!(said.contains("Namespace kube-system: no conditions"), "{said}");
    check_audit(&declaration).await;
}

/// `PATTERNS_UPDATE=1` writes them.
#[test]
fn the_committed_roles_and_page_are_those_of_the_declarations() {
    let declarations = building_blocks::declarations();
    assert_eq!(check_consistency(&declarations), Ok(()));
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    for (file, text) in [
        ("roles.yaml", declared_roles(&declarations, "default").unwrap()),
        ("controllers.md", declared_page(&declarations)),
    ] {
        let path = folder.join(file);
        if std::env::var_os("PATTERNS_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, text, "{}: run with PATTERNS_UPDATE=1", path.display());
    }
}

/// The limit that a reader is promised: an admission controller in a hundred lines.
#[test]
fn the_admission_controller_has_a_hundred_lines() {
    let lines = include_str!("../examples/admission_server.rs").lines().count();
    assert!(lines <= 100, "{lines} lines");
}
