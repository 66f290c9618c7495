//! This repository, judged: one test per rule, so that a failure names what kind of thing is wrong.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test says no by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use tidy::{Diagnostic, Rule, Workspace};

/// The diagnostics that are kept of a reading: syntax trees cannot leave their thread.
struct Judged {
    packages: BTreeSet<String>,
    paths: BTreeSet<String>,
    /// The packages whose tests run Go programs.
    with_go: BTreeSet<String>,
    /// The suites of the operator that do.
    suites_with_go: BTreeSet<String>,
    /// The features of our crates that a build has to name.
    features: BTreeSet<String>,
    diagnostics: Vec<Diagnostic>,
}

fn judged() -> &'static Judged {
    static JUDGED: OnceLock<Judged> = OnceLock::new();
    JUDGED.get_or_init(|| judge().unwrap_or_else(|error| panic!("{error:?}")))
}

fn judge() -> Result<Judged, tidy::Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let workspace = Workspace::read(&root)?;
    let paths = workspace.sources().iter().map(|source| source.path().to_owned()).collect();
    let with_go = workspace.dependents(&["conformance", "control-plane", "go-program"]);
    let uses_go = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).unwrap();
        ["control_plane::", "go_program::"].iter().any(|package| text.contains(package))
    };
    let sources = workspace.sources().iter().map(|source| source.path());
    let suites_with_go =
        sources.filter_map(|path| Some((path, suite(path)?))).filter(|(path, _)| uses_go(path));
    let suites_with_go = suites_with_go.map(|(_, suite)| suite.to_owned()).collect();
    let (packages, features) = (workspace.packages(), workspace.features_to_name());
    Ok(Judged { packages, paths, with_go, suites_with_go, features, diagnostics: workspace.diagnostics()? })
}

#[track_caller]
fn none(rule: Rule) {
    let broken: Vec<_> = judged()
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.rule == rule)
        .map(ToString::to_string)
        .collect();
    assert!(broken.is_empty(), "{} diagnostics:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn the_whole_workspace_is_read() {
    let Judged { packages, paths, .. } = judged();
    for package in ["schema-merge", "watch-manager", "constraint-framework", "webtroller", "control-plane"] {
        assert!(packages.contains(package), "{packages:?}");
    }
    for path in ["tests/tidy/src/lib.rs", "tests/tidy/tests/workspace.rs", "operators/policy/src/lib.rs"] {
        assert!(paths.contains(path), "{path} was not read");
    }
}

#[test]
fn the_tests_that_need_no_go_are_all_others() {
    assert_eq!(named_after("--exclude "), judged().with_go);
}

/// Cargo says nothing of a suite that needs a feature which is off. That of regorus needs a newer Rust than the crates.
#[test]
fn no_test_without_go_is_left_out_for_want_of_a_feature() {
    let mut wanted = judged().features.clone();
    assert!(wanted.remove("constraint-framework/regorus"));
    assert_eq!(
        named_after("--features ").iter().flat_map(|list| list.split(',')).collect::<BTreeSet<_>>(),
        wanted.iter().map(String::as_str).collect()
    );
}

/// The values that the aliases in Cargo's configuration give to a flag.
fn named_after(flag: &str) -> BTreeSet<String> {
    let aliases = include_str!("../../../.cargo/config.toml");
    let named = aliases.split(flag).skip(1).filter_map(|rest| rest.split([' ', '"']).next());
    named.map(str::to_owned).collect()
}

/// Tests of the operator that do without Go are the unit tests and those whose files name neither a cluster nor a Go program.
#[test]
fn the_suites_of_the_operator_that_need_no_go_are_all_others() {
    let Judged { paths, suites_with_go, .. } = judged();
    let suites: BTreeSet<_> = paths.iter().filter_map(|path| suite(path)).collect();
    let others = suites.into_iter().filter(|suite| !suites_with_go.contains(*suite));
    assert_eq!(named_after("--test "), others.map(str::to_owned).collect());
}

/// The suite of the operator that a file belongs to.
fn suite(path: &str) -> Option<&str> {
    path.strip_prefix("operators/policy/tests/")?.split(['/', '.']).next()
}

macro_rules! rules {
    ($($test:ident: $rule:ident,)+) => {
        $(#[test] fn $test() { none(Rule::$rule); })+

        #[test]
        fn every_rule_has_a_test() {
            assert_eq!([$(Rule::$rule),+], Rule::ALL);
        }
    };
}

rules! {
    packages_depend_only_on_what_they_may: PackageDependency,
    modules_depend_only_on_what_they_may: ModuleDependency,
    files_do_not_use_one_another_in_circles: Cycle,
    crates_without_a_cluster_build_without_a_client: Tree,
    files_are_short: FileLength,
    functions_are_short: FunctionLength,
    files_say_what_they_are: FirstLine,
    libraries_show_an_example: Example,
    documentation_opens_as_the_standard_library_does: Documentation,
    names_say_something: Name,
    crates_read_only_their_own_files: Packaged,
    a_public_name_means_one_thing: PublicName,
    no_white_space_at_the_end_of_lines: TrailingSpace,
    nothing_is_unfinished: Unfinished,
    no_test_is_skipped_without_a_reason: Ignored,
    no_test_sleeps: Sleep,
    documents_link_to_files_that_exist: Link,
    variables_of_tests_are_documented: Variable,
    packages_inherit_lints_and_rust_version: Manifest,
    every_exception_is_needed: StaleException,
}
