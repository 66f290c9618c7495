//! Binary floats of a chosen precision, rounded to nearest and to even, as Go's `math/big.Float` has them: what
//! OPA computes with where a number is not whole.
//!
//! The integers underneath are `num_bigint`'s. Reading decimals goes through a rounded power of five and
//! printing takes the shortest text, both step by step as Go does, because the last bit and the last digit
//! depend on it.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::CheckedDiv;

use super::Number;
use super::spelling::Spelling;

/// The precision that reading gives.
pub(crate) const PRECISION: u64 = 64;

/// The largest power of five in 64 bits.
const SMALL_FIVES: u64 = 27;

/// `mantissa` times two to the power of `exponent`.
#[derive(Clone, Debug)]
pub(crate) struct Float {
    negative: bool,
    mantissa: BigUint,
    exponent: i64,
    precision: u64,
}

impl Float {
    pub(crate) fn of(number: &Number) -> Option<Self> {
        Some(match number.small() {
            Some(small) => Self::small(small, PRECISION),
            None => Self::read(&Spelling::read(&number.text())?),
        })
    }

    pub(crate) fn small(number: i64, precision: u64) -> Self {
        let mantissa = BigUint::from(number.unsigned_abs());
        Self { negative: number < 0, mantissa, exponent: 0, precision }
    }

    /// Returns a half.
    pub(crate) fn half() -> Self {
        Self { negative: false, mantissa: BigUint::from(1_u8), exponent: -1, precision: 53 }
    }

    /// Returns a whole number, exactly.
    pub(crate) fn integer(number: &BigInt) -> Self {
        let mantissa = number.magnitude().clone();
        let precision = mantissa.bits().max(PRECISION);
        Self { negative: number.sign() == Sign::Minus, mantissa, exponent: 0, precision }
    }

