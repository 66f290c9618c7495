//! The parts of a number's text.
//!
//! Programs and documents spell numbers as JSON does, `to_number` takes any of Go's spellings: a plus, a point
//! at either end, underscores, hexadecimal digits with a binary exponent.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};

/// Digits, and what they are multiplied with.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub(crate) negative: bool,
    /// Digits before and after the point.
    pub(crate) digits: String,
    /// The number of them after the point.
    pub(crate) fraction: i64,
    /// Of ten, or of two where the digits are hexadecimal.
    pub(crate) exponent: i64,
    pub(crate) hexadecimal: bool,
}

/// Returns the number in a plain spelling, such as the one Rust prints.
pub(super) fn plain(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] if text.len() <= 20 => text.parse().ok(),
        _ => None,
    }
}

/// Returns a whole number of at most 19 characters behind its sign. Zeros may follow a point (`util.Atoi64`).
pub(super) fn whole(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    if !before.bytes().all(|byte| byte.is_ascii_digit()) || after.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let magnitude: u64 = if before.is_empty() { 0 } else { before.parse().ok()? };
    if text.starts_with('-') { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

impl Spelling {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let negative = text.starts_with('-');
        if let Some(rest) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
            let (mantissa, exponent) = rest.split_once(['p', 'P'])?;
            return Self::parts(negative, mantissa, exponent, true);
        }
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        Self::parts(negative, mantissa, exponent, false)
    }

    fn parts(negative: bool, mantissa: &str, exponent: &str, hexadecimal: bool) -> Option<Self> {
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let radix = if hexadecimal { 16 } else { 10 };
        let mut digits = String::with_capacity(mantissa.len());
        let mut count = 0_i64;
        for (part, counted) in [(whole, 0), (fraction, 1)] {
            for digit in part.chars().filter(|c| *c != '_') {
                digit.to_digit(radix)?;
                digits.push(digit);
                count = count.saturating_add(counted);
            }
        }
        let exponent = exponent.replace('_', "").parse().ok()?;
        (!digits.is_empty()).then_some(Self { negative, digits, fraction: count, exponent, hexadecimal })
    }

    pub(crate) fn mantissa(&self) -> BigUint {
        let radix = if self.hexadecimal { 16 } else { 10 };
        BigUint::parse_bytes(self.digits.as_bytes(), radix).unwrap_or_default()
    }

    /// Returns the powers of ten and of two that the mantissa is multiplied with.
    pub(crate) fn powers(&self) -> (i64, i64) {
        if self.hexadecimal {
            (0, self.exponent.saturating_sub(self.fraction.saturating_mul(4)))
        } else {
            (self.exponent.saturating_sub(self.fraction), 0)
        }
    }

    /// Returns the number, if it is whole.
    pub(super) fn to_integer(&self) -> Option<BigInt> {
        let magnitude = if self.hexadecimal {
            let (mantissa, (_, two)) = (self.mantissa(), self.powers());
            let cut = mantissa.trailing_zeros().unwrap_or(0).cast_signed();
            if two.saturating_add(cut) < 0 && mantissa != BigUint::ZERO {
                return None;
            }
            if two < 0 { mantissa >> two.unsigned_abs() } else { mantissa << two.unsigned_abs() }
        } else {
            let decimal = self.decimal();
            let zeros = decimal.point.saturating_sub(i64::try_from(decimal.digits.len()).ok()?);
            let zeros = if decimal.digits.is_empty() { 0 } else { usize::try_from(zeros).ok()? };
            let digits = format!("0{}{}", decimal.digits, "0".repeat(zeros));
            BigUint::parse_bytes(digits.as_bytes(), 10)?
        };
        Some(BigInt::from_biguint(if self.negative { Sign::Minus } else { Sign::Plus }, magnitude))
    }

    /// Returns the number's digits without zeros at either end.
    pub(super) fn decimal(&self) -> Decimal {
        if self.hexadecimal {
            return self.hexadecimal_decimal();
        }
        let significant = self.digits.trim_start_matches('0');
        let point = (significant.len() as i64).saturating_sub(self.fraction).saturating_add(self.exponent);
        Decimal::new(self.negative, significant, point)
    }

    /// Two to a negative power is five to it over ten to it.
    fn hexadecimal_decimal(&self) -> Decimal {
        let (_, two) = self.powers();
        let power = u32::try_from(two.unsigned_abs()).unwrap_or(u32::MAX);
        let (digits, shift) = if two < 0 {
            (self.mantissa() * BigUint::from(5_u8).pow(power), i64::from(power))
        } else {
            (self.mantissa() << power, 0)
        };
        let digits = digits.to_string();
        Decimal::new(
            self.negative,
            digits.trim_start_matches('0'),
            (digits.len() as i64).saturating_sub(shift),
        )
    }
}

/// A number as `0.digits` times ten to the power of `point`. Zero has no digits.
#[derive(Debug)]
pub(super) struct Decimal {
    negative: bool,
    pub(super) digits: String,
    pub(super) point: i64,
}

impl Decimal {
    fn new(negative: bool, digits: &str, point: i64) -> Self {
        let digits = digits.trim_end_matches('0').to_owned();
        Self { negative: negative && !digits.is_empty(), digits, point }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let magnitude = || {
            let ranks = |decimal: &Self| (!decimal.digits.is_empty()).then_some(decimal.point);
            ranks(self).cmp(&ranks(other)).then_with(|| self.digits.cmp(&other.digits))
        };
        match (self.negative, other.negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => magnitude(),
            (true, true) => magnitude().reverse(),
        }
    }
}
