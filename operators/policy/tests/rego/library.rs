//! The unit tests of the public policy library, one trial for each folder that has some.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use serde_json::Value;

use super::command::{ours, run};
use super::trial;

/// Trials over the checkout that `GATEKEEPER_LIBRARY` names, or one that is ignored.
pub(crate) fn trials() -> Vec<Trial> {
    let sources = std::env::var_os("GATEKEEPER_LIBRARY").map(|root| PathBuf::from(root).join("src"));
    let Some(sources) = sources.filter(|sources| sources.is_dir()) else {
        eprintln!(
            "ignored: clone open-policy-agent/gatekeeper-library and set GATEKEEPER_LIBRARY to the folder"
        );
        let missing = || Err("GATEKEEPER_LIBRARY names no checkout of the policy library".to_owned());
        return vec![trial("tests_of_the_public_library_pass".to_owned(), missing).with_ignored_flag(true)];
    };
    let mut folders = Vec::new();
    find(&sources, &mut folders);
    assert!(folders.len() > 40, "{} folders with tests below {}", folders.len(), sources.display());
    folders.sort();
    folders.into_iter().map(|folder| of_folder(&sources, folder)).collect()
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, found);
        } else if path.file_name().is_some_and(|name| name == "src_test.rego") {
            found.push(folder.to_owned());
        }
    }
}

fn of_folder(sources: &Path, folder: PathBuf) -> Trial {
    let name = folder.strip_prefix(sources).unwrap().display().to_string();
    trial(name, move || {
        let ran = run(ours(), "test --v0-compatible --format json .", &folder);
        let tests: Vec<Value> = serde_json::from_str(&ran.out).map_err(|error| error.to_string())?;
        let failed: Vec<&str> = tests
            .iter()
            .filter(|test| test.get("fail").is_some() || test.get("error").is_some())
            .filter_map(|test| test["name"].as_str())
            .collect();
        if ran.code == 0 && failed.is_empty() && !tests.is_empty() {
            return Ok(());
        }
        Err(format!("{} tests, exit {}, failed: {}", tests.len(), ran.code, failed.join(", ")))
    })
}
