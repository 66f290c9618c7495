//! The demos of the patterns, run as a reader runs them, on a real API server; the end state is read from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(missing_docs, clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests")]

mod api_contract;
mod demo;
mod in_process_plugins;
mod kubeconfig;
mod late;
mod manifests;
mod one_object;
mod one_rule;
mod out_of_process_plugins;
mod pages;
mod reader;
mod related_objects;
mod sidecar_plugins;
mod terminal;

// The pure parts of the patterns, whose unit tests run here: Cargo does not run those of examples.
#[path = "../../patterns/out_of_process_plugins/breaker.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod breaker;
#[path = "../../patterns/out_of_process_plugins/certificates.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod certificates;
#[path = "../../patterns/out_of_process_plugins/endpoint.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod endpoint;
#[path = "../../patterns/in_process_plugins/executable.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod executable;
#[path = "../../patterns/out_of_process_plugins/kinds.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod kinds;
#[path = "../../patterns/one_object/machine.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod machine;
#[path = "../../patterns/related_objects/rollout.rs"]
mod rollout;
#[path = "../../patterns/sidecar_plugins/socket.rs"]
#[allow(dead_code, reason = "only its unit tests run here")]
mod socket;
