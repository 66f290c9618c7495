//! The harness itself, on real processes: one binary, so that most tests share one control plane.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, reason = "tests document themselves by their names")]

mod cluster;
// Waiting for processes of others needs Linux' pidfd.
#[cfg(target_os = "linux")]
mod ending;
mod fault;
mod programs;
mod webhook;
