//! Errors and risks of one schema: [`Diagnostic`].
//!
//! An error is worded exactly as the API server words it, so that a search engine and the server's own answer
//! both match. `structural.rs` and its neighbours make diagnostics; conflicts between fragments are `conflict.rs`.

use std::fmt;
use std::sync::Arc;

use crate::path::SchemaPath;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// The API server cannot decode the CRD and answers 400.
    Decode,
    /// The API server refuses the CRD and answers 422.
    Error,
    /// The API server drops the field: with a warning, or with an error under strict field validation.
    UnknownField,
    /// The API server accepts and warns.
    Warning,
    /// Accepted without a warning, but likely an error.
    Lint,
}

/// The kind of a diagnostic, in the API server's vocabulary (`field.ErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// `Required value`.
    Required,
    /// `Invalid value`; prints the value.
    Invalid,
    /// `Forbidden`.
    Forbidden,
    /// `Unsupported value`; prints the value.
    Unsupported,
    /// `Duplicate value`; prints the value.
    Duplicate,
    /// `Too long`.
    TooLong,
    /// `Too many`; prints the value.
    TooMany,
    /// `Internal error`.
    Internal,
    /// Not one of the server's: the detail says it all.
    Plain,
}

/// One thing that is wrong or risky, and where.
///
/// `Display` is the text of the API server for everything it would say itself, and `<path>: <detail>` for lints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The kind, as the server names kinds.
    pub kind: DiagnosticKind,
    /// A stable word for the rule, for programs.
    pub rule: &'static str,
    /// The place in the schema.
    pub path: SchemaPath,
    /// The offending value as the server prints it.
    pub value: Option<String>,
    /// The description of the error.
    pub detail: String,
    /// The text that the server puts before the path.
    pub prefix: Arc<str>,
    /// A JSON pointer to the schema in the document it came from; empty when it is the document.
    pub base: Arc<str>,
}

impl Diagnostic {
    /// Returns true if the API server would refuse the schema for this.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self.severity, Severity::Decode | Severity::Error)
    }

    /// Returns the place as a JSON pointer into the document that was checked.
    #[must_use]
    pub fn pointer(&self) -> String {
        format!("{}{}", self.base, self.path.pointer())
    }

    /// Sorts by severity and text, as stable output needs it, and drops repetitions.
    pub(crate) fn settle(diagnostics: &mut Vec<Self>) {
        diagnostics.sort_by_cached_key(|diagnostic| (diagnostic.severity, diagnostic.to_string()));
        diagnostics.dedup();
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.severity, Severity::Decode | Severity::UnknownField) {
            return f.write_str(&self.detail);
        }
        f.write_str(&self.path.server(&self.prefix))?;
        let kind = match self.kind {
            DiagnosticKind::Required => "Required value",
            DiagnosticKind::Invalid => "Invalid value",
            DiagnosticKind::Forbidden => "Forbidden",
            DiagnosticKind::Unsupported => "Unsupported value",
            DiagnosticKind::Duplicate => "Duplicate value",
            DiagnosticKind::TooLong => "Too long",
            DiagnosticKind::TooMany => "Too many",
            DiagnosticKind::Internal => "Internal error",
            DiagnosticKind::Plain => return write!(f, ": {}", self.detail),
        };
        write!(f, ": {kind}")?;
        if let Some(value) = &self.value {
            write!(f, ": {value}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}
