//! JSON kept as the text it came in, and parsed once per representation, when first asked for.
//!
//! What a thousand constraints look at is parsed once.

use std::sync::OnceLock;

use serde_json::Value;
use serde_json::value::RawValue;

/// An immutable JSON value of any type.
#[derive(Debug)]
pub struct Json {
    raw: Box<RawValue>,
    json: OnceLock<Value>,
    rego: OnceLock<rego_compat::Value>,
}

impl Json {
    /// Takes JSON text.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self { raw, json: OnceLock::new(), rego: OnceLock::new() }
    }

    /// Takes a parsed value.
    ///
    /// # Errors
    /// None that a value made from JSON can have; serde's signature allows for maps with keys that are no text.
    pub fn from_value(value: &Value) -> serde_json::Result<Self> {
        Ok(Self::from_raw(serde_json::value::to_raw_value(value)?))
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    /// As a JSON value, parsed on the first call.
    ///
    /// The text was recognised as JSON before, so it can fail now only by nesting deeper than serde allows (128);
    /// a policy then sees `null` rather than something made up.
    pub fn json(&self) -> &Value {
        self.json.get_or_init(|| serde_json::from_str(self.text()).unwrap_or(Value::Null))
    }

    /// As a Rego value, parsed on the first call; see [`Json::json`].
    pub fn rego(&self) -> &rego_compat::Value {
        self.rego.get_or_init(|| {
            rego_compat::Value::from_json_str(self.text()).unwrap_or(rego_compat::Value::Null)
        })
    }

    #[cfg(test)]
    pub(super) fn is_parsed(&self) -> bool {
        self.json.get().is_some() || self.rego.get().is_some()
    }
}
