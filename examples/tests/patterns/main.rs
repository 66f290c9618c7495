//! The demos of the patterns, run as a reader runs them, on a real API server; the end state is read from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(missing_docs, clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests")]

mod api_contract;
mod manifests;
mod one_object;
mod out_of_process_plugins;
mod related_objects;
mod stage;
