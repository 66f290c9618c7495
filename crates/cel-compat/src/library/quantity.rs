//! Kubernetes quantities such as `500m` and `1Gi`: exact, with the API server's rounding and limits.
//!
//! A quantity is read as `k8s.io/apimachinery` reads it: small ones keep their scale, the others are rounded up to the
//! nano, and binary ones end at the largest 64-bit integer. Whether it counts as an integer depends on that.

use std::cmp::Ordering;

use crate::value::Declared;
use crate::value::Value;

use super::super::error::EvalError;
use super::Native;

/// `digits` times ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    digits: i128,
    scale: i32,
    /// Read on Kubernetes' fast path, which keeps 64-bit integers.
    is_small: bool,
    /// True for the results of `add` and `sub`. Kubernetes' library keeps it behind a pointer, which is not the type
    /// that its `==` wants on the right.
    is_result: bool,
}

const NANO: i32 = -9;

impl Declared for Quantity {
    const NAME: &'static str = "kubernetes.Quantity";

    /// Returns true for the result of `add` or `sub`.
    fn is_incomparable(&self) -> bool {
        self.is_result
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("quantity", |_, arguments| match arguments {
        [Value::String(text)] => Quantity::read(text).map(Quantity::value),
        _ => Err(EvalError::no_overload()),
    }),
    ("isQuantity", |_, arguments| match arguments {
        [Value::String(text)] => Ok(Value::Bool(Quantity::read(text).is_ok())),
        _ => Err(EvalError::no_overload()),
    }),
    ("sign", |_, arguments| this(arguments).map(|this| Value::Int(this.sign()))),
    ("isInteger", |_, arguments| this(arguments).map(|this| Value::Bool(this.integer().is_some()))),
    ("asInteger", |_, arguments| {
        let integer = this(arguments)?.integer();
        integer.map(Value::Int).ok_or_else(|| EvalError::failed("cannot convert value to integer"))
    }),
    ("asApproximateFloat", |_, arguments| this(arguments).map(|this| Value::Float(this.float()))),
    ("add", |_, arguments| this(arguments)?.plus(&other(arguments)?).map(Quantity::result)),
    ("sub", |_, arguments| this(arguments)?.plus(&other(arguments)?.negated()?).map(Quantity::result)),
];

/// The order of two quantities; `None` when the arguments are something else.
pub(super) fn order(arguments: &[Value]) -> Option<Ordering> {
    match arguments {
        [a, b] => Some(as_quantity(a)?.cmp(as_quantity(b)?)),
        _ => None,
    }
}

fn as_quantity(value: &Value) -> Option<&Quantity> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

fn this(arguments: &[Value]) -> Result<&Quantity, EvalError> {
    arguments.first().and_then(as_quantity).ok_or_else(EvalError::no_overload)
}

/// The second operand, which may be a plain integer.
fn other(arguments: &[Value]) -> Result<Quantity, EvalError> {
    match arguments {
        [_, Value::Int(number)] => Ok(Quantity { is_small: true, ..Quantity::large(i128::from(*number), 0) }),
        [_, other] => as_quantity(other).copied().ok_or_else(EvalError::no_overload),
        _ => Err(EvalError::no_overload()),
    }
}

fn malformed() -> EvalError {
    EvalError::failed(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    )
}

fn too_large() -> EvalError {
    EvalError::failed("the quantity has more digits than are supported")
}

/// The parts of a quantity's text.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// The unit that a suffix stands for.
enum Unit {
    Decimal(i32),
    Binary(u32),
}

fn parts(text: &str) -> Result<Parts<'_>, EvalError> {
    if text.is_empty() {
        return Err(malformed());
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.trim_start_matches('0');
    let cut = |text: &'_ str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = rest.split_at_checked(cut(rest)).unwrap_or((rest, ""));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(cut(rest)).unwrap_or((rest, "")),
        None => ("", rest),
    };
    let tail = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if !tail.chars().all(|c| c.is_ascii_digit()) {
        return Err(malformed());
    }
    Ok(Parts { negative, whole, fraction, suffix })
}

fn unit(suffix: &str) -> Result<Unit, EvalError> {
    Ok(match suffix {
        "" => Unit::Decimal(0),
        "n" => Unit::Decimal(-9),
        "u" => Unit::Decimal(-6),
        "m" => Unit::Decimal(-3),
        "k" => Unit::Decimal(3),
        "M" => Unit::Decimal(6),
        "G" => Unit::Decimal(9),
        "T" => Unit::Decimal(12),
        "P" => Unit::Decimal(15),
        "E" => Unit::Decimal(18),
        "Ki" => Unit::Binary(10),
        "Mi" => Unit::Binary(20),
        "Gi" => Unit::Binary(30),
        "Ti" => Unit::Binary(40),
        "Pi" => Unit::Binary(50),
        "Ei" => Unit::Binary(60),
        other => {
            let exponent = other.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
            let exponent = exponent.ok_or_else(|| EvalError::failed("unable to parse quantity's suffix"))?;
            // Kubernetes cuts the exponent to 32 bits, whatever that makes of it.
            Unit::Decimal(exponent as i32)
        }
    })
}

impl Quantity {
    fn value(self) -> Value {
        Value::opaque(self)
    }

