//! Gatekeeper's own test data.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::WalkDir;

use super::program::{both, difference, judge};

/// Inputs on which the programs differ on purpose, and why; each is a line of docs/differences.md.
const KNOWN: &[(&str, &str)] = &[
    (
        "test/bats/tests/mutations",
        "mutators are checked, and not applied: gator fails on one it cannot apply",
    ),
    ("test/bats/tests/templates", "the folder of the next one"),
    (
        "test/bats/tests/templates/use_http_send_template.yaml",
        "http.send is refused when a template is ingested",
    ),
];

fn module() -> PathBuf {
    go_program::module_folder(&judge(), "github.com/open-policy-agent/gatekeeper/v3").unwrap()
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
}

/// The manifests of the module's test data, and the folders they are in.
fn inputs(root: &Path) -> BTreeSet<PathBuf> {
    let folders =
        ["test/gator", "test/expansion", "test/bats/tests", "demo", "example", "pkg/webhook/testdata"];
    let mut found = BTreeSet::new();
    for folder in folders {
        for entry in WalkDir::new(root.join(folder)).into_iter().filter_map(Result::ok) {
            if entry.file_type().is_file() && is_manifest(entry.path()) {
                found.extend(entry.path().parent().map(Path::to_owned));
                found.insert(entry.into_path());
            }
        }
    }
    found
}

fn check(differences: &[(String, String)], compared: usize, least: usize) {
    let unknown = differences.iter().filter(|(name, _)| !KNOWN.iter().any(|(known, _)| name == known));
    let lines: Vec<_> = unknown.map(|(name, difference)| format!("{name}: {difference}")).collect();
    assert!(lines.is_empty(), "{} of {compared} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(compared >= least, "{compared} runs were compared");
}

#[test]
fn objects_and_policies_are_judged_as_gator_judges_them() {
    let root = module();
    let policies = root.join("test/gator/test/fixtures/policies/default");
    let policies = policies.to_str().unwrap();
    let mut differences = Vec::new();
    let mut compared = 0;
    for path in inputs(&root) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let path = path.to_str().unwrap();
        for arguments in
            [&["test", "-o", "json", "-f", path][..], &["test", "-o", "json", "-f", path, "-f", policies]]
        {
            compared += 1;
            let found = difference(&both(arguments, ""));
            differences.extend(found.map(|difference| (name.clone(), difference)));
        }
    }
    check(&differences, compared, 200);
}

#[test]
fn suites_have_the_outcomes_of_gator() {
    let root = module();
    let suites = root.join("test/gator/verify");
    let mut differences = Vec::new();
    let mut compared = 0;
    for arguments in [
        &["verify", "-v"][..],
        &["verify", "-v", "--run", "foo-is-bar"],
        &["verify", "-v", "--run", "//foo-not-bar"],
        &["verify", "-v", "--run", "nothing"],
    ] {
        let [theirs, own] = both(&[arguments, &[suites.to_str().unwrap()]].concat(), "");
        compared += 1;
        let outcomes = |text: &str| {
            let marks = ["--- PASS:", "--- FAIL:", "=== SKIP"];
            let lines =
                text.lines().filter(|line| marks.iter().any(|mark| line.trim_start().starts_with(mark)));
            lines
                .map(|line| line.split('\t').next().unwrap_or_default().trim_end().to_owned())
                .collect::<Vec<_>>()
        };
        if (theirs.code, outcomes(&theirs.out)) != (own.code, outcomes(&own.out)) {
            differences.push((
                format!("{arguments:?}"),
                format!("gator:\n{}\nwebtroller:\n{}", theirs.out, own.out),
            ));
        }
    }
    check(&differences, compared, 4);
}

#[test]
fn workloads_are_expanded_as_gator_expands_them() {
    let root = module();
    let mut differences = Vec::new();
    let mut compared = 0;
    for path in inputs(&root) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if !name.starts_with("test/gator/expand") && !name.starts_with("test/expansion") {
            continue;
        }
        compared += 1;
        let [theirs, own] = both(&["expand", "-n", path.to_str().unwrap(), "-f", "yaml"], "");
        let documents = |text: &str| -> Vec<Value> {
            let documents = go_compat::sigs_yaml::documents(text).unwrap_or_default();
            documents.into_iter().map(|document| document.value).filter(|value| !value.is_null()).collect()
        };
        // Mutators are checked and not applied: what gator made of them is not compared.
        let mutated = own.err.contains("mutators are checked here, and not applied yet");
        if theirs.code != own.code || !mutated && documents(&theirs.out) != documents(&own.out) {
            differences.push((name, format!("gator: {theirs:?}\nwebtroller: {own:?}")));
        }
    }
    check(&differences, compared, 15);
}
