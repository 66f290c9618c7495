//! The committed manifests: the definitions are those of the programs, and the API server accepts the objects.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::process::Command;

use crate::demo::{install, kubectl, plane, program};

const PATTERNS: [&str; 6] = [
    "api_contract",
    "in_process_plugins",
    "one_object",
    "out_of_process_plugins",
    "related_objects",
    "sidecar_plugins",
];

fn manifest(pattern: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("patterns").join(pattern).join(name)
}

/// `PATTERNS_UPDATE=1` writes them.
#[tokio::test]
async fn the_committed_manifests_and_pages_are_those_of_the_programs() {
    let definitions = ("--definitions", "definitions.yaml");
    let declared = [("--roles", "roles.yaml"), ("--declarations", "controllers.md")];
    let of_patterns = PATTERNS.into_iter().flat_map(|pattern| {
        let files = std::iter::once(definitions).chain(declared);
        files.map(move |(argument, file)| (pattern, argument, manifest(pattern, file)))
    });
    let one_rule = Path::new(env!("CARGO_MANIFEST_DIR")).join("one_rule");
    let of_one_rule = declared.map(|(argument, file)| ("one_rule", argument, one_rule.join(file)));
    for (pattern, argument, path) in of_patterns.chain(of_one_rule) {
        let output = Command::new(program(pattern)).arg(argument).output().await.unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        if std::env::var_os("PATTERNS_UPDATE").is_some() {
            std::fs::write(&path, &printed).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, printed, "{}: run with PATTERNS_UPDATE=1", path.display());
    }
}

#[tokio::test]
async fn the_api_server_accepts_the_committed_objects() {
    let plane = plane().await;
    for pattern in PATTERNS {
        let kubectl = async |arguments: &[&str], file: &str| {
            let mut command = plane.kubectl();
            command.args(arguments).arg(manifest(pattern, file));
            let output = command.output().await.unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{pattern} {arguments:?}: {errors}");
        };
        kubectl(&["apply", "--server-side", "--force-conflicts", "-f"], "definitions.yaml").await;
        kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "-f"], "definitions.yaml").await;
        for file in ["objects.yaml", "roles.yaml"] {
            kubectl(&["apply", "--server-side", "--dry-run=server", "-f"], file).await;
        }
    }
}

/// Applied as they are, the manifests let the Pod do what its controller declares.
#[tokio::test]
async fn the_deployment_with_a_sidecar_has_the_rights_of_its_controller() {
    let path = |file: &str| manifest("sidecar_plugins", file).display().to_string();
    install("sidecar_plugins", "default").await;
    let stored = async |file: &str| {
        let apply = ["apply", "--server-side", "--dry-run=server", "-o", "json", "-f", &path(file)];
        let stored = kubectl("default", &apply, "").await;
        let list: Value = serde_json::from_str(&stored).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let (roles, objects) = (stored("roles.yaml").await, stored("objects.yaml").await);
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).expect("such an object");
    let account = &of_kind("Deployment")["spec"]["template"]["spec"]["serviceAccountName"];
    let binding = of_kind("RoleBinding");
    assert_eq!(
        (&binding["subjects"][0]["name"], &of_kind("ServiceAccount")["metadata"]["name"]),
        (account, account)
    );
    let role = roles.iter().find(|role| role["metadata"]["name"] == binding["roleRef"]["name"]).unwrap();
    assert!(role["rules"].to_string().contains("sidecar.example.com"), "{role}");
}
