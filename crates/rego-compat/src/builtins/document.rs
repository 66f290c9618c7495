//! `json.is_valid` and `yaml.is_valid`. Source: OPA `topdown/encoding.go`.

use regorus::Value;

use super::{Outcome, operand};

/// `json.is_valid(text)`; what is no text is not valid.
pub(super) fn json_is_valid(args: &[Value]) -> Outcome {
    let valid = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

/// `yaml.is_valid(text)`; what is no text is not valid.
pub(super) fn yaml_is_valid(args: &[Value]) -> Outcome {
    let valid = |text: &str| Value::from_yaml_str(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}
