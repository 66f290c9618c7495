//! The demo on a real API server; the end state is read from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use control_plane::{ControlPlane, Options};
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use tokio::process::Command;
use tokio::time::timeout;
use wasm_plugins::{Limits, Sandbox};

/// Bodies of writes are logged, so that the fields that a controller writes are compared with those it declares.
const WRITES_WITH_BODIES: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
        {"level": "Request", "verbs": ["create", "update", "patch"]},
        {"level": "Metadata"}
    ]
}"#;

/// Cargo builds the examples of a package beside its tests, before it runs those.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/wasm_plugins")
}

#[tokio::test]
async fn plug_ins_in_two_languages_are_asked_and_misbehaving_ones_are_named() {
    let plane = Options::default().audit_policy(WRITES_WITH_BODIES).start().await.unwrap();
    let mut command = Command::new(program());
    command.args(["--demo", "--here"]).env("KUBECONFIG", plane.kubeconfig()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(400), command.output()).await.expect("it must end").unwrap();
    let story = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{story}{}", String::from_utf8_lossy(&output.stderr));

    let committed = include_str!("../objects.yaml").lines().find_map(|line| line.split_once("plugIn: "));
    let (_, digest) = committed.unwrap();
    assert!(story.contains(&format!("only-eu is {digest}")), "objects.yaml has another digest:\n{story}");

    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("wasm.example.com", "v1", "Machine"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(plane.client().unwrap(), &kind);
    let machines = api.list(&ListParams::default()).await.unwrap();
    let message = |name: &str| {
        let machine = machines.items.iter().find(|machine| machine.name_any() == name).expect(name);
        machine.data["status"]["conditions"][0]["message"].as_str().unwrap().to_owned()
    };
    for name in ["in-wat", "in-go", "after"] {
        assert_eq!(message(name), "by its plug-in", "{story}");
    }
    for (name, why) in [
        ("loops", "was stopped: wasm trap: all fuel consumed"),
        ("hoards", "was stopped: memory minimum size of 5000 pages exceeds memory limits"),
        ("outside", "gave a bad answer: it points outside its memory"),
        ("traps", "was stopped: wasm trap: wasm `unreachable` instruction executed"),
        ("files", "imports env.open, and plug-ins are given nothing"),
        ("changed", "it was changed, refuse it"),
        ("unsigned", "is not signed"),
        ("strange", "has no signature of a trusted key"),
    ] {
        assert!(message(name).contains(why), "{name}: {}", message(name));
    }
    check_declaration(&plane).await;
}

/// Compares what the controller did, according to the API server's audit log, with what it declares.
async fn check_declaration(plane: &ControlPlane) {
    let lines: Vec<_> = plane.audit_log().unwrap().iter().map(|event| format!("{event}\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    std::fs::write(&path, lines.concat()).unwrap();
    let output = Command::new(program()).arg("--check-audit").arg(path).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// `PATTERNS_UPDATE=1` writes them.
#[tokio::test]
async fn the_committed_manifests_are_those_of_the_program_and_the_api_server_accepts_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        ("--definitions", "definitions.yaml"),
        ("--roles", "roles.yaml"),
        ("--declarations", "controllers.md"),
    ];
    for (argument, file) in files {
        let printed = Command::new(program()).arg(argument).output().await.unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        if std::env::var_os("PATTERNS_UPDATE").is_some() {
            std::fs::write(folder.join(file), &printed).unwrap();
        }
        let committed = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        assert_eq!(committed, printed, "{file}: run with PATTERNS_UPDATE=1");
    }
    let plane = ControlPlane::start().await.unwrap();
    let kubectl = async |arguments: &[&str], file: &str| {
        let output = plane.kubectl().args(arguments).arg(folder.join(file)).output().await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    kubectl(&["apply", "--server-side", "-f"], "definitions.yaml").await;
    kubectl(&["wait", "--for=condition=Established", "-f"], "definitions.yaml").await;
    kubectl(&["apply", "--server-side", "--dry-run=server", "-f"], "objects.yaml").await;
}

/// A table has eight bytes of the host for each element, which the limit on memory does not count.
#[test]
fn tables_are_bounded_when_they_are_made_and_when_they_grow() {
    let sandbox = Sandbox::new(Limits::default()).unwrap();
    let module = |tables: &str, version: &str| {
        let module = format!(
            r#"(module {tables} (memory (export "memory") 1)
            (func (export "abi_version") (result i32) {version}))"#
        );
        sandbox.load(module.as_bytes()).map(drop).map_err(|error| error.to_string())
    };
    let grow = |by: u32| format!("(table.grow 0 (table.get 0 (i32.const 0)) (i32.const {by}))");
    assert_eq!(module("(table 10 funcref)", "(i32.const 1)"), Ok(()));
    let refused = module("(table 100000000 funcref)", "(i32.const 1)").unwrap_err();
    assert!(refused.starts_with("was stopped: table minimum size"), "{refused}");
    // `table.grow` answers -1, which is then the version.
    let grown = module("(table 10 funcref)", &grow(100_000_000)).unwrap_err();
    assert_eq!(grown, "has ABI version -1, and 1 is spoken here");
    assert!(module(&"(table 10 funcref)".repeat(100), "(i32.const 1)").is_err());
}
