//! Several errors as one: [`Errors`], and the result of a validation: [`ValidationResult`].

use std::fmt;
use std::ops::Deref;

use crate::diagnostic::Diagnostic;

/// All errors of one operation, in a stable order; never empty where a function returns it as its error.
///
/// It reads as a slice. `Display` is one error a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors<E>(Vec<E>);

/// The result of a validation: errors, warnings and lints, sorted by severity and text; empty where all is well.
///
/// ```
/// use schema_merge::{StructuralOptions, check_structural};
/// use serde_json::json;
/// let refused = check_structural(&json!({"type": "string"}), &StructuralOptions::default()).into_result();
/// assert_eq!(
///     refused.unwrap_err().to_string(),
///     "spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
/// );
/// ```
pub type ValidationResult = Errors<Diagnostic>;

impl ValidationResult {
    /// Returns the warnings and lints of what the API server accepts.
    ///
    /// # Errors
    /// All diagnostics, if the API server refuses what was validated: if [`Diagnostic::is_error`] is true of any.
    pub fn into_result(self) -> Result<Self, Self> {
        if self.iter().any(Diagnostic::is_error) { Err(self) } else { Ok(self) }
    }
}

impl<E> Default for Errors<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<E> From<Vec<E>> for Errors<E> {
    fn from(errors: Vec<E>) -> Self {
        Self(errors)
    }
}

impl<E> From<E> for Errors<E> {
    fn from(error: E) -> Self {
        Self(vec![error])
    }
}

impl<E> Deref for Errors<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        &self.0
    }
}

impl<E> IntoIterator for Errors<E> {
    type Item = E;
    type IntoIter = std::vec::IntoIter<E>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, E> IntoIterator for &'a Errors<E> {
    type Item = &'a E;
    type IntoIter = std::slice::Iter<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<E: fmt::Display> fmt::Display for Errors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for Errors<E> {}
