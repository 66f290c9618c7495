//! `units.parse` and `units.parse_bytes`. Source: OPA `topdown/parse_units.go` and `topdown/parse_bytes.go`.

use num_bigint::{BigInt, BigUint};
use num_traits::CheckedDiv;

use crate::value::number::float::Float;
use crate::value::number::spelling::Spelling;
use crate::value::{Number, Value};

use super::Outcome;
use super::operand::{self, CallError};

/// An exponent of more digits than this is refused by OPA.
const MOST_EXPONENT_DIGITS: usize = 6;

/// A power of ten beyond this is refused by us, though not by OPA: it is not a quantity of anything.
const MOST_DIGITS: u64 = 10_000;

/// The digits that a number with a fraction has behind its point.
const PLACES: u32 = 10;

/// A thousandth as OPA has it: the binary float next to it, a whole number over a power of two.
const THOUSANDTH: (u64, u32) = (1_152_921_504_606_847, 60);

/// Implements `units.parse(text)`: a quantity such as `100m`, `1.5Gi` or `2M`.
pub(super) fn parse(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let text = text.replace('"', "");
        let (number, unit) = number_and_unit(&text)?;
        // Case matters in the first letter only: `m` is a thousandth and `M` a million.
        let mut letters = unit.chars();
        let unit: String = letters.next().into_iter().chain(letters.flat_map(char::to_lowercase)).collect();
        let (factor, halvings) =
            if unit == "m" { THOUSANDTH } else { (factor(&unit).ok_or(CallError::Failed)?, 0) };
        Ok(Value::from(product(&spelling(number)?, factor, halvings)))
    });
    answer.into()
}

/// Implements `units.parse_bytes(text)`: a number of bytes such as `1.5GiB` or `2MB`, cut to a whole one. OPA computes it in
/// a float of 64 significant bits, which shows beyond 2^64.
pub(super) fn parse_bytes(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let text = text.to_lowercase().replace('"', "");
        let (number, unit) = number_and_unit(&text)?;
        let factor = factor(unit.strip_suffix('b').filter(|unit| !unit.is_empty()).unwrap_or(unit));
        let factor = factor.filter(|_| !matches!(unit, "b" | "K" | "M")).ok_or(CallError::Failed)?;
        let float = Float::read(&spelling(number)?);
        let factor = Float::integer(&BigInt::from(factor));
        Ok(Value::from(Number::from(&float.times(&factor).truncated())))
    });
    answer.into()
}

/// Returns a number times a factor, halved so many times: as it is if it is whole, else with all its places, halves
/// rounded away from zero.
fn product(spelling: &Spelling, factor: u64, halvings: u32) -> Number {
    let (power, _) = spelling.powers();
    let tens = BigUint::from(10_u8).pow(u32::try_from(power.unsigned_abs()).unwrap_or(0));
    let whole = spelling.mantissa() * factor;
    let (over, under) = if power < 0 { (whole, tens) } else { (whole * tens, BigUint::from(1_u8)) };
    let under = under << halvings;
    let quotient = over.checked_div(&under).unwrap_or_default();
    let sign = if spelling.negative { "-" } else { "" };
    if &quotient * &under == over {
        let sign = if quotient == BigUint::ZERO { "" } else { sign };
        return Number::spelled(&format!("{sign}{quotient}"));
    }
    let scaled = over * BigUint::from(10_u8).pow(PLACES) * 2_u8 + &under;
    let rounded = scaled.checked_div(&(under * 2_u8)).unwrap_or_default();
    let digits = format!("{rounded:0>11}");
    let point = digits.len().saturating_sub(PLACES as usize);
    let (whole, fraction) = digits.split_at_checked(point).unwrap_or((&digits, ""));
    Number::spelled(&format!("{sign}{whole}.{fraction}"))
}

/// Reads `-1.5e3`.
fn spelling(text: &str) -> Result<Spelling, CallError> {
    let spelling = Spelling::read(text).filter(|spelling| !spelling.hexadecimal);
    let spelling = spelling.ok_or(CallError::Failed)?;
    let size = spelling.exponent.unsigned_abs().max(spelling.digits.len() as u64);
    if size > MOST_DIGITS { Err(CallError::Excess) } else { Ok(spelling) }
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
fn number_and_unit(text: &str) -> Result<(&str, &str), CallError> {
    if text.contains(' ') {
        return Err(CallError::Failed);
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
                    return Err(CallError::Failed);
                }
                at = digits_at;
            }
            _ => break,
        }
    }
    match text.split_at_checked(at) {
        Some((number, unit)) if !number.is_empty() => Ok((number, unit)),
        _ => Err(CallError::Failed),
    }
}
