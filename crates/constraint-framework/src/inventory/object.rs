//! One object of the inventory: its text, and its value where a policy that cannot be indexed reads it.

use std::sync::OnceLock;

use rego_compat::Value as RegoValue;

/// An object as compact text. The value is kept only by readers who look at every object anyway.
#[derive(Debug)]
pub(super) struct Stored {
    text: Box<str>,
    value: OnceLock<RegoValue>,
}

impl Stored {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), value: OnceLock::new() }
    }

    pub(super) const fn text(&self) -> &str {
        &self.text
    }

    /// The value, parsed on every call unless [`Stored::kept`] was asked before.
    pub(super) fn fresh(&self) -> RegoValue {
        self.value.get().cloned().unwrap_or_else(|| self.parse())
    }

    /// The value, parsed on the first call and kept.
    pub(super) fn kept(&self) -> &RegoValue {
        self.value.get_or_init(|| self.parse())
    }

    /// The text was JSON when it came; it can fail only by nesting too deep, and is then shown as `null`.
    fn parse(&self) -> RegoValue {
        RegoValue::from_json_str(&self.text).unwrap_or(RegoValue::Null)
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.value.get().is_some()
    }
}
