//! Durations as flags take them.

use std::time::Duration;

/// Reads a duration that is longer than zero.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_compat::duration::parse_unsigned(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "not a duration such as 90s, 5m or 8760h".to_owned())
}
