//! Quantities such as `500m` and `10Mi`, and durations such as `1h30m`.

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// In nanoseconds; a unit comes before those that it begins with.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12)];

/// Reads a number with a suffix or an exponent. Two notations of a number give the same result; beyond 2^53, so may two numbers.
pub(super) fn quantity(text: &str) -> Option<f64> {
    let is_suffix = |sign: char| !(sign.is_ascii_digit() || matches!(sign, '.' | '+' | '-'));
    let (number, suffix) = text.split_at_checked(text.find(is_suffix).unwrap_or(text.len()))?;
    let place = |suffixes: &[&str]| suffixes.iter().position(|known| *known == suffix);
    if let Some(place) = place(&BINARY) {
        let power = i32::try_from(place).ok()?.saturating_add(1);
        return Some(number.parse::<f64>().ok()? * 1024_f64.powi(power));
    }
    let exponent = match place(&DECIMAL) {
        Some(place) => i32::try_from(place).ok()?.saturating_mul(3).saturating_sub(9),
        None => suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
    };
    // `0.3` and `300m` are equal: the number is rounded once, when it is read with its exponent.
    format!("{number}e{exponent}").parse().ok().filter(|number: &f64| number.is_finite())
}

/// Reads a duration, in nanoseconds: numbers with units one behind another, or `0`.
pub(super) fn duration(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let mut sum = None;
    while !rest.is_empty() {
        let (number, behind) =
            rest.split_at_checked(rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?)?;
        let (length, behind) =
            UNITS.iter().find_map(|(unit, length)| Some((length, behind.strip_prefix(unit)?)))?;
        sum = Some(sum.unwrap_or(0.0) + (number.parse::<f64>().ok()? * length).round());
        rest = behind;
    }
    sum.map(|sum: f64| sum * sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (text, number) in [
            ("0", 0.0),
            ("5", 5.0),
            ("5.0", 5.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("+5", 5.0),
            ("-5", -5.0),
            ("300m", 0.3),
            ("0.3", 0.3),
            ("7n", 7e-9),
            ("7u", 7e-6),
            ("0.1k", 100.0),
            ("1E", 1e18),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1.5Ki", 1536.0),
            ("-10Mi", -10_485_760.0),
            ("1Ei", 2_f64.powi(60)),
        ] {
            assert_eq!(quantity(text), Some(number), "{text}");
        }
        for text in [
            "", ".", "-", "m", "Mi", "1.2.3", "1-2", "1K", "1mi", "1 Mi", "1MiB", "e3", "1e", "1e1.5", "NaN",
            "inf", "0x1", "1e999",
        ] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("0", 0.0),
            ("1s", 1.0),
            ("+90m", 5400.0),
            ("1.5h", 5400.0),
            ("1h30m", 5400.0),
            ("-1m0.5s", -60.5),
            ("100ms", 0.1),
            ("2us", 2e-6),
            ("2µs", 2e-6),
        ] {
            assert_eq!(duration(text), Some(seconds * 1e9), "{text}");
        }
        for text in ["", "-", "5", "h", "1h5", "1d", "5mx", "1h-2h", "1 h", "1..5s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
