//! One object of the inventory: its text, and its value where a policy that cannot be indexed reads it.

use std::sync::{Arc, OnceLock};

use rego_compat::Value as RegoValue;

use crate::review::UnreadableError;

/// An object as compact text. The value is kept only by readers who look at every object anyway.
#[derive(Debug)]
pub(super) struct Stored {
    text: Box<str>,
    /// Failures are kept too: an object that nests thousands of levels is not parsed at each review.
    value: OnceLock<Result<RegoValue, UnreadableError>>,
}

impl Stored {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), value: OnceLock::new() }
    }

    pub(super) const fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value, parsed on every call unless [`Stored::kept`] was called before.
    pub(super) fn fresh(&self) -> Result<RegoValue, UnreadableError> {
        // Kept by a policy that reads the whole kind: then it costs nothing here.
        self.value.get().cloned().unwrap_or_else(|| self.parse())
    }

    /// Returns the value, parsed on the first call and kept.
    pub(super) fn kept(&self) -> Result<&RegoValue, UnreadableError> {
        self.value.get_or_init(|| self.parse()).as_ref().map_err(|error| *error)
    }

    /// Parses the text. It was JSON when it came, so that depth and numbers alone can be wrong.
    fn parse(&self) -> Result<RegoValue, UnreadableError> {
        RegoValue::from_json_str(&self.text).map_err(|_| UnreadableError)
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.value.get().is_some()
    }
}

/// The error that an object of the inventory cannot be read for a policy: it is nested too deep, or has a number out of
/// bounds, see [`Json::rego`](crate::review::Json::rego). No part of the inventory is given in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object {} of the inventory cannot be read: {reason}", .path.join("/"))]
pub struct UnreadableObjectError {
    path: Vec<Arc<str>>,
    reason: &'static str,
}

impl UnreadableObjectError {
    /// Creates the error about the object at a path, which is nested too deep or has a number out of bounds.
    pub(super) fn new(path: &[Arc<str>]) -> Self {
        Self { path: path.to_vec(), reason: "it is nested too deep, or has a number out of bounds" }
    }

    /// Creates the error about a place where an index or a view has something and the tree has not: a defect of this
    /// module. A policy that is shown less would report no violation.
    pub(super) fn inconsistent(path: &[Arc<str>]) -> Self {
        let reason = "internal error: the inventory contradicts its index: report it with the template";
        Self { path: path.to_vec(), reason }
    }

    /// Returns the same error with a path that starts higher, at the level above `at`.
    pub(super) fn below(mut self, at: &[Arc<str>]) -> Self {
        self.path.splice(0..0, at.iter().cloned());
        self
    }

    /// Returns the place of the object below `data.inventory`: `namespace`, `<namespace>`, `<groupVersion>`, `<kind>`,
    /// `<name>`.
    #[must_use]
    pub fn path(&self) -> &[Arc<str>] {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_or_an_error_and_never_another_value() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (text, is_read) in [
            (nested(512), true),
            (nested(513), false),
            (format!("{{\"a\": {}}}", nested(512)), false),
            (format!("[\"{}\"]", "[".repeat(600)), true),
            (format!("[\"\\\"{}\"]", "[".repeat(600)), true),
            ("[1e9999999]".to_owned(), false),
            ("[-1.5E+99999999]".to_owned(), false),
            ("[1e-9999999]".to_owned(), false),
            ("[1e300, 1e-300, 0.001]".to_owned(), true),
            (format!("[{}]", "9".repeat(40_000)), true),
            (format!("[{}]", "9".repeat(400)), true),
            ("null".to_owned(), true),
        ] {
            let object = Stored::new(&text);
            assert_eq!(object.fresh().is_ok(), is_read, "{text:.80}");
            assert_eq!(object.kept().is_ok(), is_read, "{text:.80}");
            assert_eq!(object.fresh().is_ok(), is_read, "{text:.80}");
        }
    }
}
