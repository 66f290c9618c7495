//! Conversions between types: `int`, `uint`, `double`, `string`, `bytes`, `bool`, `dyn`.
//!
//! Numbers are read and written as Go does, because that is what the API server's CEL is written in.

use std::sync::Arc;

use go_compat::strconv;

use crate::value::Value;

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::{Native, network, time};

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("int", |_, arguments| one(arguments).and_then(int)),
    ("uint", |_, arguments| one(arguments).and_then(uint)),
    ("double", |_, arguments| one(arguments).and_then(double)),
    ("string", string),
    ("bytes", |_, arguments| one(arguments).and_then(bytes)),
    ("bool", |_, arguments| one(arguments).and_then(bool)),
    ("dyn", |_, arguments| one(arguments).cloned()),
];

fn one(arguments: &[Value]) -> Result<&Value, EvalError> {
    match arguments {
        [value] => Ok(value),
        _ => Err(EvalError::no_overload()),
    }
}

fn unreadable(from: &Value, to: &str) -> EvalError {
    EvalError::Failed(format!("type conversion error from '{}' to '{to}'", from.type_name()))
}

fn int(value: &Value) -> Result<Value, EvalError> {
    let overflow = || EvalError::failed("integer overflow");
    let number = match value {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).map_err(|_| overflow())?,
        Value::Float(number) => {
            // cel-go leaves out both ends of the range, where a float cannot tell one integer from the next.
            let limit = -(i64::MIN as f64);
            if !(*number > -limit && *number < limit) {
                return Err(overflow());
            }
            *number as i64
        }
        Value::String(digits) => strconv::parse_int(digits, 10).map_err(|_| unreadable(value, "int"))?,
        Value::Timestamp(time) => time.timestamp(),
        Value::Duration(span) => span.num_nanoseconds().ok_or_else(overflow)?,
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Int(number))
}

fn uint(value: &Value) -> Result<Value, EvalError> {
    let overflow = || EvalError::failed("unsigned integer overflow");
    let number = match value {
        Value::Uint(number) => *number,
        Value::Int(number) => u64::try_from(*number).map_err(|_| overflow())?,
        Value::Float(number) => {
            if !(*number >= 0.0 && *number < u64::MAX as f64) {
                return Err(overflow());
            }
            *number as u64
        }
        Value::String(digits) => strconv::parse_uint(digits, 10).map_err(|_| unreadable(value, "uint"))?,
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Uint(number))
}

fn double(value: &Value) -> Result<Value, EvalError> {
    let number = match value {
        Value::Float(number) => *number,
        Value::Int(number) => *number as f64,
        Value::Uint(number) => *number as f64,
        Value::String(digits) => strconv::parse_float(digits).map_err(|_| unreadable(value, "double"))?,
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Float(number))
}

fn string(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let value = one(arguments)?;
    Ok(match value {
        Value::String(_) => value.clone(),
        Value::Int(number) => Value::string(number.to_string()),
        Value::Uint(number) => Value::string(number.to_string()),
        Value::Float(number) => Value::string(shortest(*number)),
        Value::Bool(truth) => Value::string(truth.to_string()),
        Value::Bytes(bytes) => {
            meter.bytes(bytes.len())?;
            let utf8 = String::from_utf8(bytes.to_vec());
            Value::string(
                utf8.map_err(|_| EvalError::failed("invalid UTF-8 in bytes, cannot convert to string"))?,
            )
        }
        Value::Timestamp(at) => Value::string(time::format_timestamp(*at)),
        Value::Duration(span) => Value::string(time::format_duration(*span)),
        _ => network::to_text(value).ok_or_else(EvalError::no_overload)?,
    })
}

/// The shortest string that reads back as the number: Go's format `g`.
pub(in super::super) fn shortest(number: f64) -> String {
    strconv::format_float(number, 'g', None)
}

fn bytes(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Bytes(_) => Ok(value.clone()),
        Value::String(text) => Ok(Value::Bytes(Arc::new(text.as_bytes().to_vec()))),
        _ => Err(EvalError::no_overload()),
    }
}

fn bool(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(word) => match &**word {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(unreadable(value, "bool")),
        },
        _ => Err(EvalError::no_overload()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        let read = |of: fn(&Value) -> Result<Value, EvalError>, text: &str| {
            of(&Value::string(text)).map(|value| format!("{value:?}")).ok()
        };
        for (text, expected) in [
            ("0x1p-2", Some("Float(0.25)")),
            ("1_0", Some("Float(10.0)")),
            ("-nan", None),
            ("NaN", Some("Float(NaN)")),
            ("-Infinity", Some("Float(-inf)")),
            ("1e400", None),
        ] {
            assert_eq!(read(double, text).as_deref(), expected, "{text}");
        }
        for text in ["+1", "-1", "1_0", "0x1", "", "9223372036854775808"] {
            let expected = text.parse::<i64>().ok().map(|number| format!("Int({number})"));
            assert_eq!(read(int, text), expected, "{text}");
        }
        assert_eq!(read(uint, "+1"), None);
        assert_eq!(read(uint, "18446744073709551615").as_deref(), Some("Uint(18446744073709551615)"));
    }
}
