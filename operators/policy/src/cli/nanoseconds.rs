//! Durations as reports write them.

use std::time::Duration;

/// The whole nanoseconds of a duration; [`u64::MAX`] for more than 584 years.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
