//! What a caller of this crate can get wrong. What an API server answers is `source`'s [`SourceError`];
//! what happens to one kind is a [`GvkStatus`], because it is a state that passes and not a failure of a
//! call.
//!
//! [`SourceError`]: crate::source::SourceError
//! [`GvkStatus`]: crate::event::GvkStatus

/// Why a registrar could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A registrar of this name is alive. Use another name, or drop the first registrar: its name is free
    /// as soon as the drop returns.
    #[error("a registrar named {name:?} already exists: drop it first, or choose another name")]
    DuplicateName {
        /// The name that is taken.
        name: String,
    },
    /// The driver has ended: it was dropped, or `WatchManager::shutdown` was called. Build a new manager.
    #[error("the watch manager has shut down: build a new one")]
    ShutDown,
}