    fn result(self) -> Value {
        Value::opaque(Self { is_result: true, ..self })
    }

    /// Reads a quantity.
    pub(super) fn read(text: &str) -> Result<Self, EvalError> {
        let parts = parts(text)?;
        let unit = unit(parts.suffix)?;
        let digits = format!("{}{}", parts.whole, parts.fraction);
        let magnitude: i128 = match digits.as_str() {
            "" => 0,
            digits => digits.parse().map_err(|_| too_large())?,
        };
        let sign = if parts.negative { -1 } else { 1 };
        let decimals = length(parts.fraction);
        // Kubernetes counts an empty whole part as the digit 0.
        let figures = length(parts.whole).max(1).saturating_add(decimals);
        let (magnitude, scale, is_short) = match unit {
            Unit::Decimal(exponent) => {
                let scale = exponent.checked_sub(decimals).ok_or_else(too_large)?;
                (magnitude, scale, figures <= 18)
            }
            Unit::Binary(exponent) => {
                let scaled = 1_i128.checked_shl(exponent).and_then(|factor| magnitude.checked_mul(factor));
                let thirds = i32::try_from(exponent).unwrap_or(i32::MAX).saturating_mul(3);
                let precision =
                    14_i32.saturating_sub(length(parts.whole).max(1)).saturating_sub(thirds.div_euclid(10));
                let is_short = decimals == 0 && precision >= 0;
                (scaled.ok_or_else(too_large)?, decimals.saturating_neg(), is_short)
            }
        };
        let signed = magnitude.saturating_mul(sign);
        if is_short && scale >= NANO && i64::try_from(signed).is_ok() {
            return Ok(Self { digits: signed, scale, is_small: true, is_result: false });
        }
        let rounded = Self::rounded(magnitude, scale).capped(&unit);
        Ok(Self { digits: rounded.digits.saturating_mul(sign), ..rounded })
    }

    /// Rounded up to the nano.
    fn rounded(magnitude: i128, scale: i32) -> Self {
        let surplus = u32::try_from(NANO.saturating_sub(scale)).unwrap_or(0);
        let Some(divisor) = 10_i128.checked_pow(surplus) else {
            return Self::large(magnitude.signum(), NANO);
        };
        let whole = magnitude.checked_div(divisor).unwrap_or(0);
        let rest = magnitude.checked_rem(divisor).unwrap_or(0);
        let rounded = Self::large(whole.saturating_add(rest.signum()), scale.max(NANO));
        // Kubernetes goes on with the nano as its unit, which shows in the last digit of a float.
        rounded.at_scale(NANO).map_or(rounded, |digits| Self::large(digits, NANO))
    }

    const fn large(digits: i128, scale: i32) -> Self {
        Self { digits, scale, is_small: false, is_result: false }
    }

    fn capped(self, unit: &Unit) -> Self {
        let most = Self::large(i128::from(i64::MAX), 0);
        if matches!(unit, Unit::Binary(_)) && self.cmp(&most) == Ordering::Greater {
            return most;
        }
        self
    }

    fn sign(&self) -> i64 {
        i64::try_from(self.digits.signum()).unwrap_or(0)
    }

    /// The quantity as a 64-bit integer, if Kubernetes holds it as one without decimals.
    fn integer(&self) -> Option<i64> {
        let power = u32::try_from(self.scale).ok()?;
        let integer = self.digits.checked_mul(10_i128.checked_pow(power)?)?;
        i64::try_from(integer).ok().filter(|_| self.is_small)
    }

    fn float(&self) -> f64 {
        // Reading a power of ten is exact where multiplying one up is not.
        let power: f64 = format!("1e{}", self.scale).parse().unwrap_or(f64::NAN);
        self.digits as f64 * power
    }

    fn negated(self) -> Result<Self, EvalError> {
        let digits = self.digits.checked_neg().ok_or_else(too_large)?;
        Ok(Self { digits, ..self })
    }

    fn plus(&self, other: &Self) -> Result<Self, EvalError> {
        if other.digits == 0 {
            return Ok(*self);
        }
        if self.digits == 0 {
            return Ok(*other);
        }
        let scale = self.scale.min(other.scale);
        let digits = self
            .at_scale(scale)
            .zip(other.at_scale(scale))
            .and_then(|(a, b)| a.checked_add(b))
            .ok_or_else(too_large)?;
        let is_small = self.is_small && other.is_small && i64::try_from(digits).is_ok();
        Ok(Self { is_small, ..Self::large(digits, scale) })
    }

    /// The digits at a finer scale.
    fn at_scale(&self, scale: i32) -> Option<i128> {
        let power = u32::try_from(self.scale.checked_sub(scale)?).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(power)?)
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.digits.signum().cmp(&other.digits.signum());
        if by_sign != Ordering::Equal || self.digits == 0 {
            return by_sign;
        }
        let scale = self.scale.min(other.scale);
        match (self.at_scale(scale), other.at_scale(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // The one that does not fit 128 bits is further from zero than the one that does.
            (None, _) => self.digits.signum().cmp(&0),
            (_, None) => 0.cmp(&self.digits.signum()),
        }
    }
}

fn length(text: &str) -> i32 {
    i32::try_from(text.len()).unwrap_or(i32::MAX)
}
