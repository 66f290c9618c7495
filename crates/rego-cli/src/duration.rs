//! Durations in Go's spelling: `1m30s` as people write them, `362.697µs` as reports show them.

use std::time::Duration;

use go_compat::duration;

/// Reads `300ms`, `1.5h` or `1m30s`; a bare `0` is allowed.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    duration::parse_unsigned(text)
        .ok_or_else(|| format!("invalid duration {text:?}; write 500ms, 10s or 1m30s"))
}

/// Returns a duration as `time.Duration` prints itself.
pub(crate) fn show(duration: Duration) -> String {
    duration::format(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "1x", "-1s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
