//! Dates and times as Go's `time.Parse` takes them for the layouts of RFC 3339.

pub(super) fn is_date(text: &str) -> bool {
    date(text) == Some("")
}

/// With or without a zone.
pub(super) fn is_time(text: &str) -> bool {
    matches!(clock(text), Some(rest) if rest.is_empty() || zone(rest) == Some(""))
}

pub(super) fn is_date_time(text: &str) -> bool {
    let rest = date(text).and_then(|rest| rest.strip_prefix('T')).and_then(clock).and_then(zone);
    rest == Some("")
}

/// A number of so many digits within a range, and what follows it.
fn number(text: &str, digits: usize, range: std::ops::RangeInclusive<u32>) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
    range.contains(&number).then_some((number, rest))
}

fn date(text: &str) -> Option<&str> {
    let (year, rest) = number(text, 4, 0..=9999)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2, 1..=12)?;
    let leaps = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leaps => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    number(rest.strip_prefix('-')?, 2, 1..=days).map(|(_, rest)| rest)
}

/// An hour may have one digit, seconds may have a fraction.
fn clock(text: &str) -> Option<&str> {
    let digits = if text.as_bytes().get(1).is_some_and(u8::is_ascii_digit) { 2 } else { 1 };
    let (_, rest) = number(text, digits, 0..=23)?;
    let (_, rest) = number(rest.strip_prefix(':')?, 2, 0..=59)?;
    let (_, rest) = number(rest.strip_prefix(':')?, 2, 0..=59)?;
    match rest.strip_prefix(['.', ',']) {
        Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(fraction.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        _ => Some(rest),
    }
}

fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let (_, rest) = number(text.strip_prefix(['+', '-'])?, 2, 0..=24)?;
    number(rest.strip_prefix(':')?, 2, 0..=60).map(|(_, rest)| rest)
}
