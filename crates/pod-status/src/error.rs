//! The errors of this crate.

use thiserror::Error;

/// An error for the caller. Failed requests are retried by the drivers and do not appear here.
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum Error {
    /// The identity of the pod is incomplete.
    #[error("{} not set: fill them from the downward API in the pod's manifest", missing.join(", "))]
    Environment {
        /// The variables that are missing or empty.
        missing: Vec<&'static str>,
    },
    /// The driver future ended or was dropped before the reports were stored.
    #[error("the driver of the status reporter has ended: nothing is being stored any more")]
    DriverEnded,
}
