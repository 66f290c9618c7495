//! A constraint that is in force, with what its template adds to it.

use constraint_framework::api::Constraint;
use constraint_framework::review::Action;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A constraint as its template completed it.
#[derive(Clone, Debug)]
pub(in crate::cli) struct LoadedConstraint {
    /// With the defaults of its schema.
    pub(in crate::cli) manifest: Value,
    /// The manifest as text, which is printed with each violation.
    pub(in crate::cli) text: Box<RawValue>,
    pub(in crate::cli) constraint: Constraint,
    /// The description in its template; empty without one.
    pub(in crate::cli) description: String,
    /// The severity of a violation on a scorecard, where the constraint states it.
    pub(in crate::cli) severity: Option<String>,
    action: String,
}

impl LoadedConstraint {
    /// A constraint without a severity.
    pub(in crate::cli) fn new(manifest: Value, constraint: Constraint, description: String) -> Self {
        let written = manifest.pointer("/spec/enforcementAction").and_then(Value::as_str);
        let action = written.unwrap_or(Action::Deny.name()).to_owned();
        let text = to_raw_value(&manifest).unwrap_or_default();
        Self { manifest, text, constraint, description, severity: None, action }
    }

    /// `deny`, `warn`, `dryrun` or `scoped`, as it is written.
    pub(in crate::cli) fn enforcement_action(&self) -> &str {
        &self.action
    }

    /// Returns true if it matters to it which namespace an object lies in.
    pub(in crate::cli) fn looks_at_namespaces(&self) -> bool {
        let block = self.manifest.pointer("/spec/match").and_then(Value::as_object);
        let fields = ["namespaces", "excludedNamespaces", "namespaceSelector", "scope"];
        block.is_some_and(|block| fields.iter().any(|field| block.contains_key(*field)))
    }
}
