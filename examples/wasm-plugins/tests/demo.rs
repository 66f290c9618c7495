//! The demo on a real API server; the end state is read from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use control_plane::ControlPlane;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use tokio::process::Command;
use tokio::time::timeout;

/// Cargo builds the examples of a package beside its tests, before it runs those.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/wasm_plugins")
}

#[tokio::test]
async fn plug_ins_in_two_languages_are_asked_and_misbehaving_ones_are_named() {
    let plane = ControlPlane::start().await.unwrap();
    let mut command = Command::new(program());
    command.args(["--demo", "--here"]).env("KUBECONFIG", plane.kubeconfig()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(400), command.output()).await.expect("it must end").unwrap();
    let story = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{story}{}", String::from_utf8_lossy(&output.stderr));

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
    ] {
        assert!(message(name).contains(why), "{name}: {}", message(name));
    }
}

/// `PATTERNS_UPDATE=1` writes the definitions.
#[tokio::test]
async fn the_committed_manifests_are_those_of_the_program_and_the_api_server_accepts_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let definitions = folder.join("definitions.yaml");
    let printed = Command::new(program()).arg("--definitions").output().await.unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    if std::env::var_os("PATTERNS_UPDATE").is_some() {
        std::fs::write(&definitions, &printed).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&definitions).unwrap(), printed, "run with PATTERNS_UPDATE=1");
    let plane = ControlPlane::start().await.unwrap();
    let kubectl = async |arguments: &[&str], file: &str| {
        let output = plane.kubectl().args(arguments).arg(folder.join(file)).output().await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    kubectl(&["apply", "--server-side", "-f"], "definitions.yaml").await;
    kubectl(&["wait", "--for=condition=Established", "-f"], "definitions.yaml").await;
    kubectl(&["apply", "--server-side", "--dry-run=server", "-f"], "objects.yaml").await;
}
