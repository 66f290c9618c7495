//! `cast_*`, which Rego v1 removed. Source: OPA `topdown/casts.go`.

pub(super) mod number;

use crate::value::Set;
use crate::value::Value;

use super::{Outcome, operand};

/// `cast_array(x)`: an array as it is, a set as the array of its elements.
pub(super) fn array(args: &[Value]) -> Outcome {
    operand::elements(args, 0).map(Value::from).into()
}

/// `cast_set(x)`: a set as it is, an array as the set of its elements.
pub(super) fn set(args: &[Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::from(elements.into_iter().collect::<Set>())).into()
}

/// `cast_string(x)`: a string as it is, nothing else.
pub(super) fn string(args: &[Value]) -> Outcome {
    only(args, "string")
}

/// `cast_boolean(x)`: a boolean as it is, nothing else.
pub(super) fn boolean(args: &[Value]) -> Outcome {
    only(args, "boolean")
}

/// `cast_null(x)`: null as it is, nothing else.
pub(super) fn null(args: &[Value]) -> Outcome {
    only(args, "null")
}

/// `cast_object(x)`: an object as it is, nothing else.
pub(super) fn object(args: &[Value]) -> Outcome {
    only(args, "object")
}

fn only(args: &[Value], wanted: &str) -> Outcome {
    match args {
        [value] if value.type_name() == wanted => Outcome::Value(value.clone()),
        _ => Outcome::Error(operand::wrong(0, wanted, args.first())),
    }
}
