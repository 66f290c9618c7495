//! Ten policies of the public policy library hold on a cluster, and its suites pass under each engine.
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

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

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
    let suites = |engine: &'static str, passing: usize| {
        let library = library.clone();
        let name = format!("suites_of_the_public_library_pass_with_{engine}");
        let test = Trial::test(name, move || verify(library.as_deref(), engine, passing));
        test.with_ignored_flag(ignored)
    };
    let mut trials = vec![suites("rego", REGO_TESTS), suites("cel", CEL_TESTS), suites("both", REGO_TESTS)];
    let test = Trial::test("policies_of_the_public_library_hold_on_a_cluster", move || {
        let root = library.ok_or("GATEKEEPER_LIBRARY names no checkout of the policy library")?;
        let policies = POLICIES.map(|name| trial::Policy::read(root.join("library").join(name)));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(trial::check(policies.into()));
        Ok(())
    });
    trials.push(test.with_ignored_flag(ignored));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Tests of the library's suites, and those of templates that have CEL.
const REGO_TESTS: usize = 75;
const CEL_TESTS: usize = 30;

/// Runs all suites by one engine, as a user would.
fn verify(library: Option<&Path>, engine: &str, passing: usize) -> Result<(), libtest_mimic::Failed> {
    let root = library.ok_or("GATEKEEPER_LIBRARY names no checkout of the policy library")?;
    let mut webtroller = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    let output = webtroller
        .args(["verify", "--verbose", "--engine", engine])
        .arg(root.join("library/..."))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = text.lines().filter(|line| line.starts_with("--- PASS")).count();
    if output.status.success() && passed == passing {
        return Ok(());
    }
    let failures: Vec<_> =
        text.lines().filter(|line| !line.contains("PASS") && !line.contains("===")).collect();
    Err(format!("{passed} tests passed, not {passing}:\n{}", failures.join("\n")).into())
}

/// `GATEKEEPER_LIBRARY`, or a checkout beside this workspace.
fn library() -> Option<PathBuf> {
    let named = std::env::var_os("GATEKEEPER_LIBRARY").map(PathBuf::from);
    let beside = cluster::workspace(".").join("../shared/corpus/gatekeeper-library");
    named.into_iter().chain([beside]).find(|path| path.join("library").is_dir())
}
