//! A panic in a target or a driver is the failure of one policy, not of all who share the process.
//!
//! The policies that are asked here never change: a panic leaves nothing half done.

use std::panic::AssertUnwindSafe;

/// The answer, or `None` where there was a panic; what it said is on standard error.
pub(super) fn contained<T>(ask: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(ask)).ok()
}