    pub(crate) fn read(spelling: &Spelling) -> Self {
        let (ten, two) = spelling.powers();
        let mantissa = spelling.mantissa();
        let raw = Self {
            negative: spelling.negative,
            exponent: ten.saturating_add(two),
            mantissa,
            precision: PRECISION,
        };
        if raw.is_zero() {
            return Self { exponent: 0, ..raw };
        }
        let fives = || five_to(ten.unsigned_abs(), PRECISION.saturating_mul(2));
        match ten {
            0 => raw.rounded(),
            1.. => raw.times(&fives()),
            _ => raw.over(&fives()),
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.mantissa == BigUint::ZERO
    }

    pub(crate) const fn is_negative(&self) -> bool {
        self.negative
    }

    /// Returns the power of two just above the number; none for zero.
    pub(crate) fn magnitude(&self) -> Option<i64> {
        (!self.is_zero()).then(|| self.exponent.saturating_add(self.mantissa.bits().cast_signed()))
    }

    pub(crate) fn absolute(self) -> Self {
        Self { negative: false, ..self }
    }

    fn negated(&self) -> Self {
        Self { negative: !self.negative, ..self.clone() }
    }

    fn rounded(self) -> Self {
        self.rounded_with(false)
    }

    /// Drops what is beyond the precision; `rest` says that something other than zero was dropped already.
    fn rounded_with(self, rest: bool) -> Self {
        let surplus = self.mantissa.bits().saturating_sub(self.precision);
        if surplus == 0 {
            return self;
        }
        let last = surplus.saturating_sub(1);
        let half = self.mantissa.bit(last);
        let below = rest || self.mantissa.trailing_zeros().is_some_and(|zeros| zeros < last);
        let mut mantissa = self.mantissa >> surplus;
        if half && (below || mantissa.bit(0)) {
            mantissa += 1_u8;
        }
        Self { mantissa, exponent: self.exponent.saturating_add(surplus.cast_signed()), ..self }
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let product = Self {
            negative: self.negative != other.negative,
            mantissa: &self.mantissa * &other.mantissa,
            exponent: self.exponent.saturating_add(other.exponent),
            precision: self.precision,
        };
        product.rounded()
    }

    /// Returns the quotient; the divisor is not zero.
    pub(crate) fn over(&self, other: &Self) -> Self {
        // Two bits more than are wanted: one for rounding, and one because the first may be a zero.
        let wanted = self.precision.saturating_add(other.mantissa.bits()).saturating_add(2);
        let shift = wanted.saturating_sub(self.mantissa.bits());
        let dividend = &self.mantissa << shift;
        let mantissa = dividend.checked_div(&other.mantissa).unwrap_or_default();
        let rest = &mantissa * &other.mantissa != dividend;
        let exponent = self.exponent.saturating_sub(other.exponent).saturating_sub(shift.cast_signed());
        let negative = self.negative != other.negative;
        Self { negative, mantissa, exponent, precision: self.precision }.rounded_with(rest)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |float: &Self| {
            let shift = float.exponent.saturating_sub(exponent).unsigned_abs();
            let sign = if float.negative { Sign::Minus } else { Sign::Plus };
            BigInt::from_biguint(sign, &float.mantissa << shift)
        };
        let precision = self.precision.max(other.precision);
        // A zero needs no alignment: its exponent says nothing.
        let sum = match (self.is_zero(), other.is_zero()) {
            (true, true) => return Self { negative: self.negative && other.negative, ..self.clone() },
            (true, false) => return Self { precision, ..other.clone() },
            (false, true) => return Self { precision, ..self.clone() },
            (false, false) => aligned(self) + aligned(other),
        };
        let negative = sum.sign() == Sign::Minus;
        Self { negative, mantissa: sum.into_parts().1, exponent, precision }.rounded()
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// Returns the number without its fraction.
    pub(crate) fn truncated(&self) -> BigInt {
        let bits = self.exponent.unsigned_abs();
        let magnitude = if self.exponent < 0 { &self.mantissa >> bits } else { &self.mantissa << bits };
        BigInt::from_biguint(if self.negative { Sign::Minus } else { Sign::Plus }, magnitude)
    }

    pub(crate) fn is_whole(&self) -> bool {
        let zeros = self.mantissa.trailing_zeros().unwrap_or(u64::MAX);
        self.exponent >= 0 || zeros >= self.exponent.unsigned_abs()
    }

    pub(crate) fn to_f64(&self) -> f64 {
        let narrow = Self { precision: 53, ..self.clone() }.rounded();
        let mantissa = u64::try_from(&narrow.mantissa).unwrap_or(u64::MAX) as f64;
        let power = |exponent: i64| 2_f64.powi(i32::try_from(exponent).unwrap_or(i32::MAX));
        // In two steps, because the power alone may be beyond what a float holds.
        let half = narrow.exponent / 2;
        let float = mantissa * power(half) * power(narrow.exponent.saturating_sub(half));
        if self.negative { -float } else { float }
    }

    /// Returns the number with its shortest text: whole ones without an exponent (`builtins.FloatToNumber`).
    pub(crate) fn to_number(&self) -> Number {
        let digits = self.shortest();
        let text = if self.is_whole() { digits.plain() } else { digits.general() };
        Number::spelled(&if self.negative { format!("-{text}") } else { text })
    }

    /// Returns the fewest digits that lie closer to the number than to its neighbours.
    fn shortest(&self) -> Digits {
        if self.is_zero() {
            return Digits { digits: Vec::new(), point: 0 };
        }
        let mut exact = Digits::of(&self.mantissa, self.exponent);
        // A unit is now half the distance to a neighbour.
        let shift = self.precision.saturating_add(1).saturating_sub(self.mantissa.bits());
        let mantissa = &self.mantissa << shift;
        let exponent = self.exponent.saturating_sub(shift.cast_signed());
        let lower = Digits::of(&(&mantissa - 1_u8), exponent);
        let upper = Digits::of(&(&mantissa + 1_u8), exponent);
        let inclusive = !mantissa.bit(1);
        for (at, digit) in exact.digits.iter().copied().enumerate() {
            let kept = at.saturating_add(1);
            let (low, high) = (lower.at(at), upper.at(at));
            let down = low != digit || (inclusive && kept == lower.digits.len());
            let wide = inclusive || digit.saturating_add(1) < high || kept < upper.digits.len();
            let up = digit != high && wide;
            match (down, up) {
                (true, true) => exact.round(kept),
                (true, false) => exact.round_down(kept),
                (false, true) => exact.round_up(kept),
                (false, false) => continue,
            }
            break;
        }
        exact
    }
}

/// Returns five to a power, in a float of the given precision and with Go's intermediate roundings.
fn five_to(power: u64, precision: u64) -> Float {
    let five = |power: u64, precision| Float {
        negative: false,
        mantissa: BigUint::from(5_u8).pow(u32::try_from(power).unwrap_or(0)),
        exponent: 0,
        precision,
    };
    let mut result = five(power.min(SMALL_FIVES), precision);
    let mut rest = power.saturating_sub(SMALL_FIVES);
    let mut square = five(1, precision.saturating_add(64));
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.times(&square);
        }
        square = square.times(&square);
        rest >>= 1;
    }
    result
}

