//! Sets `WEBTROLLER_COMMIT` to the commit that is built, where git knows it and a release has not set it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=WEBTROLLER_COMMIT");
    let given = std::env::var("WEBTROLLER_COMMIT").unwrap_or_default();
    let commit = if given.is_empty() { git(&["rev-parse", "--short=12", "HEAD"]) } else { given };
    println!("cargo::rustc-env=WEBTROLLER_COMMIT={commit}");
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if !head.is_empty() {
        println!("cargo::rerun-if-changed={head}");
    }
}

/// The output of git; empty outside a checkout.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).output();
    let output = output.ok().filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
