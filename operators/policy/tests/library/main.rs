//! Ten policies of the public policy library hold on a cluster.
//!
//! The library is data that lies beside this workspace. Where it does not, the test counts as ignored, by name: the
//! standard harness cannot say that at run time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "as above"
)]
#![allow(dead_code, reason = "the shared files serve the other test binary too")]

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

#[path = "../e2e/cluster.rs"]
mod cluster;
#[path = "../e2e/operator.rs"]
mod operator;
#[path = "../e2e/trial.rs"]
mod trial;

const POLICIES: [&str; 10] = [
    "general/allowedrepos",
    "general/containerlimits",
    "general/httpsonly",
    "general/imagedigests",
    "general/requiredlabels",
    "general/requiredprobes",
    "general/uniqueingresshost",
    "general/uniqueserviceselector",
    "pod-security-policy/host-namespaces",
    "pod-security-policy/privileged-containers",
];

fn main() -> ExitCode {
    let library = library();
    if library.is_none() {
        eprintln!(
            "ignored: clone open-policy-agent/gatekeeper-library and set GATEKEEPER_LIBRARY to the folder"
        );
    }
    let ignored = library.is_none();
    let test = Trial::test("policies_of_the_public_library_hold_on_a_cluster", move || {
        let root = library.ok_or("GATEKEEPER_LIBRARY names no checkout of the policy library")?;
        let policies = POLICIES.map(|name| trial::Policy::read(root.join("library").join(name)));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(trial::check(policies.into()));
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![test.with_ignored_flag(ignored)]).exit_code()
}

/// `GATEKEEPER_LIBRARY`, or a checkout beside this workspace.
fn library() -> Option<PathBuf> {
    let named = std::env::var_os("GATEKEEPER_LIBRARY").map(PathBuf::from);
    let beside = cluster::workspace(".").join("../shared/corpus/gatekeeper-library");
    named.into_iter().chain([beside]).find(|path| path.join("library").is_dir())
}
