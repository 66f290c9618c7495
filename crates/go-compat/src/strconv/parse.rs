//! `strconv/atoi.go` and `strconv/atof.go`: strings read as numbers.

use std::fmt;

/// The reason why a string has no number; the words are Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumError {
    /// `strconv.ErrSyntax`.
    Syntax,
    /// `strconv.ErrRange`.
    Range,
}

impl std::error::Error for NumError {}

impl fmt::Display for NumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        })
    }
}

/// Parses as `strconv.ParseUint` does with 64 bits. Base 0 takes the base of the prefix (`0b`, `0o`, `0`, `0x`), and
/// underscores between digits.
///
/// # Errors
/// The string is not such a number, or the number has more than 64 bits.
pub fn parse_uint(text: &str, base: u32) -> Result<u64, NumError> {
    let (radix, digits) = if base == 0 { prefixed(text) } else { (base, text) };
    if text.is_empty() || !(2..=36).contains(&radix) {
        return Err(NumError::Syntax);
    }
    let mut number = 0_u64;
    for digit in digits.chars().filter(|digit| base != 0 || *digit != '_') {
        let digit = digit.to_digit(radix).ok_or(NumError::Syntax)?;
        let shifted = number.checked_mul(radix.into());
        number = shifted.and_then(|number| number.checked_add(digit.into())).ok_or(NumError::Range)?;
    }
    if are_separators(text) { Ok(number) } else { Err(NumError::Syntax) }
}

/// Parses as `strconv.ParseInt` does with 64 bits: as [`parse_uint`], behind a sign or without one.
///
/// # Errors
/// The string is not such a number, or the number does not fit an `i64`.
pub fn parse_int(text: &str, base: u32) -> Result<i64, NumError> {
    let is_negative = text.starts_with('-');
    let magnitude = parse_uint(text.strip_prefix(['+', '-']).unwrap_or(text), base)?;
    let signed =
        if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    signed.ok_or(NumError::Range)
}

/// The base that a prefix names, and the digits behind it.
fn prefixed(text: &str) -> (u32, &str) {
    let Some(rest) = text.strip_prefix('0').filter(|rest| !rest.is_empty()) else { return (10, text) };
    for (letters, base) in [(['b', 'B'], 2), (['o', 'O'], 8), (['x', 'X'], 16)] {
        if let Some(digits) = rest.strip_prefix(letters).filter(|digits| !digits.is_empty()) {
            return (base, digits);
        }
    }
    (8, rest)
}

/// `underscoreOK`: underscores stand between digits, or between the prefix of a base and a digit.
fn are_separators(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits =
        unsigned.strip_prefix('0').and_then(|rest| rest.strip_prefix(['b', 'B', 'o', 'O', 'x', 'X']));
    let is_hex = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let is_digit = |byte: u8| byte.is_ascii_digit() || (is_hex && byte.is_ascii_hexdigit());
    let mut before = if digits.is_some() { b'0' } else { b'^' };
    for byte in digits.unwrap_or(unsigned).bytes() {
        let is_misplaced = if byte == b'_' { !is_digit(before) } else { before == b'_' && !is_digit(byte) };
        if is_misplaced {
            return false;
        }
        before = byte;
    }
    before != b'_'
}

/// Parses as `strconv.ParseFloat` does with 64 bits: decimal or hexadecimal (`0x1.8p4`), infinity, or not a number.
///
/// # Errors
/// The string is not such a number, or the number is larger than any float.
pub fn parse_float(text: &str) -> Result<f64, NumError> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Ok(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if text.eq_ignore_ascii_case("nan") {
        return Ok(f64::NAN);
    }
    if !are_separators(text) {
        return Err(NumError::Syntax);
    }
    let plain = unsigned.replace('_', "");
    let float = match plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits).ok_or(NumError::Syntax)?,
        None => decimal(&plain).ok_or(NumError::Syntax)?,
    };
    match float {
        float if float.is_infinite() => Err(NumError::Range),
        float => Ok(if text.starts_with('-') { -float } else { float }),
    }
}

/// Rust reads the same decimal numbers, and words that Go does not.
fn decimal(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    text.parse().ok().filter(|_| is_number)
}

