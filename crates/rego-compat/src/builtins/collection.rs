//! Functions over arrays and sets that the engine lacks. Source: OPA `topdown/array.go`, `topdown/sets.go`.

use regorus::Value;

use super::{Outcome, operand};

/// `array.flatten(xs)`: the elements of `xs`, an array among them replaced by its own elements, one level deep.
pub(super) fn flatten(args: &[Value]) -> Outcome {
    operand::array(args, 0).map(|array| Value::from(array.iter().flat_map(level).collect::<Vec<_>>())).into()
}

fn level(element: &Value) -> Vec<Value> {
    match element {
        Value::Array(inner) => inner.to_vec(),
        other => vec![other.clone()],
    }
}

/// `set_diff(a, b)`: what is in `a` and not in `b`; the operator `-` replaced it in Rego v1.
pub(super) fn set_diff(args: &[Value]) -> Outcome {
    difference(args).into()
}

fn difference(args: &[Value]) -> Result<Value, operand::Fault> {
    Ok(Value::from(operand::set(args, 0)?.difference(operand::set(args, 1)?)))
}
