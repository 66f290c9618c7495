//! The command line held against gator: over the test data of the pinned Gatekeeper module, read where Go keeps it, and
//! over generated inputs. Differences are zero, or in `KNOWN` with their reason and in docs/differences.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "as above")]

mod catalog;
mod figures;
mod fixtures;
mod flags;
#[path = "../e2e/gatekeeper.rs"]
#[allow(dead_code, reason = "shared with the end-to-end tests")]
mod gatekeeper;
mod gatekeeper_flags;
mod gatekeeper_scenarios;
mod generated;
mod program;
mod registry;
mod rewrite;
mod sarif;
mod scalars;
#[path = "../../src/cli/image/test_registry.rs"]
#[allow(dead_code, reason = "shared with the unit tests")]
mod test_registry;
