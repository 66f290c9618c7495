//! `sprintf`. The formatting itself is Go's ([`go_compat::fmt`]). Source: OPA `topdown/strings.go`.

use go_compat::fmt::{self, Arg};

use crate::value::{Value, literal};

use super::{Outcome, operand};

/// The bytes of a result where the caller sets no limit.
const MOST_BYTES: usize = 256 << 20;

/// `sprintf(format, values)`.
pub(super) fn sprintf(args: &[Value]) -> Outcome {
    formatted(args).into()
}

fn formatted(args: &[Value]) -> Result<Value, operand::Fault> {
    let format = operand::string(args, 0)?;
    let values: Vec<Arg> = operand::array(args, 1)?.iter().map(argument).collect();
    let text = fmt::sprintf(format, &values, MOST_BYTES);
    text.map(Value::from).ok_or_else(|| "sprintf: the result is too large".to_owned())
}

/// A value as `builtinSprintf` hands it to Go: the spelling of a number decides, `1.0` is a float; what is neither a
/// number nor a string is printed as a term.
pub(crate) fn argument(value: &Value) -> Arg {
    let Value::Number(number) = value else {
        return Arg::String(match value {
            Value::String(text) => text.to_string(),
            other => literal::of(other),
        });
    };
    let text = || Arg::String(number.text().into_owned());
    if number.is_spelled_as_float() {
        return number.as_f64().map_or_else(text, Arg::Float);
    }
    let small = number.as_i64().map(Arg::Int);
    small.or_else(|| number.plain_integer().map(Arg::Big)).unwrap_or_else(text)
}
