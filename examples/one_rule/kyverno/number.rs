//! Quantities such as `500m` and `10Mi`.

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

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
}