/// Decimal digits `0.ddd` times ten to the power of `point`.
struct Digits {
    digits: Vec<u8>,
    point: i64,
}

impl Digits {
    /// Returns the exact digits of a mantissa times a power of two.
    fn of(mantissa: &BigUint, exponent: i64) -> Self {
        let power = u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX);
        let (integer, shift) = if exponent < 0 {
            (mantissa * BigUint::from(5_u8).pow(power), i64::from(power))
        } else {
            (mantissa << power, 0)
        };
        let mut digits = if integer == BigUint::ZERO { Vec::new() } else { integer.to_radix_be(10) };
        let point = (digits.len() as i64).saturating_sub(shift);
        trim(&mut digits);
        Self { digits, point }
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(0)
    }

    /// Halves to even.
    fn round(&mut self, kept: usize) {
        let next = self.at(kept);
        let exactly_half = next == 5 && kept.saturating_add(1) == self.digits.len();
        let odd = kept.checked_sub(1).is_some_and(|last| self.at(last) % 2 == 1);
        if next > 5 || (next == 5 && (!exactly_half || odd)) {
            self.round_up(kept);
        } else {
            self.round_down(kept);
        }
    }

    fn round_down(&mut self, kept: usize) {
        self.digits.truncate(kept);
        trim(&mut self.digits);
    }

    fn round_up(&mut self, kept: usize) {
        self.digits.truncate(kept);
        while self.digits.last() == Some(&9) {
            self.digits.pop();
        }
        match self.digits.last_mut() {
            Some(last) => *last = last.saturating_add(1),
            None => {
                self.digits.push(1);
                self.point = self.point.saturating_add(1);
            }
        }
    }

    fn text(digits: &[u8]) -> String {
        digits.iter().map(|digit| char::from(digit.saturating_add(b'0'))).collect()
    }

    /// Writes the number without an exponent.
    fn plain(&self) -> String {
        let count = self.digits.len();
        match usize::try_from(self.point) {
            Ok(0) if count == 0 => "0".to_owned(),
            Ok(before) if before >= count => format!("{:0<before$}", Self::text(&self.digits)),
            Ok(before) if before > 0 => {
                let (whole, fraction) = self.digits.split_at_checked(before).unwrap_or((&self.digits, &[]));
                format!("{}.{}", Self::text(whole), Self::text(fraction))
            }
            _ => {
                let zeros = usize::try_from(self.point.unsigned_abs()).unwrap_or(0);
                format!("0.{}{}", "0".repeat(zeros), Self::text(&self.digits))
            }
        }
    }

    /// Writes the number with an exponent below -4 and from 6 on, as Go's `%g` without a precision does.
    fn general(&self) -> String {
        let exponent = self.point.saturating_sub(1);
        if (-4..6).contains(&exponent) {
            return self.plain();
        }
        let (first, rest) = self.digits.split_at_checked(1).unwrap_or((&self.digits, &[]));
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}{point}{}e{sign}{:02}", Self::text(first), Self::text(rest), exponent.unsigned_abs())
    }
}

impl Spelling {
    /// Returns the nearest binary float, if there is a finite one.
    pub(crate) fn to_f64(&self) -> Option<f64> {
        let float = if self.hexadecimal {
            Float::read(self).to_f64()
        } else {
            let sign = if self.negative { "-" } else { "" };
            let exponent = self.exponent.saturating_sub(self.fraction);
            format!("{sign}{}e{exponent}", self.digits).parse().ok()?
        };
        float.is_finite().then_some(float)
    }
}

fn trim(digits: &mut Vec<u8>) {
    while digits.last() == Some(&0) {
        digits.pop();
    }
}
