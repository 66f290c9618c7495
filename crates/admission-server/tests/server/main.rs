//! The server as its clients see it: real sockets, real TLS, and clients that misbehave.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "as above")]

mod abuse;
mod client;
mod endings;
mod reviews;
mod tls;
