//! helm at the version that `helm/go.mod` pins.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

pub(crate) const RELEASE: &str = "webtroller";
pub(crate) const NAMESPACE: &str = "gatekeeper-system";
/// The version of [`later_chart`].
pub(crate) const LATER: &str = "999.0.0";

/// The chart in this repository.
pub(crate) fn chart() -> PathBuf {
    workspace("charts/webtroller")
}

/// A later version of the chart in `folder`, with a default that annotates the pods.
pub(crate) fn later_chart(folder: &Path) -> PathBuf {
    let later = folder.join("later");
    let copied = std::process::Command::new("cp").arg("-R").arg(chart()).arg(&later).status().unwrap();
    assert!(copied.success());
    edit(&later.join("Chart.yaml"), |line| {
        line.split_once("ersion: ")
            .filter(|(key, _)| ["v", "appV"].contains(key))
            .map(|(key, _)| format!("{key}ersion: {LATER}"))
    });
    edit(&later.join("values.yaml"), |line| {
        (line == "podAnnotations: {}").then(|| format!("podAnnotations: {{revision: {LATER}}}"))
    });
    later
}

/// Replaces the lines of a file for which `replace` returns another one: at least one.
fn edit(path: &Path, replace: impl Fn(&str) -> Option<String>) {
    let before = std::fs::read_to_string(path).unwrap();
    let after: String =
        before.lines().map(|line| replace(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
    assert_ne!(after, before, "{}", path.display());
    std::fs::write(path, after).unwrap();
}

/// A path in the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Runs helm; it must succeed. `kubeconfig` is `None` for commands that touch no cluster.
pub(crate) async fn helm(kubeconfig: Option<&Path>, args: &[&str]) -> String {
    run(kubeconfig, args).await.unwrap_or_else(|error| panic!("helm {}: {error}", args.join(" ")))
}

/// Runs helm; it must fail. Returns its message.
pub(crate) async fn refused(kubeconfig: Option<&Path>, args: &[&str]) -> String {
    run(kubeconfig, args).await.expect_err("helm must refuse this")
}

/// Runs helm, and returns its output or its message.
pub(crate) async fn run(kubeconfig: Option<&Path>, args: &[&str]) -> Result<String, String> {
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install/helm");
    let build = move || go_program::build(&pins, "helm.sh/helm/v4/cmd/helm", "install", "helm");
    let program = tokio::task::spawn_blocking(build).await.unwrap().unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true).env("HOME", home.path());
    match kubeconfig {
        Some(path) => command.env("KUBECONFIG", path),
        None => command.env_remove("KUBECONFIG"),
    };
    let output = command.output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
