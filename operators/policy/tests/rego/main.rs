//! `webtroller rego` answers as `opa` does.
//!
//! `expected.txt` holds command lines, and what OPA v1.22 said to each in the folder `files`. To record it anew:
//! `GOBIN=$PWD go install github.com/open-policy-agent/opa@v1.22.0`, then run this test with `OPA=$PWD/opa`.
//! The unit tests of the public policy library are run as well, where a checkout is at hand; where none is, they count
//! as ignored, by name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "as above"
)]

mod command;
mod guide;
mod library;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let recording = here("expected.txt");
    if let Some(opa) = std::env::var_os("OPA") {
        command::record(&recording, &PathBuf::from(opa));
    }
    let mut trials = command::trials(&recording);
    trials.extend(guide::trials());
    trials.extend(library::trials());
    // Each trial starts processes; what they print is compared, not how long they take.
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A file beside this one.
fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rego").join(name)
}

/// A trial that fails with a message.
fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || check().map_err(Into::into))
}
