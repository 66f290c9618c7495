//! controller-runtime, as a Go program that is built from its pinned modules.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use kube::core::GroupVersionKind;
use serde::Deserialize;
use tokio::process::Command;

use crate::server::Server;

/// The figures that controller-runtime takes of itself.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// The objects in its caches.
    pub objects: usize,
    /// Bytes on the heap after two collections, less those before the first watch.
    pub heap: f64,
    /// Resident bytes, less those before the first watch.
    pub rss: f64,
    /// From the first informer until the last has synced.
    pub seconds: f64,
}

/// Watches `kinds` with unstructured informers and `registrars` handlers each.
///
/// # Errors
/// The program cannot be built, or fails.
pub async fn controller_runtime(
    server: &Server,
    kinds: &[GroupVersionKind],
    registrars: usize,
) -> Result<Report> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("judge");
    let build = move || go_program::build(&source, ".", "watch-benchmarks", "judge");
    let program = tokio::task::spawn_blocking(build).await??;
    let names = kinds.iter().map(|kind| format!("{}/{}/{}", kind.group, kind.version, kind.kind));
    let output = Command::new(program)
        .args([server.url(), registrars.to_string()])
        .args(names)
        .kill_on_drop(true)
        .output()
        .await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("the report of the Go program")
}