/// `1.8p4`: the mantissa as an integer, whose lowest bit stands for all the digits that do not fit.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (mut number, mut dropped) = (0_u64, 0_i64);
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if number >> 60 == 0 {
            number = (number << 4) | digit;
        } else {
            number |= u64::from(digit != 0);
            dropped = dropped.saturating_add(4);
        }
    }
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_exponent = !power.is_empty() && power.bytes().all(|byte| byte.is_ascii_digit());
    if mantissa.len() == mantissa.matches('.').count() || !is_exponent {
        return None;
    }
    let power = power.parse::<i64>().unwrap_or(i64::MAX >> 1);
    let power = if exponent.starts_with('-') { power.saturating_neg() } else { power };
    let places = i64::try_from(fraction.len()).ok()?.saturating_mul(4);
    Some(scaled(number, power.saturating_sub(places).saturating_add(dropped)))
}

/// An integer times a power of two, rounded once, halves to even; infinite if that is too large.
fn scaled(number: u64, exponent: i64) -> f64 {
    let bits = i64::from(64_u32.saturating_sub(number.leading_zeros()));
    // The exponent of the highest bit; below -1022 a float has fewer bits than 53.
    let highest = exponent.saturating_add(bits).saturating_sub(1);
    if number == 0 || highest < -1_075 {
        return 0.0;
    }
    if highest > 1_023 {
        return f64::INFINITY;
    }
    let kept = 53_i64.saturating_sub((-1_022_i64).saturating_sub(highest).max(0));
    let dropped = u32::try_from(bits.saturating_sub(kept)).unwrap_or(0);
    let (wide, unit) = (u128::from(number), 1_u128.wrapping_shl(dropped));
    let (half, below) = (unit >> 1, wide & unit.saturating_sub(1));
    let mut rounded = wide.wrapping_shr(dropped);
    if below > half || (below == half && half > 0 && rounded & 1 == 1) {
        rounded = rounded.saturating_add(1);
    }
    let mut exponent = exponent.saturating_add(i64::from(dropped));
    let mut float = rounded as f64;
    let step = if exponent < 0 { 0.5 } else { 2.0 };
    // Exact: each factor is a power of two, and the outcome is known to fit.
    while exponent != 0 {
        float *= step;
        exponent = exponent.saturating_sub(exponent.signum());
    }
    float
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_in_go() {
        for (text, base, expected) in [
            ("0", 0, Ok(0)),
            ("-0x8000_0000_0000_0000", 0, Ok(i64::MIN)),
            ("0b1_0", 0, Ok(2)),
            ("0o17", 0, Ok(15)),
            ("017", 0, Ok(15)),
            ("+1_000", 0, Ok(1_000)),
            ("0_7", 0, Ok(7)),
            ("0x_f", 0, Ok(15)),
            ("1_000", 10, Err(NumError::Syntax)),
            ("08", 0, Err(NumError::Syntax)),
            ("0x", 0, Err(NumError::Syntax)),
            ("1__0", 0, Err(NumError::Syntax)),
            ("_1", 0, Err(NumError::Syntax)),
            ("1_", 0, Err(NumError::Syntax)),
            ("", 0, Err(NumError::Syntax)),
            ("--1", 0, Err(NumError::Syntax)),
            ("9223372036854775808", 0, Err(NumError::Range)),
            ("ff", 16, Ok(255)),
        ] {
            assert_eq!(parse_int(text, base), expected, "{text}");
        }
        assert_eq!(parse_uint("18446744073709551615", 0), Ok(u64::MAX));
        assert_eq!(parse_uint("18446744073709551616", 0), Err(NumError::Range));
        assert_eq!(parse_uint("+1", 0), Err(NumError::Syntax));
    }

    #[test]
    fn floats_are_read_as_in_go() {
        for (text, expected) in [
            ("1_000.5e1_0", 1_000.5e10),
            (".5", 0.5),
            ("-1.", -1.0),
            ("0x1.8p4", 24.0),
            ("-0X_1p-1", -0.5),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", f64::from_bits(1)),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000001p0", f64::from_bits(0x3ff0_0000_0000_0001)),
            ("0x0p9999999999999999999", 0.0),
            ("Infinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("1e-999", 0.0),
        ] {
            assert_eq!(parse_float(text), Ok(expected), "{text}");
        }
        assert!(parse_float("NaN").unwrap().is_nan());
        for text in
            ["", ".", "1e", "1e_5", "1_e5", "1_.5", "0x1", "0x.p1", "0x1p", "+nan", "1e5x", "0b1p0", "1 "]
        {
            assert_eq!(parse_float(text), Err(NumError::Syntax), "{text}");
        }
        assert_eq!(parse_float("1e309"), Err(NumError::Range));
        assert_eq!(parse_float("0x1p1024"), Err(NumError::Range));
        assert_eq!(parse_float("0x1.fffffffffffff8p1023"), Err(NumError::Range));
    }
}
