//! The guide names tests for each requirement, and only tests that exist.
#![allow(clippy::unwrap_used)]

use std::path::Path;

const GUIDE: &str = include_str!("../../../crates/pod-status/README.md");

/// The text of all Rust files below a folder.
fn sources(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| match path.extension() {
            Some(extension) if extension == "rs" => std::fs::read_to_string(&path).unwrap(),
            _ if path.is_dir() => sources(&path),
            _ => String::new(),
        })
        .collect()
}

/// The names of tests in a text: words in backquotes with four underscores or more. Metrics are called alike.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.matches('_').count() >= 4
            && !word.starts_with("pod_status_")
            && word.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    text.split('`').filter(is_name)
}

#[test]
fn every_test_that_the_guide_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "tests",
        "../../crates/pod-status/src",
        "../../crates/pod-status/tests",
        "../../operators/policy/src",
        "../../operators/policy/tests",
    ];
    let sources: String = folders.into_iter().map(|folder| sources(&root.join(folder))).collect();
    let missing: Vec<&str> = names(GUIDE).filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_requirement_has_a_test() {
    let (_, table) = GUIDE.split_once("## Requirements and their tests").unwrap();
    for number in 1..=18 {
        let row = table.lines().find(|line| line.starts_with(&format!("| {number} ")));
        assert!(row.is_some_and(|row| names(row).next().is_some()), "requirement {number}");
    }
}
