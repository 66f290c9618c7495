//! Every example is run as a user would run it: offline, to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

use std::path::Path;
use std::process::Command;

/// Cargo builds the examples of a package beside its tests, before it runs those.
#[track_caller]
fn run(name: &str) {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let output =
        Command::new(&program).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.trim().is_empty(), "{name} must show what it did");
}

#[test]
fn watch_manager_runs_offline() {
    run("watch_manager");
}

#[test]
fn duck_reader_runs_offline() {
    run("duck_reader");
}

#[test]
fn pod_status_runs_offline() {
    run("pod_status");
}
