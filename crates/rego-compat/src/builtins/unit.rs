//! `units.parse` and `units.parse_bytes`. Source: OPA `topdown/parse_units.go` and `topdown/parse_bytes.go`.

use crate::value::Value;

use super::Outcome;
use super::operand::{self, Fault};

/// An exponent of more digits than this is refused by OPA.
const MOST_EXPONENT_DIGITS: usize = 6;

/// A result of more digits than this is refused by us, though not by OPA: it is no quantity of anything.
const MOST_DIGITS: i64 = 400;

/// A decimal number: `digits` times ten to the power of `exponent`.
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i64,
}

/// `units.parse(text)`: a quantity such as `100m`, `1.5Gi` or `2M`.
pub(super) fn parse(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let text = text.replace('"', "");
        let (number, unit) = number_and_unit(&text, "units.parse")?;
        // Only the first letter tells a case apart: `m` is a thousandth and `M` a million.
        let mut letters = unit.chars();
        let unit: String = letters.next().into_iter().chain(letters.flat_map(char::to_lowercase)).collect();
        let fault = || format!("units.parse: unit {unit} not recognized");
        let (factor, power) = if unit == "m" { (1, -3) } else { (factor(&unit).ok_or_else(fault)?, 0) };
        let product = decimal(number, "units.parse")?.times(factor, power);
        Ok(product.ok_or("units.parse: exponent too large")?.rounded(10))
    });
    answer.and_then(|text: String| number_of(&text)).into()
}

/// `units.parse_bytes(text)`: a number of bytes such as `1.5GiB` or `2MB`, cut to a whole one.
pub(super) fn parse_bytes(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let text = text.to_lowercase().replace('"', "");
        let (number, unit) = number_and_unit(&text, "units.parse_bytes")?;
        let fault = || format!("units.parse_bytes: byte unit {unit} not recognized");
        let factor = factor(unit.strip_suffix('b').filter(|unit| !unit.is_empty()).unwrap_or(unit));
        let factor = factor.filter(|_| !matches!(unit, "b" | "K" | "M")).ok_or_else(fault)?;
        let product = decimal(number, "units.parse_bytes")?.times(factor, 0);
        Ok(in_64_bits(product.ok_or("units.parse_bytes: exponent too large")?.truncated()))
    });
    answer.and_then(|text: String| number_of(&text)).into()
}

/// OPA computes bytes in a float of 64 significant bits, which shows beyond 2^64.
fn in_64_bits(text: String) -> String {
    let Ok(whole) = text.parse::<u128>() else {
        return text;
    };
    let surplus = 64_u32.saturating_sub(whole.leading_zeros());
    let half = 1_u128.checked_shl(surplus.saturating_sub(1)).unwrap_or(0);
    let (kept, dropped) =
        (whole.wrapping_shr(surplus), whole & (1_u128.wrapping_shl(surplus)).saturating_sub(1));
    let up = surplus > 0 && (dropped > half || (dropped == half && kept & 1 == 1));
    kept.saturating_add(u128::from(up)).wrapping_shl(surplus).to_string()
}

fn number_of(text: &str) -> Result<Value, Fault> {
    Value::from_numeric_string(text).map_err(|error| error.to_string())
}

fn factor(unit: &str) -> Option<u64> {
    let (letter, binary) = unit.strip_suffix('i').map_or((unit, false), |letter| (letter, true));
    let power = match letter {
        "" if !binary => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        "e" | "E" => 6,
        _ => return None,
    };
    if binary { 1024_u64.checked_pow(power) } else { 1000_u64.checked_pow(power) }
}

