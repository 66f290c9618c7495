//! The two steps in which the process ends.

use tokio_util::sync::CancellationToken;

/// The tokens of the two steps, in order. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown {
    /// Cancelled when the process has been asked to end: it stops being ready, and still serves.
    pub(super) asked: CancellationToken,
    /// Cancelled when it stops accepting connections and finishes the requests that have begun.
    pub(super) drain: CancellationToken,
}
