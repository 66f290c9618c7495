//! Containment of panics: one in a target or a driver fails one policy and not the process.
//!
//! Policies are immutable, so that a panic leaves no state half changed.

use std::panic::AssertUnwindSafe;

/// Returns the answer, or `None` where there was a panic, whose message is on standard error.
pub(super) fn contained<T>(ask: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(ask)).ok()
}
