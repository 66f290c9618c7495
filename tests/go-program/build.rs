//! Ends a build of this package's tests, and so of all tests of the workspace, where Go is missing: before any test runs, and on one line.
//!
//! The feature `tests` is on when this package's own tests are built, so what builds no tests does without Go.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let builds_tests = std::env::var_os("CARGO_FEATURE_TESTS").is_some();
    if builds_tests && Command::new("go").arg("version").output().is_err() {
        println!(
            "cargo::error=the tests run Go programs: install Go 1.26 or newer (https://go.dev/dl) and put `go` on the PATH, \
             or run `cargo test-without-go` and `cargo test-operator-without-go`, the tests that need none"
        );
    }
}
