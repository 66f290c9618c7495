//! This crate in a build of its own, where no other dependency switches features of serde_json on: once as it is, once
//! with `arbitrary_precision`.
//!
//! The build is a package outside of the workspace, in the temporary folder of the target, with the versions of this
//! workspace's lock file. It uses the generated cases of `tests/family`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::Path;
use std::process::Command;

const MANIFEST: &str = r#"
[package]
name = "own-build"
version = "0.1.0"
edition = "2024"

[workspace]

[features]
arbitrary_precision = ["serde_json/arbitrary_precision"]

[dependencies]
duck-types = { path = "CRATE" }
json-patch = "4"
k8s-openapi = { version = "0.29", default-features = false, features = ["v1_36"] }
kube = { version = "5", default-features = false }
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", default-features = false, features = ["std"] }

[profile.dev]
debug = false
"#;

const PROGRAM: &str = include_str!("program.rs");

/// Builds and runs the program, and returns what it prints.
#[track_caller]
fn run(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join("crates/duck-types");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-build");
    fs::create_dir_all(folder.join("src")).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(path, text).unwrap();
        }
    };
    write("Cargo.toml", MANIFEST.replace("CRATE", &source.display().to_string()));
    let family = source.join("tests/family/mod.rs").display().to_string();
    write("src/main.rs", PROGRAM.replace("FAMILY", &family));
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .args(arguments)
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn floats_keep_every_bit_and_arbitrary_precision_is_survived() {
    let own = run(&[]);
    assert!(own.starts_with("floats: 10000 of 10000 kept\n"), "{own}");
    let arbitrary = run(&["--features", "arbitrary_precision"]);
    assert!(arbitrary.starts_with("floats: 10000 of 10000 kept\nas text: 1.00\n"), "{arbitrary}");
}
