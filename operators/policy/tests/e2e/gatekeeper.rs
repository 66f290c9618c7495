//! The pinned Gatekeeper: its manager as a program, and the files of its module, read where Go keeps them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use webtroller::cli::load_file;

const PACKAGE: &str = "github.com/open-policy-agent/gatekeeper/v3";

/// The folder that pins the version.
fn pins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/judge/manager")
}

/// The manager, built on the first call on a machine.
pub(crate) async fn manager() -> PathBuf {
    let build = || go_program::build(&pins(), PACKAGE, "conformance", "manager");
    tokio::task::spawn_blocking(build).await.unwrap().unwrap()
}

/// A file or folder of the module.
pub(crate) fn file(path: &str) -> PathBuf {
    go_program::module_folder(&pins(), PACKAGE).unwrap().join(path)
}

/// The objects of this kind in Gatekeeper's manifest.
pub(crate) fn manifests(kind: &str) -> Vec<Value> {
    let manifests = load_file(&file("deploy/gatekeeper.yaml")).unwrap().into_iter();
    manifests.map(|manifest| manifest.object).filter(|object| object["kind"] == kind).collect()
}
