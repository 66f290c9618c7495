//! The operators that take two values: arithmetic, comparison, membership. Logic is in `eval`, which may not evaluate
//! both sides.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::value::Value;

use super::compare::{equal, is_nan, is_same, lookup, order, whole};
use super::error::EvalError;
use super::meter::Meter;

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// The operator that CEL calls by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "_+_" => Self::Add,
            "_-_" => Self::Subtract,
            "_*_" => Self::Multiply,
            "_/_" => Self::Divide,
            "_%_" => Self::Modulo,
            "_==_" => Self::Equal,
            "_!=_" => Self::NotEqual,
            "_<_" => Self::Less,
            "_<=_" => Self::LessOrEqual,
            "_>_" => Self::Greater,
            "_>=_" => Self::GreaterOrEqual,
            "@in" => Self::In,
            _ => return None,
        })
    }

    /// The value of the operation.
    pub(super) fn apply(
        self,
        meter: &Meter,
        a: Cow<'_, Value>,
        b: Cow<'_, Value>,
    ) -> Result<Value, EvalError> {
        match self {
            Self::Add => add(meter, a.into_owned(), b.into_owned()),
            Self::Subtract => subtract(&a, &b),
            Self::Multiply | Self::Divide | Self::Modulo => self.scale(&a, &b),
            Self::Equal => equal(meter, &a, &b).map(Value::Bool),
            // What cannot be compared is different.
            Self::NotEqual => is_same(meter, &a, &b).map(|same| Value::Bool(!same)),
            Self::In => contains(meter, &a, &b),
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => {
                // What is not a number is neither less nor greater than anything, whatever its type.
                if is_nan(&a) || is_nan(&b) {
                    return Ok(Value::Bool(false));
                }
                let order = order(meter, &a, &b)?;
                Ok(Value::Bool(match self {
                    Self::Less => order == Ordering::Less,
                    Self::LessOrEqual => order != Ordering::Greater,
                    Self::Greater => order == Ordering::Greater,
                    _ => order != Ordering::Less,
                }))
            }
        }
    }

    fn scale(self, a: &Value, b: &Value) -> Result<Value, EvalError> {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => self.scale_int(*a, *b).map(Value::Int),
            (Value::Uint(a), Value::Uint(b)) => self.scale_uint(*a, *b).map(Value::Uint),
            (Value::Float(a), Value::Float(b)) => match self {
                Self::Multiply => Ok(Value::Float(a * b)),
                Self::Divide => Ok(Value::Float(a / b)),
                _ => Err(EvalError::no_overload()),
            },
            _ => Err(EvalError::no_overload()),
        }
    }

    fn scale_int(self, a: i64, b: i64) -> Result<i64, EvalError> {
        let result = match self {
            Self::Multiply => a.checked_mul(b),
            _ if b == 0 => return Err(self.by_zero()),
            Self::Divide => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        result.ok_or_else(|| EvalError::failed("integer overflow"))
    }

    fn scale_uint(self, a: u64, b: u64) -> Result<u64, EvalError> {
        let result = match self {
            Self::Multiply => a.checked_mul(b),
            _ if b == 0 => return Err(self.by_zero()),
            Self::Divide => a.checked_div(b),
            _ => a.checked_rem(b),
        };
        result.ok_or_else(|| EvalError::failed("unsigned integer overflow"))
    }

    fn by_zero(self) -> EvalError {
        EvalError::failed(if self == Self::Divide { "division by zero" } else { "modulus by zero" })
    }
}

/// A duration, if there is one that fits 64 bits of nanoseconds.
fn duration(span: Option<TimeDelta>) -> Result<Value, EvalError> {
    span.filter(|span| span.num_nanoseconds().is_some())
        .map(Value::Duration)
        .ok_or_else(|| EvalError::failed("duration overflow"))
}

/// Minus the value.
pub(super) fn negate(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Int(number) => {
            number.checked_neg().map(Value::Int).ok_or_else(|| EvalError::failed("integer overflow"))
        }
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Duration(span) => duration(span.checked_mul(-1)),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn add(meter: &Meter, a: Value, b: Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => {
            a.checked_add(b).map(Value::Int).ok_or_else(|| EvalError::failed("integer overflow"))
        }
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_add(b).map(Value::Uint).ok_or_else(|| EvalError::failed("unsigned integer overflow"))
        }
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a + b)),
        (Value::String(a), Value::String(b)) => {
            meter.bytes(a.len().saturating_add(b.len()))?;
            Ok(Value::string([&*a, &*b].concat()))
        }
        (Value::Bytes(mut a), Value::Bytes(b)) => {
            meter.bytes(a.len().saturating_add(b.len()))?;
            Arc::make_mut(&mut a).extend_from_slice(&b);
            Ok(Value::Bytes(a))
        }
        (Value::List(mut a), Value::List(b)) => {
            meter.elements(a.len().saturating_add(b.len()))?;
            if a.is_empty() {
                return Ok(Value::List(b));
            }
            // A list that is shared is copied as soon as it is changed.
            if !b.is_empty() {
                Arc::make_mut(&mut a).extend(b.iter().cloned());
            }
            Ok(Value::List(a))
        }
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(&b)),
        (Value::Timestamp(time), Value::Duration(span)) | (Value::Duration(span), Value::Timestamp(time)) => {
            Value::timestamp(time.checked_add_signed(span))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn subtract(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => {
            a.checked_sub(*b).map(Value::Int).ok_or_else(|| EvalError::failed("integer overflow"))
        }
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_sub(*b).map(Value::Uint).ok_or_else(|| EvalError::failed("unsigned integer overflow"))
        }
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(b)),
        (Value::Timestamp(time), Value::Duration(span)) => Value::timestamp(time.checked_sub_signed(*span)),
        (Value::Timestamp(a), Value::Timestamp(b)) => duration(Some(a.signed_duration_since(*b))),
        _ => Err(EvalError::no_overload()),
    }
}

/// `a in b`.
fn contains(meter: &Meter, a: &Value, b: &Value) -> Result<Value, EvalError> {
    match b {
        Value::List(elements) => {
            for element in elements.iter() {
                if is_same(meter, a, element)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => Ok(Value::Bool(lookup(map, a).is_some())),
        _ => Err(EvalError::no_overload()),
    }
}

/// The position that an index stands for in a list.
pub(super) fn position(index: &Value) -> Result<Option<usize>, EvalError> {
    match index {
        Value::Int(index) => Ok(usize::try_from(*index).ok()),
        Value::Uint(index) => Ok(usize::try_from(*index).ok()),
        Value::Float(index) => {
            let index = whole(*index).ok_or_else(|| EvalError::failed("unsupported index value in list"))?;
            Ok(usize::try_from(index).ok())
        }
        other => {
            let of = other.type_name();
            Err(EvalError::Failed(format!("unsupported index type '{of}' in list")))
        }
    }
}
