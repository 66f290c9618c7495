//! The chart, installed by helm itself on a real API server: three pods under the shipped roles, an upgrade and an
//! uninstall under traffic.
//!
//! What a cluster has and the control plane of the tests lacks is stood in for: `node` starts the processes of
//! scheduled pods from their rendered arguments, and `service` carries the API server's calls to the webhook Service.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "as above"
)]

mod cluster;
#[path = "../e2e/gatekeeper.rs"]
#[allow(dead_code, reason = "shared with the end-to-end tests")]
mod gatekeeper;
mod gatekeepers_chart;
mod helm;
mod issued_certificate;
mod manifest;
mod mounts;
mod node;
mod release;
mod rights;
mod scenario;
mod service;
mod traffic;
mod values;
