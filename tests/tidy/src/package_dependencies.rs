//! The packages of ours that a package may use: the operator all, the framework three, the languages, the schemas and the
//! admission server the leaf crates, the other crates none. The packages below `tests` and the examples may use anything.
//!
//! Both a line in a manifest and a path in a source file are checked. Modules inside a package are in `module_dependencies.rs`.

use std::collections::BTreeSet;

use crate::{Diagnostic, Edge, Rule, Source, edges};

const FRAMEWORK: [&str; 3] = ["cel-compat", "rego-compat", "schema-merge"];
const LANGUAGE: [&str; 2] = ["eval-budget", "go-compat"];
const REGO_CLI: [&str; 2] = ["go-compat", "rego-compat"];
const SCHEMA: [&str; 2] = ["cel-compat", "go-compat"];
const SERVER: [&str; 1] = ["go-compat"];
const DUCK: [&str; 1] = ["duck-types-derive"];

/// Returns which packages of ours a package may use, or `None` when it may use all.
fn open_to(package_folder: &str) -> Option<&'static [&'static str]> {
    match package_folder {
        "crates/constraint-framework" => Some(&FRAMEWORK),
        "crates/cel-compat" | "crates/rego-compat" => Some(&LANGUAGE),
        "crates/rego-cli" => Some(&REGO_CLI),
        "crates/schema-merge" => Some(&SCHEMA),
        "crates/admission-server" => Some(&SERVER),
        "crates/duck-types" => Some(&DUCK),
        folder if folder.starts_with("crates/") => Some(&[]),
        _ => None,
    }
}

/// Returns true if the package in a folder may use a package of ours: also itself, as a program uses its library. Tests of a
/// crate get nothing more, so that they run from the published crate.
pub(crate) fn may_use(folder: &str, package: &str, used: &str) -> bool {
    open_to(folder).is_none_or(|allowed| allowed.contains(&used) || used == package)
}

/// The paths in a file that lead to packages of ours that are not allowed. `ours` are package names.
#[must_use]
pub fn package_edges(source: &Source, ours: &BTreeSet<String>) -> Vec<Diagnostic> {
    let Some((folder, _)) = source.path().split_once("/src/") else {
        return Vec::new();
    };
    let package = folder.rsplit('/').next().unwrap_or_default();
    let leads_out = edges(source).into_iter().filter_map(|edge| match edge {
        Edge::Outside { path, line } => Some((path.first()?.replace('_', "-"), line)),
        Edge::Inside { .. } => None,
    });
    let refused = leads_out.filter(|(used, _)| ours.contains(used) && !may_use(folder, package, used));
    refused.map(|(used, line)| diagnostic(source.path(), line, package, &used)).collect()
}

pub(crate) fn diagnostic(path: &str, line: usize, package: &str, used: &str) -> Diagnostic {
    let message = format!("{package} must not use {used}: see docs/architecture.md");
    Diagnostic::new(path, line, Rule::PackageDependency, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, text: &str) -> Vec<usize> {
        let ours = [
            "constraint-framework",
            "control-plane",
            "go-compat",
            "rego-compat",
            "schema-merge",
            "watch-manager",
        ];
        let ours = ours.into_iter().map(str::to_owned).collect();
        package_edges(&Source::parse(path, text).unwrap(), &ours)
            .into_iter()
            .map(|diagnostic| diagnostic.line)
            .collect()
    }

    const USES: &str = "use rego_compat::a;\nuse watch_manager::b;\nfn c() { constraint_framework::d() }\n";

    #[test]
    fn the_framework_uses_three_crates() {
        assert_eq!(refused("crates/constraint-framework/src/lib.rs", USES), [2]);
    }

    #[test]
    fn languages_use_the_leaf_crates_and_not_one_another() {
        let text = "use go_compat::a;\nuse rego_compat::b;\n";
        assert_eq!(refused("crates/cel-compat/src/lib.rs", text), [2]);
        assert_eq!(refused("crates/schema-merge/src/lib.rs", text), [2]);
        assert_eq!(refused("crates/go-compat/src/lib.rs", text), [2]);
    }

    #[test]
    fn other_crates_have_none() {
        assert_eq!(refused("crates/pod-status/src/a/b.rs", USES), [1, 2, 3]);
        assert_eq!(refused("crates/rego-compat/src/main.rs", "use rego_compat::a;\n"), [0; 0]);
    }

    #[test]
    fn the_operator_and_the_tests_may_use_all() {
        assert_eq!(refused("operators/policy/src/lib.rs", USES), [0; 0]);
        assert_eq!(refused("tests/e2e/src/lib.rs", USES), [0; 0]);
        assert_eq!(refused("examples/src/lib.rs", USES), [0; 0]);
    }

    #[test]
    fn tests_of_a_crate_get_nothing_more() {
        for used in ["control-plane", "go-program"] {
            assert!(!may_use("crates/pod-status", "pod-status", used), "{used}");
            assert!(may_use("tests/pod-status", "pod-status-tests", used), "{used}");
        }
        assert!(!may_use("crates/pod-status", "pod-status", "watch-manager"));
        assert!(may_use("crates/duck-types", "duck-types", "duck-types-derive"));
        assert!(!may_use("crates/duck-types-derive", "duck-types-derive", "duck-types"));
    }
}
