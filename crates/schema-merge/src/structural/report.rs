//! Collects diagnostics in the shapes the API server's `field` package has.

use std::sync::Arc;

use serde_json::Value;

use super::dump::go_json;
use super::go_quoted;
use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::path::SchemaPath;

pub(crate) struct Report {
    pub(crate) diagnostics: Vec<Diagnostic>,
    prefix: Arc<str>,
    base: Arc<str>,
}

impl Report {
    pub(crate) fn new(prefix: &str) -> Self {
        Self::based(prefix, "")
    }

    /// A report on a schema that stands at the JSON pointer `base`.
    pub(crate) fn based(prefix: &str, base: &str) -> Self {
        Self { diagnostics: Vec::new(), prefix: prefix.into(), base: base.into() }
    }

    /// An empty report on the same schema.
    pub(crate) fn fresh(&self) -> Self {
        Self { diagnostics: Vec::new(), prefix: Arc::clone(&self.prefix), base: Arc::clone(&self.base) }
    }

    /// The prefix of all paths.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The prefix of all paths and the pointer to the schema, for diagnostics made elsewhere.
    pub(crate) fn origin(&self) -> (Arc<str>, Arc<str>) {
        (Arc::clone(&self.prefix), Arc::clone(&self.base))
    }

    /// The number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
    }

    pub(crate) fn required(
        &mut self,
        at: &SchemaPath,
        keyword: &'static str,
        rule: &'static str,
        detail: &str,
    ) {
        self.error(DiagnosticKind::Required, at, keyword, None, rule, detail.to_owned());
    }

    pub(crate) fn forbidden(
        &mut self,
        at: &SchemaPath,
        keyword: &'static str,
        rule: &'static str,
        detail: &str,
    ) {
        self.error(DiagnosticKind::Forbidden, at, keyword, None, rule, detail.to_owned());
    }

    pub(crate) fn invalid(
        &mut self,
        at: &SchemaPath,
        keyword: &'static str,
        value: &Value,
        rule: &'static str,
        detail: &str,
    ) {
        self.error(DiagnosticKind::Invalid, at, keyword, Some(go_json(value)), rule, detail.to_owned());
    }

    pub(crate) fn invalid_string(
        &mut self,
        at: &SchemaPath,
        keyword: &'static str,
        value: &str,
        rule: &'static str,
        detail: &str,
    ) {
        self.error(DiagnosticKind::Invalid, at, keyword, Some(go_quoted(value)), rule, detail.to_owned());
    }

    pub(crate) fn unsupported(
        &mut self,
        at: &SchemaPath,
        keyword: &'static str,
        value: &str,
        rule: &'static str,
        known: &[&str],
    ) {
        let known: Vec<_> = known.iter().map(|known| go_quoted(known)).collect();
        let detail = format!("supported values: {}", known.join(", "));
        self.error(DiagnosticKind::Unsupported, at, keyword, Some(go_quoted(value)), rule, detail);
    }

    fn error(
        &mut self,
        kind: DiagnosticKind,
        at: &SchemaPath,
        keyword: &'static str,
        value: Option<String>,
        rule: &'static str,
        detail: String,
    ) {
        let path = at.clone().child(keyword);
        self.push(Severity::Error, kind, rule, &path, value, detail);
    }

    pub(crate) fn lint(&mut self, at: &SchemaPath, rule: &'static str, detail: String) {
        self.push(Severity::Lint, DiagnosticKind::Plain, rule, at, None, detail);
    }

    pub(crate) fn push(
        &mut self,
        severity: Severity,
        kind: DiagnosticKind,
        rule: &'static str,
        path: &SchemaPath,
        value: Option<String>,
        detail: String,
    ) {
        let (path, prefix, base) = (path.clone(), Arc::clone(&self.prefix), Arc::clone(&self.base));
        self.diagnostics.push(Diagnostic { severity, kind, rule, path, value, detail, prefix, base });
    }
}
