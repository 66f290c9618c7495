//! The requests of the handles of a reporter to its driver, and the driver's progress.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::desired::DesiredReports;

/// The requests of the handles to the driver. Every field only ever grows, so none can get lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Counts the changes.
    pub(crate) changes: u64,
    /// Everything up to this version of the desired state is to be stored without delay.
    pub(crate) flush: u64,
}

/// The progress of the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The registration of this run is stored.
    pub(crate) registered: bool,
    /// Everything up to this version of the desired state is stored.
    pub(crate) stored: u64,
    /// The aggregator has acknowledged that no status claims of this run what it has given up.
    pub(crate) acknowledged: bool,
}

/// A panic while the desired state is locked can only be a failed allocation: the state is intact.
pub(crate) fn locked(desired: &Mutex<DesiredReports>) -> MutexGuard<'_, DesiredReports> {
    desired.lock().unwrap_or_else(PoisonError::into_inner)
}
