//! `time.Duration`: `1h30m`, as Go reads and prints it. Durations are nanoseconds.

const HOUR: u64 = 3_600_000_000_000;

/// Parses a duration as `time.ParseDuration` does, to nanoseconds; returns `None` where that returns an error.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, unit, after) = segment(rest)?;
        total = total.checked_add(scaled(number, nanoseconds(unit)?)?).filter(|total| *total <= 1 << 63)?;
        rest = after;
    }
    if negative { 0_i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() }
}

/// Parses a duration that is not negative; `None` for a negative one, and where [`parse`] returns `None`.
#[must_use]
pub fn parse_unsigned(text: &str) -> Option<std::time::Duration> {
    let nanoseconds = u64::try_from(parse(text)?).ok()?;
    Some(std::time::Duration::from_nanos(nanoseconds))
}

/// Returns the first number of a duration, its unit, and what follows.
#[must_use]
pub fn segment(text: &str) -> Option<(&str, &str, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, rest) = text.split_at_checked(text.find(|c| !is_number(c)).unwrap_or(text.len()))?;
    let (unit, rest) = rest.split_at_checked(rest.find(is_number).unwrap_or(rest.len()))?;
    Some((number, unit, rest))
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => HOUR,
        _ => return None,
    })
}

/// A decimal number times a unit. The fraction is cut to whole nanoseconds through a binary float, as in Go.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let total = whole.checked_mul(unit)?;
    let (digits, scale) = leading_fraction(fraction);
    let share = digits as f64 * (unit as f64 / scale);
    total.checked_add(share as u64)
}

/// The digits that fit into 63 bits, as a whole number, and the power of ten below them. Source: `time/format.go`, `leadingFraction`.
fn leading_fraction(fraction: &str) -> (u64, f64) {
    let (mut whole, mut scale) = (0_u64, 1.0);
    for digit in fraction.chars().map_while(|c| c.to_digit(10)) {
        let next = whole.checked_mul(10).and_then(|whole| whole.checked_add(u64::from(digit)));
        let Some(next) = next.filter(|next| whole <= i64::MAX as u64 / 10 && *next <= 1 << 63) else { break };
        (whole, scale) = (next, scale * 10.0);
    }
    (whole, scale)
}

/// Formats nanoseconds as `Duration.String` does: `1m30s`, `362.697µs`, `0s`.
#[must_use]
pub fn format(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let rest = nanoseconds.unsigned_abs();
    let small = match rest {
        0 => return "0s".to_owned(),
        1..1_000 => Some((rest, 1, "ns")),
        1_000..1_000_000 => Some((rest, 1_000, "µs")),
        1_000_000..1_000_000_000 => Some((rest, 1_000_000, "ms")),
        _ => None,
    };
    if let Some((rest, unit, name)) = small {
        return format!("{sign}{}{name}", decimal(rest, unit));
    }
    let (minutes, seconds) = (rest / 60_000_000_000, rest % 60_000_000_000);
    let seconds = decimal(seconds, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// A number of units, with as many decimals as needed.
fn decimal(number: u64, unit: u64) -> String {
    let whole = number.checked_div(unit).unwrap_or(0);
    let fraction = number.checked_rem(unit).unwrap_or(0);
    let digits = usize::try_from(unit.ilog10()).unwrap_or(0);
    let text = format!("{whole}.{fraction:0digits$}");
    if fraction == 0 { whole.to_string() } else { text.trim_end_matches('0').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        let given =
            [0, 7, 362_697, 1_000, 1_771_235, 1_500_000_000, 90_000_000_000, 3_723_500_000_000, -1_500];
        let expected = ["0s", "7ns", "362.697µs", "1µs", "1.771235ms", "1.5s", "1m30s", "1h2m3.5s", "-1.5µs"];
        assert_eq!(given.map(format), expected);
        assert_eq!(format(i64::MIN), "-2562047h47m16.854775808s");
        assert_eq!(format(3_600_000_000_000), "1h0m0s");
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(parse("1m30s"), Some(90_000_000_000));
        assert_eq!(parse("-.5us"), Some(-500));
        for (text, milliseconds) in [
            ("0", 0),
            ("1s", 1_000),
            ("+90m", 5_400_000),
            ("1.5h", 5_400_000),
            ("1h30m", 5_400_000),
            ("-1m0.5s", -60_500),
            ("100ms", 100),
        ] {
            assert_eq!(parse(text), Some(milliseconds * 1_000_000), "{text}");
        }
        assert_eq!([parse("2us"), parse("2µs")], [Some(2_000); 2]);
        assert_eq!(parse("+1.s"), Some(1_000_000_000));
        assert_eq!(parse("-2562047h47m16.854775808s"), Some(i64::MIN));
        for wrong in [
            "",
            "5",
            "s",
            "1x",
            "1.2.3s",
            "-",
            ".s",
            "1d",
            "2562047h47m16.854775808s",
            "h",
            "1h5",
            "5mx",
            "1h-2h",
            "1 h",
            "1..5s",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
