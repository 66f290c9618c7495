//! Reports, statuses and Leases on a real API server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

mod aggregation;
mod figures;
mod gatekeeper_kinds;
mod ownership;
mod scene;
mod subresource;
mod transports;