/// Splits before the first character that is not of a number.
fn number_and_unit<'t>(text: &'t str, name: &str) -> Result<(&'t str, &'t str), Fault> {
    if text.contains(' ') {
        return Err(format!("{name}: spaces not allowed in resource strings"));
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let sign = |at: usize| bytes.get(at).is_some_and(|byte| matches!(byte, b'+' | b'-'));
    let mut at = 0_usize;
    while let Some(byte) = bytes.get(at) {
        let next = at.saturating_add(1);
        match byte {
            b'0'..=b'9' | b'.' | b'+' | b'-' => at = next,
            b'e' | b'E' if digit(next) || sign(next) => {
                let digits_at = if sign(next) { next.saturating_add(1) } else { next };
                let digits = (digits_at..bytes.len()).take_while(|at| digit(*at)).count();
                if digits > MOST_EXPONENT_DIGITS {
                    return Err(format!("{name}: exponent too large"));
                }
                at = digits_at;
            }
            _ => break,
        }
    }
    match text.split_at_checked(at) {
        Some((number, unit)) if !number.is_empty() => Ok((number, unit)),
        _ => Err(format!("{name}: no amount provided")),
    }
}

/// Reads `-1.5e3`. Digits beyond 37 are dropped, which no quantity has.
fn decimal(text: &str, name: &str) -> Result<Decimal, Fault> {
    let fault = || format!("{name}: could not parse amount to a number");
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut decimal = Decimal { negative, digits: 0, exponent: exponent.parse().map_err(|_| fault())? };
    if whole.is_empty() && fraction.is_empty() {
        return Err(fault());
    }
    for (character, scale) in whole.chars().map(|c| (c, 0)).chain(fraction.chars().map(|c| (c, -1))) {
        let digit = character.to_digit(10).ok_or_else(fault)?;
        if decimal.digits < 10_u128.pow(37) {
            decimal.digits = decimal.digits.saturating_mul(10).saturating_add(u128::from(digit));
            decimal.exponent = decimal.exponent.saturating_add(scale);
        } else {
            decimal.exponent = decimal.exponent.saturating_add(scale).saturating_add(1);
        }
    }
    Ok(decimal)
}

impl Decimal {
    /// The product with a factor; none if it has too many digits to be a quantity.
    fn times(self, factor: u64, power: i64) -> Option<Self> {
        let digits = self.digits.checked_mul(u128::from(factor))?;
        let exponent = self.exponent.saturating_add(power);
        (exponent < MOST_DIGITS).then_some(Self { digits, exponent, ..self })
    }

    fn sign(&self) -> &'static str {
        if self.negative && self.digits != 0 { "-" } else { "" }
    }

    /// The number without its fraction.
    fn truncated(&self) -> String {
        let digits = self.digits.to_string();
        match usize::try_from(self.exponent) {
            Ok(zeros) => format!("{}{digits}{}", self.sign(), "0".repeat(zeros)),
            Err(_) => {
                let fraction = usize::try_from(self.exponent.unsigned_abs()).unwrap_or(usize::MAX);
                let whole = digits.len().checked_sub(fraction).and_then(|end| digits.get(..end));
                match whole.filter(|whole| !whole.is_empty()) {
                    Some(whole) => format!("{}{whole}", self.sign()),
                    None => "0".to_owned(),
                }
            }
        }
    }

    /// A whole number as it is, another with `places` digits after its point, halves away from zero.
    fn rounded(&self, places: i64) -> String {
        let scale =
            u32::try_from(self.exponent.min(0).unsigned_abs()).ok().and_then(|p| 10_u128.checked_pow(p));
        if self.digits == 0 {
            return "0".to_owned();
        }
        if scale.is_some_and(|scale| self.digits.checked_rem(scale) == Some(0)) {
            return self.truncated();
        }
        let surplus = self.exponent.saturating_add(places);
        if let Ok(missing) = usize::try_from(surplus) {
            return format!("{}{}", self.with_point(), "0".repeat(missing));
        }
        let scale = u32::try_from(surplus.unsigned_abs()).ok().and_then(|power| 10_u128.checked_pow(power));
        let half_up = |scale: u128| self.digits.checked_add(scale / 2)?.checked_div(scale);
        let digits = scale.and_then(half_up).unwrap_or(0);
        let rounded = Self { negative: false, digits, exponent: places.saturating_neg() };
        format!("{}{}", self.sign(), rounded.with_point())
    }

    fn with_point(&self) -> String {
        if self.exponent >= 0 {
            return self.truncated();
        }
        let places = usize::try_from(self.exponent.unsigned_abs()).unwrap_or(0);
        let width = places.saturating_add(1);
        let digits = format!("{:0>width$}", self.digits);
        let (whole, fraction) =
            digits.split_at_checked(digits.len().saturating_sub(places)).unwrap_or((&digits, ""));
        format!("{}{whole}.{fraction}", self.sign())
    }
}
