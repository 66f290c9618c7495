//! The command line held against gator: over the test data of the pinned Gatekeeper module, read where Go keeps it, and
//! over generated inputs. Differences are zero, or in `KNOWN` with their reason and in docs/differences.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "as above")]

mod catalog;
mod fixtures;
mod flags;
mod gatekeeper_flags;
mod generated;
mod program;
mod scalars;
