//! `sprintf`. The formatting itself is `fmt_go`. Source: OPA `topdown/strings.go`.

use crate::value::Value;

use super::{Outcome, operand};
use crate::fmt_go::{self, Arg};

/// The bytes of a result where nobody says how many there may be.
const MOST_BYTES: usize = 256 << 20;

/// `sprintf(format, values)`.
pub(super) fn sprintf(args: &[Value]) -> Outcome {
    formatted(args).into()
}

fn formatted(args: &[Value]) -> Result<Value, operand::Fault> {
    let format = operand::string(args, 0)?;
    let values: Vec<Arg> = operand::array(args, 1)?.iter().map(Arg::of).collect();
    let text = fmt_go::sprintf(format, &values, MOST_BYTES);
    text.map(Value::from).ok_or_else(|| "sprintf: the result is too large".to_owned())
}
