//! Durations as flags take them.

use std::time::Duration;

/// Reads a duration that is longer than zero.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_compat::duration::parse(text)
        .and_then(|nanoseconds| u64::try_from(nanoseconds).ok())
        .filter(|nanoseconds| *nanoseconds > 0)
        .map(Duration::from_nanos)
        .ok_or_else(|| "not a duration such as 90s, 5m or 8760h".to_owned())
}
