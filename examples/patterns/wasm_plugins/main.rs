//! Runs the pattern, which is in a package of its own: wasmtime would slow down the build of every other example.
//!
//! ```sh
//! cargo run -p examples --example wasm_plugins -- --demo
//! ```

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    // `cargo run` says which Cargo it is.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["run", "--example", "wasm-plugins", "--manifest-path"]);
    cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/patterns/wasm_plugins/Cargo.toml"));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // In place of this process, so that signals and the exit code are those of the pattern.
    Err(cargo.arg("--").args(std::env::args_os().skip(1)).exec()).context("cannot run cargo")
}
