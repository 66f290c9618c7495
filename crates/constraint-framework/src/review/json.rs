//! JSON kept as the text it came in, and parsed once per representation, when first asked for.
//!
//! An object that a thousand constraints read is parsed once.

use std::sync::OnceLock;

use serde_json::Value;
use serde_json::value::RawValue;

/// The error that a JSON value cannot be read for a policy: it is nested deeper than 512 levels or has a number out of
/// range. The text was recognised as JSON before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object cannot be read: it is nested too deep, or has a number out of bounds")]
pub struct UnreadableError;

/// An immutable JSON value of any type.
#[derive(Debug)]
pub struct Json {
    raw: Box<RawValue>,
    json: OnceLock<Result<Value, UnreadableError>>,
    rego: OnceLock<Result<rego_compat::Value, UnreadableError>>,
    cel: OnceLock<Result<cel_compat::Value, UnreadableError>>,
}

impl Json {
    /// Creates a value from JSON text, which is parsed when first asked for.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self { raw, json: OnceLock::new(), rego: OnceLock::new(), cel: OnceLock::new() }
    }

    /// Creates a value from a parsed one, which is written as text.
    ///
    /// # Errors
    /// The value has a map with keys that are not strings, which no [`Value`] has: in practice none.
    pub fn from_value(value: &Value) -> serde_json::Result<Self> {
        Ok(Self::from_raw(serde_json::value::to_raw_value(value)?))
    }

    /// Returns the same text, nothing of it parsed.
    pub(super) fn detached(&self) -> Self {
        Self::from_raw(self.raw.clone())
    }

    /// Returns the text in the form that serde_json writes into other JSON as it is.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Returns the JSON text as it came.
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    /// Returns the JSON value, parsed on the first call.
    ///
    /// # Errors
    /// The value is nested deeper than 512 levels, or has a number beyond 64-bit floating point.
    pub fn json(&self) -> Result<&Value, UnreadableError> {
        self.json.get_or_init(|| self.parse()).as_ref().map_err(|error| *error)
    }

    /// Returns the value for Rego, parsed on the first call.
    ///
    /// # Errors
    /// The value is nested too deeply, or has a number beyond 2^±100000.
    pub fn rego(&self) -> Result<&rego_compat::Value, UnreadableError> {
        let parse = || rego_compat::Value::from_json_str(self.text()).map_err(|_| UnreadableError);
        self.rego.get_or_init(parse).as_ref().map_err(|error| *error)
    }

    /// Returns a JSON value that is not kept. What serde_json does not read, the reader of Rego's values does: deep
    /// nesting, and half a surrogate pair.
    ///
    /// # Errors
    /// As [`Json::json`].
    pub fn parse(&self) -> Result<Value, UnreadableError> {
        let unusual = || serde_json::to_value(rego_compat::Value::from_json_str(self.text()).ok()?).ok();
        serde_json::from_str(self.text()).ok().or_else(unusual).ok_or(UnreadableError)
    }

    /// Returns the value for CEL, parsed on the first call.
    ///
    /// # Errors
    /// The value is nested too deeply, or has a number beyond 64-bit floating point.
    pub fn cel(&self) -> Result<&cel_compat::Value, UnreadableError> {
        let parse = || cel_compat::Value::from_json_str(self.text()).ok_or(UnreadableError);
        self.cel.get_or_init(parse).as_ref().map_err(|error| *error)
    }

    #[cfg(test)]
    pub(super) fn is_parsed(&self) -> bool {
        self.json.get().is_some() || self.rego.get().is_some() || self.cel.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_representations_read_equally_deep() {
        let nested = |levels: usize| {
            Json::from_raw(
                RawValue::from_string(format!("{}{}", "[".repeat(levels), "]".repeat(levels))).unwrap(),
            )
        };
        for levels in [1, 127, 128, 512, 513] {
            let json = nested(levels);
            let read = levels < 513;
            assert_eq!(json.json().is_err(), !read, "{levels}");
            assert_eq!(json.rego().is_err(), !read, "{levels}");
            assert_eq!(json.cel().is_err(), !read, "{levels}");
        }
    }
}
