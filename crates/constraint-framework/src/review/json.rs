//! JSON kept as the text it came in, and parsed once per representation, when first asked for.
//!
//! What a thousand constraints look at is parsed once.

use std::sync::OnceLock;

use serde_json::Value;
use serde_json::value::RawValue;

/// What is shown of a text that cannot be parsed. Whoever judges asks [`Json::is_unreadable`] too.
static UNREADABLE: rego_compat::Value = rego_compat::Value::Null;

/// An immutable JSON value of any type.
#[derive(Debug)]
pub struct Json {
    raw: Box<RawValue>,
    json: OnceLock<Option<Value>>,
    rego: OnceLock<Option<rego_compat::Value>>,
    cel: OnceLock<Option<cel_compat::Value>>,
}

impl Json {
    /// Takes JSON text.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self { raw, json: OnceLock::new(), rego: OnceLock::new(), cel: OnceLock::new() }
    }

    /// Takes a parsed value.
    ///
    /// # Errors
    /// None that a value made from JSON can have; serde's signature allows for maps with keys that are no text.
    pub fn from_value(value: &Value) -> serde_json::Result<Self> {
        Ok(Self::from_raw(serde_json::value::to_raw_value(value)?))
    }

    /// The same text, nothing of it parsed.
    pub(super) fn detached(&self) -> Self {
        Self::from_raw(self.raw.clone())
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    /// As a JSON value, parsed on the first call; null where it is unreadable.
    pub fn json(&self) -> &Value {
        self.json.get_or_init(|| self.parse()).as_ref().unwrap_or(&Value::Null)
    }

    /// As a Rego value, parsed on the first call; null where it is unreadable.
    pub fn rego(&self) -> &rego_compat::Value {
        let parsed = self.rego.get_or_init(|| rego_compat::Value::from_json_str(self.text()).ok());
        parsed.as_ref().unwrap_or(&UNREADABLE)
    }

    /// As a JSON value that is not kept; `None` where it is unreadable. What serde_json does not read, the reader of
    /// Rego's values does: deep nesting, and half a surrogate pair.
    pub fn parse(&self) -> Option<Value> {
        let unusual = || serde_json::to_value(rego_compat::Value::from_json_str(self.text()).ok()?).ok();
        serde_json::from_str(self.text()).ok().or_else(unusual)
    }

    /// Whether somebody asked for a JSON value and there is none. The text was recognised as JSON before, so it can
    /// only be nested deeper than 512 levels or hold a number beyond a binary float. What was judged of it then was
    /// not it.
    pub fn is_unreadable(&self) -> bool {
        matches!(self.json.get(), Some(None))
    }

    /// Whether there is no Rego value. The bounds are the same but for numbers, which may be larger.
    pub(crate) fn is_unreadable_to_rego(&self) -> bool {
        self.rego();
        matches!(self.rego.get(), Some(None))
    }

    /// Whether there is no CEL value.
    pub(crate) fn is_unreadable_to_cel(&self) -> bool {
        self.cel();
        matches!(self.cel.get(), Some(None))
    }

    /// As a CEL value, parsed on the first call; null where it is unreadable.
    pub fn cel(&self) -> &cel_compat::Value {
        let parsed = self.cel.get_or_init(|| cel_compat::Value::from_json_text(self.text()));
        parsed.as_ref().unwrap_or(&cel_compat::Value::Null)
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
            assert_eq!(json.json().is_null(), !read, "{levels}");
            assert_eq!(json.is_unreadable(), !read, "{levels}");
            assert_eq!(json.is_unreadable_to_rego(), !read, "{levels}");
            assert_eq!(json.is_unreadable_to_cel(), !read, "{levels}");
        }
    }
}
