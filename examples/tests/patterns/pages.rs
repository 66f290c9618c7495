//! The form that all patterns share: pages with the same parts, programs of at most 300 lines, READMEs of ten.

use std::path::{Path, PathBuf};

/// Pages, and the folders of their programs.
const PAGES: [(&str, &str); 8] = [
    ("api-contract", "patterns/api_contract"),
    ("in-process-plugins", "patterns/in_process_plugins"),
    ("one-object", "patterns/one_object"),
    ("one-rule", "one_rule"),
    ("out-of-process-plugins", "patterns/out_of_process_plugins"),
    ("related-objects", "patterns/related_objects"),
    ("sidecar-plugins", "patterns/sidecar_plugins"),
    ("wasm-plugins", "patterns/wasm_plugins"),
];

const PARTS: [&str; 7] =
    ["Problem", "Diagram", "When to use it", "What it costs", "How it fails", "Run it", "Crates"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(examples().join(format!("../docs/patterns/{name}.md"))).expect(name)
}

#[track_caller]
fn check_form(name: &str, further: &[&str]) {
    let text = page(name);
    let parts: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let parts: Vec<_> = parts.into_iter().filter(|part| !further.contains(part)).collect();
    assert_eq!(parts, PARTS, "{name}");
    assert!(text.contains("```mermaid"), "{name} has no diagram");
    assert!(page("README").contains(&format!("({name}.md)")), "{name} is not in the table of all patterns");
}

#[test]
fn every_page_has_the_same_parts_and_is_in_the_table() {
    for (name, _) in PAGES {
        check_form(name, if name == "one-rule" { &["What comes of it"] } else { &[] });
    }
    check_form("webtroller", &["How it works, from file to file"]);
}

/// The tests that a page names, as `name` or as `…_end_of_a_name`, are in the sources of the examples.
#[test]
fn every_test_that_a_page_names_exists() {
    let (ours, operator) = (sources(&examples()), sources(&examples().join("../operators/policy/tests/e2e")));
    let pages = PAGES.iter().map(|(name, _)| (*name, &ours)).chain([("webtroller", &operator)]);
    for (name, sources) in pages {
        let text = page(name);
        let failures =
            text.split("## How it fails").nth(1).and_then(|rest| rest.split("\n## ").next()).expect(name);
        let quoted = failures.split('`').skip(1).step_by(2);
        let tests =
            quoted.filter_map(|quoted| quoted.rsplit("::").next()).map(|test| test.trim_start_matches('…'));
        let tests: Vec<_> = tests.filter(|test| is_name(test) && test.matches('_').count() > 3).collect();
        assert!(!tests.is_empty(), "{name} names no test");
        for test in tests {
            assert!(sources.contains(&format!("{test}(")), "{name} names {test}, and there is no such test");
        }
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for path in files(folder) {
        all.push_str(&std::fs::read_to_string(path).unwrap());
    }
    all
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn programs_and_readmes_are_short() {
    for (_, folder) in PAGES {
        let folder = examples().join(folder);
        let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.lines().count() <= 10, "{}: a README of ten lines", folder.display());
        for path in files(&folder) {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 300, "{} has {lines} lines", path.display());
        }
    }
}
