//! Durations in Go's spelling: `1m30s` as people write them, `362.697µs` as reports show them.

use std::time::Duration;

/// Reads `300ms`, `1.5h` or `1m30s`; a bare `0` is allowed.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("invalid duration {text:?}; write 500ms, 10s or 1m30s");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = 0f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(invalid)?;
        let (number, behind) = rest.split_at_checked(digits).ok_or_else(invalid)?;
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end).ok_or_else(invalid)?;
        total += number * seconds(unit).ok_or_else(invalid)?;
        rest = behind;
    }
    let given = (!text.is_empty()).then_some(total).ok_or_else(invalid)?;
    Duration::try_from_secs_f64(given).map_err(|_| invalid())
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

/// As `time.Duration` prints itself.
pub(super) fn show(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let fraction = |unit: u128| {
        let (whole, rest) = (nanoseconds.checked_div(unit), nanoseconds.checked_rem(unit));
        let digits = usize::try_from(unit.ilog10()).unwrap_or_default();
        let rest = format!("{:0digits$}", rest.unwrap_or_default());
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        format!("{}{point}{rest}", whole.unwrap_or_default())
    };
    match nanoseconds {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanoseconds}ns"),
        1_000..1_000_000 => format!("{}µs", fraction(1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", fraction(1_000_000)),
        1_000_000_000..60_000_000_000 => format!("{}s", fraction(1_000_000_000)),
        _ => {
            let seconds = duration.as_secs();
            let (hours, minutes) = (seconds / 3600, (seconds / 60) % 60);
            let left = duration.saturating_sub(Duration::from_secs((seconds / 60).saturating_mul(60)));
            let left = if left.is_zero() { "0s".to_owned() } else { show_seconds(left) };
            if hours > 0 { format!("{hours}h{minutes}m{left}") } else { format!("{minutes}m{left}") }
        }
    }
}

fn show_seconds(left: Duration) -> String {
    let text = format!("{}.{:09}", left.as_secs(), left.subsec_nanos());
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_as_go_shows_them() {
        let shown = |nanoseconds| show(Duration::from_nanos(nanoseconds));
        let given = [0, 7, 362_697, 1_000, 1_771_235, 1_500_000_000, 90_000_000_000, 3_723_500_000_000];
        let expected = ["0s", "7ns", "362.697µs", "1µs", "1.771235ms", "1.5s", "1m30s", "1h2m3.5s"];
        assert_eq!(given.map(shown), expected);
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", "1x", "1.2.3s", "-1s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
