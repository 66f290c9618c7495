//! Several errors as one: [`Errors`], and the result of a validation: [`ValidationResult`].

use std::fmt;
use std::ops::Deref;

use crate::diagnostic::Diagnostic;

/// All errors of one operation, in a stable order; never empty where a function returns it as its error.
///
/// `Display` is one error a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors<E>(Vec<E>);

impl<E> Errors<E> {
    /// Returns the errors in order.
    pub fn iter(&self) -> std::slice::Iter<'_, E> {
        self.0.iter()
    }

    /// Returns the number of errors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<E> From<Vec<E>> for Errors<E> {
    fn from(errors: Vec<E>) -> Self {
        Self(errors)
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
        lines(&self.0, f)
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for Errors<E> {}

/// The result of a validation: errors, warnings and lints, sorted by severity and text; empty where all is well.
///
/// It reads as a slice of [`Diagnostic`]. `Display` is one diagnostic a line.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationResult(Vec<Diagnostic>);

impl ValidationResult {
    /// Returns the warnings and lints of what the API server accepts.
    ///
    /// # Errors
    /// All diagnostics, if the API server refuses what was validated: if [`Diagnostic::is_error`] is true of any.
    pub fn into_result(self) -> Result<Self, Self> {
        if self.iter().any(Diagnostic::is_error) { Err(self) } else { Ok(self) }
    }
}

impl From<Vec<Diagnostic>> for ValidationResult {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self(diagnostics)
    }
}

impl Deref for ValidationResult {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl IntoIterator for ValidationResult {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ValidationResult {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for ValidationResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines(&self.0, f)
    }
}

impl std::error::Error for ValidationResult {}

fn lines<E: fmt::Display>(errors: &[E], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (position, error) in errors.iter().enumerate() {
        if position > 0 {
            f.write_str("\n")?;
        }
        error.fmt(f)?;
    }
    Ok(())
}
