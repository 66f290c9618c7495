//! The arguments of `sprintf`. The formatting itself is Go's ([`go_compat::fmt`]). Source: OPA `topdown/strings.go`.

use go_compat::fmt::Arg;

use crate::value::{Value, literal};

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
