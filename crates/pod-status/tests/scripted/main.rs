//! The writer and the Lease against an API server in memory that fails by script, in paused time.
//!
//! The package `pod-status-tests` sends the same requests to a real API server.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::panic)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

mod aggregator;
mod api;
mod census;
mod deadline;
mod direct;
mod documented;
mod expected;
mod fence;
mod first;
mod lease;
mod marks;
mod metrics;
mod per_parent;
mod reporter;
mod serving;
mod strict;
mod turns;
