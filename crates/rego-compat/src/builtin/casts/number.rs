//! Numbers to and from text. Source: OPA `topdown/casts.go` and `topdown/strings.go`.

use crate::value::number::float::Float;
use crate::value::number::spelling::Spelling;
use crate::value::{Number, Value};

use crate::builtin::Outcome;
use crate::builtin::operand::{self, Fault};

/// `to_number(x)`. A string becomes the number that is spelled like it.
pub(in crate::builtin) fn to_number(args: &[Value]) -> Outcome {
    match args.first() {
        Some(Value::Null | Value::Bool(false)) => Outcome::Value(Value::from(0)),
        Some(Value::Bool(true)) => Outcome::Value(Value::from(1)),
        Some(number @ Value::Number(_)) => Outcome::Value(number.clone()),
        Some(Value::String(text)) => parsed(text).map(Value::from).into(),
        other => Outcome::Error(operand::wrong(0, "one of {null, boolean, number, string}", other)),
    }
}

/// A number as Go's `strconv.ParseFloat` takes it, within the range of a float.
fn parsed(text: &str) -> Result<Number, Fault> {
    let fault = |what: &str| format!("strconv.ParseFloat: parsing {text:?}: {what}");
    let spelling = Spelling::read(text).filter(|_| separates_digits(text));
    let spelling = spelling.ok_or_else(|| fault("invalid syntax"))?;
    spelling.to_f64().ok_or_else(|| fault("value out of range"))?;
    Number::in_document(text).ok_or_else(|| "invalid number: number too big".to_owned())
}

/// Whether every underscore stands between digits, or behind a base's prefix.
fn separates_digits(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let digit = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit()))
    };
    let bytes = unsigned.as_bytes();
    (0_usize..).zip(bytes).filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1);
        let prefix = hexadecimal && before == Some(1);
        let before = before.and_then(|before| bytes.get(before)).copied();
        (digit(before) || prefix) && digit(bytes.get(at.saturating_add(1)).copied())
    })
}

/// `format_int(x, base)`, without the fraction of `x`.
pub(in crate::builtin) fn format_int(args: &[Value]) -> Outcome {
    let (Some(Value::Number(number)), Some(Value::Number(base))) = (args.first(), args.get(1)) else {
        let wrong = usize::from(matches!(args.first(), Some(Value::Number(_))));
        return Outcome::Error(operand::wrong(wrong, "number", args.get(wrong)));
    };
    // The base has to be spelled plainly too.
    let Some(radix @ (2 | 8 | 10 | 16)) = base.small() else {
        return Outcome::Error("operand 2 must be one of {2, 8, 10, 16}".to_owned());
    };
    let whole = number.as_i64().map(Into::into).or_else(|| number.plain_integer());
    let whole = whole.or_else(|| Some(Float::of(number)?.truncated())).unwrap_or_default();
    Outcome::Value(Value::from(whole.to_str_radix(u32::try_from(radix).unwrap_or(10))))
}
