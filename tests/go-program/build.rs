//! Says once, before any test runs, what those that ask a Go program would say one by one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    if Command::new("go").arg("version").output().is_err() {
        println!(
            "cargo::warning=the conformance tests and the cluster tests run Go programs: install Go 1.26 or newer \
             (https://go.dev/dl) and put `go` on the PATH; cluster tests can do without where KUBEBUILDER_ASSETS names \
             etcd, kube-apiserver, kube-controller-manager and kubectl; `cargo test-without-go` runs the tests that need neither"
        );
    }
}
