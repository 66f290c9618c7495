//! Numbers of a schema and of a document, compared exactly.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Number;
use crate::value::number::spelling::Spelling;

/// A whole number times a power of ten.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    mantissa: BigInt,
    exponent: i64,
}

impl Decimal {
    /// Reads a number; one of many digits is paid for.
    pub(super) fn of(number: &Number, meter: &Meter) -> Result<Option<Self>, EvalError> {
        if let Some(small) = number.small() {
            return Ok(Some(Self { mantissa: small.into(), exponent: 0 }));
        }
        let weight = u64::try_from(number.weight()).unwrap_or(u64::MAX);
        meter.spend(weight)?;
        meter.afford(weight.saturating_mul(weight) / 256)?;
        let Some(spelling) = Spelling::read(&number.text()) else { return Ok(None) };
        let (exponent, _) = spelling.powers();
        let sign = if spelling.negative { Sign::Minus } else { Sign::Plus };
        Ok(Some(Self { mantissa: BigInt::from_biguint(sign, spelling.mantissa()), exponent }))
    }

    pub(super) fn is_positive(&self) -> bool {
        self.mantissa.sign() == Sign::Plus
    }

    pub(super) fn is_whole(&self) -> bool {
        self.exponent >= 0 || self.is_multiple_of(&Self { mantissa: 1.into(), exponent: 0 })
    }

    /// Returns true if this is a whole number of times another, which is not zero.
    pub(super) fn is_multiple_of(&self, other: &Self) -> bool {
        let (mine, theirs) = self.aligned(other);
        let quotient = num_traits::CheckedDiv::checked_div(&mine, &theirs).unwrap_or_default();
        quotient * theirs == mine
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (mine, theirs) = self.aligned(other);
        mine.cmp(&theirs)
    }

    /// Returns both as whole numbers of the smaller power of ten.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt) {
        let least = self.exponent.min(other.exponent);
        let scaled = |decimal: &Self| {
            let zeros = u32::try_from(decimal.exponent.saturating_sub(least)).unwrap_or(u32::MAX);
            match zeros {
                0 => decimal.mantissa.clone(),
                _ if decimal.mantissa.sign() == Sign::NoSign => BigInt::ZERO,
                _ => &decimal.mantissa * BigInt::from(10_u8).pow(zeros),
            }
        };
        (scaled(self), scaled(other))
    }

    /// Returns the number as Go prints a `big.Float` of that value: with an exponent below -4 and from 6 on.
    pub(super) fn text(&self) -> String {
        let digits = self.mantissa.magnitude().to_string();
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.mantissa.sign() == Sign::Minus { "-" } else { "" };
        let exponent = length.saturating_add(self.exponent).saturating_sub(1);
        let text =
            if (-4..6).contains(&exponent) { plain(digits, exponent) } else { scientific(digits, exponent) };
        format!("{sign}{text}")
    }
}

fn plain(digits: &str, exponent: i64) -> String {
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = usize::try_from(exponent.unsigned_abs().saturating_sub(1)).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    let before = exponent.saturating_add(1);
    match digits.split_at_checked(before) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        _ => format!("{digits:0<before$}"),
    }
}

fn scientific(digits: &str, exponent: i64) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs())
}
