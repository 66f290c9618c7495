//! Numbers as OPA has them: the text they are spelled in. `1`, `1.0` and `1e0` are equal and print differently.
//!
//! A whole number of 64 bits in its plain spelling is held as such, and needs no memory of its own; anything
//! else is its text. [`spelling`] reads texts, [`order`] compares them, [`arithmetic`] computes, exactly on
//! whole numbers and in OPA's binary floats ([`float`]) on others.

pub(crate) mod arithmetic;
pub(crate) mod float;
mod order;
pub(crate) mod spelling;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;

use float::Float;
use spelling::Spelling;

/// OPA computes with numbers up to two to this power, and down to its reciprocal.
const MOST_BITS: i64 = 100_000;

/// A decimal exponent from which a number with a digit is out of range in any case.
const MOST_EXPONENT: i64 = 40_000_000;

/// A number of any size and precision, with its spelling.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// Spelled plainly: digits without leading zeros, behind a minus if need be.
    Small(i64),
    Text(Arc<str>),
}

impl Number {
    /// Parses a number as OPA takes one from a program or a string; `None` for what is not a number, or one beyond
    /// 2^±100000, which OPA does not compute with.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(small) = spelling::plain(text) {
            return Some(Self(Repr::Small(small)));
        }
        is_in_range(&Spelling::read(text)?, text).then(|| Self(Repr::Text(text.into())))
    }

    /// Reads a number as OPA takes one from a document, where only an exponent can be out of range.
    pub(crate) fn in_document(text: &str) -> Option<Self> {
        if text.contains(['e', 'E']) { Self::parse(text) } else { Some(Self::spelled(text)) }
    }

    /// Returns how much work it is to compute with, in digits; none for small numbers.
    pub(crate) fn weight(&self) -> usize {
        let Repr::Text(text) = &self.0 else { return 0 };
        let exponent = text.split_once(['e', 'E']).and_then(|(_, exponent)| exponent.parse::<i64>().ok());
        let exponent = usize::try_from(exponent.unwrap_or(0).unsigned_abs()).unwrap_or(usize::MAX);
        text.len().saturating_add(exponent)
    }

    /// Returns a number whose spelling is known to be one.
    pub(crate) fn spelled(text: &str) -> Self {
        Self(spelling::plain(text).map_or_else(|| Repr::Text(text.into()), Repr::Small))
    }

    /// Returns the number as it was spelled.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Small(small) => Cow::Owned(small.to_string()),
            Repr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// Returns a plainly spelled whole number of 64 bits.
    pub(crate) const fn small(&self) -> Option<i64> {
        match self.0 {
            Repr::Small(small) => Some(small),
            Repr::Text(_) => None,
        }
    }

    /// Returns the length of the text, if it is not a small number.
    pub(crate) fn text_len(&self) -> usize {
        match &self.0 {
            Repr::Small(_) => 0,
            Repr::Text(text) => text.len(),
        }
    }

    /// Returns the whole number, if it has 64 bits and is spelled without an exponent: `1.0` is one, `1e0` is not.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small(small) => Some(*small),
            Repr::Text(text) => spelling::whole(text),
        }
    }

    /// Returns the whole number, if it has 64 bits and is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Small(small) => u64::try_from(*small).ok(),
            Repr::Text(_) => u64::try_from(self.to_integer()?).ok(),
        }
    }

    /// Returns the nearest binary float, if it is finite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Small(small) => Some(*small as f64),
            Repr::Text(text) => Spelling::read(text)?.to_f64(),
        }
    }

    /// Returns the number, if it is whole, exactly.
    pub(crate) fn to_integer(&self) -> Option<BigInt> {
        match &self.0 {
            Repr::Small(small) => Some(BigInt::from(*small)),
            Repr::Text(text) => Spelling::read(text)?.to_integer(),
        }
    }

    /// Returns the whole number that its spelling without a point and an exponent is.
    pub(crate) fn plain_integer(&self) -> Option<BigInt> {
        match &self.0 {
            Repr::Small(small) => Some(BigInt::from(*small)),
            Repr::Text(text) if text.contains('_') => None,
            Repr::Text(text) => text.parse().ok(),
        }
    }

    /// Returns true if it is spelled as JSON has it.
    pub(crate) fn is_json(&self) -> bool {
        self.small().is_some() || go_compat::json::is_number(&self.text())
    }

    /// Returns the text, or what comes closest where JSON does not spell numbers like that.
    pub(crate) fn json_text(&self) -> Cow<'_, str> {
        if self.is_json() {
            return self.text();
        }
        match (self.to_integer(), self.as_f64()) {
            (Some(whole), _) => Cow::Owned(whole.to_string()),
            (None, float) => Cow::Owned(Self::from(float.unwrap_or(0.0)).text().into_owned()),
        }
    }

    /// Returns true if it is spelled with a point or an exponent.
    pub(crate) fn is_spelled_as_float(&self) -> bool {
        match &self.0 {
            Repr::Small(_) => false,
            Repr::Text(text) => text.contains(['.', 'e', 'E']),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(Repr::Small(number))
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        Self(Repr::Small(number.into()))
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(Repr::Small(number.into()))
    }
}

macro_rules! from_wide {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Number {
            fn from(number: $kind) -> Self {
                let text = || Repr::Text(number.to_string().into());
                Self(i64::try_from(number).map_or_else(|_| text(), Repr::Small))
            }
        }
    )*};
}

from_wide!(u64, usize, i128, u128);

/// Returns true if OPA computes with a number (`ast.NumberChecked` and the parser's check).
fn is_in_range(spelling: &Spelling, text: &str) -> bool {
    let size = spelling.exponent.unsigned_abs().saturating_add(text.len() as u64);
    if size < 25_000 {
        return true;
    }
    if spelling.exponent.unsigned_abs() > MOST_EXPONENT.unsigned_abs() {
        return spelling.digits.bytes().all(|digit| digit == b'0');
    }
    Float::read(spelling).magnitude().is_none_or(|bits| bits.abs() <= MOST_BITS)
}

impl From<&BigInt> for Number {
    fn from(number: &BigInt) -> Self {
        let text = || Repr::Text(number.to_string().into());
        Self(i64::try_from(number).map_or_else(|_| text(), Repr::Small))
    }
}

impl From<f64> for Number {
    /// Spelled as JSON is written: `1.0`, `0.1`, `1e300`. What is not a number becomes zero.
    fn from(number: f64) -> Self {
        let json = serde_json::Number::from_f64(number);
        json.map_or(Self(Repr::Small(0)), |json| Self::spelled(&json.to_string()))
    }
}

#[cfg(test)]
mod tests;
