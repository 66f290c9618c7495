//! Durations as Go writes them: an API server sends `?timeout=3s`.

use std::time::Duration;

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration as Go writes it: `1m30s`, `2.5s`, `300ms`. `None` for everything else, signs included: a timeout has none.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end)?;
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let number: f64 = number.parse().ok()?;
        let seconds = number * (Duration::from_nanos(*nanoseconds).as_secs_f64());
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = after;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        let milliseconds = |text| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(milliseconds("3s"), Some(3_000));
        assert_eq!(milliseconds("1m30s"), Some(90_000));
        assert_eq!(milliseconds("2.5s"), Some(2_500));
        assert_eq!(milliseconds("300ms"), Some(300));
        for text in ["", "3", "s", "-3s", "3 s", "3d", ".s", "1e3s", "99999999999999999999h"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
