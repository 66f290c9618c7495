//! The comparison of two schemas: if stored objects and existing clients survive the change, [`compare`].
//!
//! The old schema is taken as closed: stored objects have been pruned, so they hold nothing it does not declare. Without
//! that every new optional property would look dangerous. `compat/node.rs` compares what a node declares,
//! `compat/validation.rs` its value validations, `compat/version.rs` whole CRDs.

mod node;
mod validation;
mod version;

pub use version::compare_crds;

use std::fmt;

use serde_json::Value;

use crate::decode::decode;
use crate::diagnostic::Severity;
use crate::limit::SchemaLimits;
use crate::path::SchemaPath;

/// The parties that a change affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// Objects that are stored and were valid: they become invalid, or lose fields when they are read.
    Stored,
    /// Code written against the old schema that reads objects of the new one.
    Clients,
}

/// The certainty that a change affects a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Impact {
    /// An object that was fine is not any more.
    Breaking,
    /// It depends on values, or on something that cannot be compared.
    Possible,
    /// Nothing breaks; something behaves differently.
    Behaviour,
}

/// One difference that matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Change {
    /// A JSON pointer to the schemas in the documents that were compared; empty when they are the documents.
    pub base: String,
    /// The place in the schema: in the new one, or in the old one for what is gone.
    pub path: SchemaPath,
    /// A stable word for the rule that is broken.
    pub rule: &'static str,
    /// Those who are affected: stored objects, or clients.
    pub direction: Direction,
    /// The certainty that an object is affected.
    pub impact: Impact,
    /// The change in words, with the old and the new value.
    pub detail: String,
}

impl Change {
    /// Returns the place as a JSON pointer into the documents that were compared.
    #[must_use]
    pub fn pointer(&self) -> String {
        format!("{}{}", self.base, self.path.pointer())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Stored => "stored objects",
            Direction::Clients => "clients",
        };
        let impact = match self.impact {
            Impact::Breaking => "break",
            Impact::Possible => "may break",
            Impact::Behaviour => "behave differently",
        };
        let place = self.path.instance();
        let place = if place.is_empty() { "the root" } else { &place };
        write!(f, "{place}: {}: {direction} {impact}: {}", self.rule, self.detail)
    }
}

/// Compares two schemas: returns every change from `old` to `new` that affects stored objects or clients, sorted by place.
///
/// Without any change of [`Impact::Breaking`] or [`Impact::Possible`] in the direction [`Direction::Stored`], every object
/// that is valid under `old` is valid under `new` and keeps all its fields. The API server tolerates unchanged bad fields
/// on update; that softens a break and does not undo it.
///
/// ```
/// use schema_merge::compare;
/// use serde_json::json;
/// let old = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
/// let new = json!({"type": "object", "properties": {"size": {"type": "integer", "maximum": 9}, "name": {"type": "string"}}});
/// let changes = compare(&old, &new);
/// assert_eq!(changes.len(), 1);
/// assert_eq!(changes[0].to_string(), "size: maximum: stored objects break: maximum 9 is new");
/// ```
#[must_use]
pub fn compare(old: &Value, new: &Value) -> Vec<Change> {
    based(old, new, "")
}

/// The same for schemas that stand at a JSON pointer in larger documents.
fn based(old: &Value, new: &Value, base: &str) -> Vec<Change> {
    let mut compare =
        Compare { base: base.to_owned(), direction: Direction::Stored, changes: Vec::new(), delicate: false };
    let limits = SchemaLimits::default();
    let root = SchemaPath::root();
    if let Some(detail) = limits.exceeded(old).or_else(|| limits.exceeded(new)) {
        compare.push(&root, "too-large", Impact::Possible, detail);
        return compare.changes;
    }
    let ((old, old_diagnostics), (new, new_diagnostics)) = (decode(old, "", ""), decode(new, "", ""));
    let undecodable = |diagnostic: &&crate::Diagnostic| diagnostic.severity == Severity::Decode;
    if let Some(diagnostic) = old_diagnostics.iter().chain(&new_diagnostics).find(undecodable) {
        compare.push(&root, "undecodable", Impact::Possible, diagnostic.detail.clone());
        return compare.changes;
    }
    compare.delicate = node::is_delicate(&new);
    compare.stored(&old, &new, &mut SchemaPath::root());
    compare.direction = Direction::Clients;
    compare.clients(&old, &new, &mut SchemaPath::root());
    compare.changes.sort();
    compare.changes.dedup();
    compare.changes
}

/// The state of a comparison.
struct Compare {
    base: String,
    direction: Direction,
    changes: Vec<Change>,
    /// True if the new schema counts or matches fields anywhere, so that a filled-in default may be one too many.
    delicate: bool,
}

impl Compare {
    fn push(&mut self, at: &SchemaPath, rule: &'static str, impact: Impact, detail: impl Into<String>) {
        let (base, direction) = (self.base.clone(), self.direction);
        self.changes.push(Change { base, path: at.clone(), rule, direction, impact, detail: detail.into() });
    }
}
