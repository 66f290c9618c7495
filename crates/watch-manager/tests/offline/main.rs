//! The manager as a whole on a server in memory. What needs a real server is in `control_plane`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a panic is how a test says no"
)]

#[cfg(feature = "controller")]
mod adapters;
mod bench;
mod callers;
mod client;
mod concurrency;
#[cfg(feature = "controller")]
mod controller;
mod definitions;
mod failure_modes;
mod isolation;
mod odd_objects;
mod performance;
#[cfg(feature = "runtime")]
mod readme;
mod reconcile;
mod registrar;
mod scopes;
mod shutdown;
#[cfg(feature = "metrics")]
mod telemetry;
mod transform;
