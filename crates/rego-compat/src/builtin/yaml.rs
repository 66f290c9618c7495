//! `yaml.*`. Source: OPA `topdown/encoding.go` and `internal/yaml`, and Go's `go.yaml.in/yaml/v3`.
//!
//! Documents are composed by [`go_compat::yaml`]; `read` makes values of them. `write` makes a document (`quotes` chooses
//! its quotes, `order` the order of keys). Values go through JSON on both ways, as in OPA: numbers lose their spelling.

mod order;
mod quotes;
mod read;
mod write;

use crate::value::Value;

use super::operand;
use super::{CallError, Outcome};

/// Implements `yaml.is_valid(text)`; what is not a string is not valid.
pub(super) fn is_valid(args: &[&Value]) -> Outcome {
    match operand::string(args, 0).and_then(read::first_document) {
        Err(error @ CallError::Excess) => Outcome::Error(error),
        read => Value::Bool(read.is_ok()).into(),
    }
}

/// Implements `yaml.unmarshal(text)`: the first of its documents; the others must only be well-formed.
pub(super) fn unmarshal(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(read::first_document).into()
}

/// Implements `yaml.marshal(x)`.
pub(super) fn marshal(args: &[&Value]) -> Outcome {
    args.first().copied().ok_or(operand::CallError::Failed).and_then(write::document).map(Value::from).into()
}

/// Returns a document within a text of another kind, for example the annotations of a rule.
pub(crate) fn document(text: &str) -> Option<Value> {
    read::first_document(text).ok()
}
