//! The suites of the public policy library and of the example policies pass under each engine, every one of them and
//! none left out, and ten policies of the library hold on a cluster.
//!
//! The library is data that lies beside this workspace. Where it does not, its tests count as ignored, by name: the
//! standard harness cannot say that at run time. The examples are always there.

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

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tokio::runtime::Runtime;

#[path = "../e2e/cluster.rs"]
mod cluster;
#[path = "../e2e/gatekeeper.rs"]
mod gatekeeper;
#[path = "../e2e/gatekeeper_process.rs"]
mod gatekeeper_process;
#[path = "../e2e/https.rs"]
mod https;
#[path = "../e2e/operator.rs"]
mod operator;
#[path = "../e2e/rights.rs"]
mod rights;
#[path = "../e2e/trial.rs"]
mod trial;
#[path = "../e2e/verdicts.rs"]
mod verdicts;

mod audit;
mod audit_costs;
mod load;
mod start;
mod steady;

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

const NO_LIBRARY: &str = "GATEKEEPER_LIBRARY names no checkout of the policy library";

fn main() -> ExitCode {
    let library = library();
    if library.is_none() {
        eprintln!(
            "ignored: clone open-policy-agent/gatekeeper-library and set GATEKEEPER_LIBRARY to the folder"
        );
    }
    let root = library.clone().map(|root| root.join("library"));
    let of_library = LIBRARY.map(|expected| suites("public_library", root.clone(), expected));
    let examples = cluster::workspace("examples/policies");
    let of_examples = EXAMPLES.map(|expected| suites("examples", Some(examples.clone()), expected));
    let suites = of_library.into_iter().chain(of_examples);
    let trials = suites.chain(on_clusters().map(|on_cluster| on_cluster.trial(root.clone())));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// A test that gets the folder of the library's policies and starts a cluster.
struct OnCluster {
    name: &'static str,
    /// It runs only when it is asked for: a benchmark, for a release build.
    benchmark: bool,
    run: fn(&Path),
}

impl OnCluster {
    fn trial(self, root: Option<PathBuf>) -> Trial {
        let ignored = self.benchmark || root.is_none();
        let test = move || {
            (self.run)(&root.ok_or(NO_LIBRARY)?);
            Ok(())
        };
        Trial::test(self.name, test).with_ignored_flag(ignored)
    }
}

fn block_on(test: impl Future<Output = ()>) {
    Runtime::new().unwrap().block_on(test);
}

fn on_clusters() -> [OnCluster; 6] {
    [
        OnCluster {
            name: "policies_of_the_public_library_hold_on_a_cluster",
            benchmark: false,
            run: |root| {
                let policies = POLICIES.map(|name| trial::Policy::read(root.join(name)));
                block_on(trial::check(policies.into()));
            },
        },
        OnCluster {
            name: "the_audit_finds_what_gatekeepers_manager_finds",
            benchmark: false,
            run: |root| block_on(audit::agrees_with_gatekeeper(root)),
        },
        OnCluster {
            name: "an_audit_of_many_objects",
            benchmark: true,
            run: |root| block_on(audit::of_many_objects(root)),
        },
        OnCluster {
            name: "both_webhooks_answer_alike_under_load",
            benchmark: true,
            run: |root| {
                // The client has one core: its threads would only wait for each other.
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(load::beside_gatekeeper(root));
            },
        },
        OnCluster {
            name: "starts_beside_many_policies",
            benchmark: true,
            run: |root| block_on(start::beside_many_policies(root)),
        },
        OnCluster {
            name: "memory_under_load_while_policies_change",
            benchmark: true,
            run: |root| block_on(steady::under_load(root)),
        },
    ]
}

/// The numbers that must pass under one engine: suites of which a test ran, tests, and cases.
#[derive(Clone, Copy)]
struct Expected {
    engine: &'static str,
    passed: Passed,
    /// Tests of templates without code for the engine.
    skipped: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Passed {
    suites: usize,
    tests: usize,
    cases: usize,
}

/// 49 templates in Rego, 16 of them in CEL too.
const LIBRARY: [Expected; 3] = [
    Expected { engine: "rego", passed: Passed { suites: 49, tests: 75, cases: 270 }, skipped: 0 },
    Expected { engine: "cel", passed: Passed { suites: 16, tests: 30, cases: 131 }, skipped: 45 },
    Expected { engine: "both", passed: Passed { suites: 49, tests: 75, cases: 270 }, skipped: 0 },
];

/// Ten policies, of which eight have a twin in CEL: a template of its own, with tests of its own.
const EXAMPLES: [Expected; 3] = [
    Expected { engine: "rego", passed: Passed { suites: 10, tests: 50, cases: 184 }, skipped: 23 },
    Expected { engine: "cel", passed: Passed { suites: 8, tests: 23, cases: 141 }, skipped: 50 },
    Expected { engine: "both", passed: Passed { suites: 10, tests: 73, cases: 325 }, skipped: 0 },
];

fn suites(whose: &str, root: Option<PathBuf>, expected: Expected) -> Trial {
    let name = format!("suites_of_the_{whose}_pass_with_{}", expected.engine);
    let ignored = root.is_none();
    let test = move || match &root {
        Some(root) => verify(root, expected),
        None => Err(NO_LIBRARY.into()),
    };
    Trial::test(name, test).with_ignored_flag(ignored)
}

/// Runs all suites by one engine, as a user would, and counts what passed.
fn verify(root: &Path, expected: Expected) -> Result<(), Failed> {
    let mut webtroller = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    let engine = ["verify", "--output", "json", "--engine", expected.engine];
    let output = webtroller.args(engine).arg(root.join("...")).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let suites = list(&report, "suites");
    let tests: Vec<_> = suites.iter().flat_map(|suite| list(suite, "tests")).collect();
    let cases = tests.iter().flat_map(|test| list(test, "cases"));
    let passed = Passed {
        suites: suites
            .iter()
            .filter(|suite| list(suite, "tests").iter().any(|test| is("pass")(&test)))
            .count(),
        tests: tests.iter().copied().filter(is("pass")).count(),
        cases: cases.filter(is("pass")).count(),
    };
    let skipped = tests.iter().copied().filter(is("skip")).count();
    if output.status.success() && (passed, skipped) == (expected.passed, expected.skipped) {
        return Ok(());
    }
    Err(format!(
        "passed {passed:?} and not {:?}, skipped {skipped} tests and not {}\n{report:#}",
        expected.passed, expected.skipped
    )
    .into())
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is(result: &str) -> impl Fn(&&Value) -> bool {
    move |outcome| outcome["result"] == result
}

/// `GATEKEEPER_LIBRARY`, or a checkout beside this workspace.
fn library() -> Option<PathBuf> {
    let named = std::env::var_os("GATEKEEPER_LIBRARY").map(PathBuf::from);
    let beside = cluster::workspace(".").join("../shared/corpus/gatekeeper-library");
    named.into_iter().chain([beside]).find(|path| path.join("library").is_dir())
}
