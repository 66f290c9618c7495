//! Changes between two contracts, seen by those who provide it with a CustomResourceDefinition.

use std::fmt;

use serde::Serialize;

use super::FieldUse;
use super::compare::Comparison;
use super::place::Place;
use super::report::Report;
use super::schema::Node;
use super::{ContractScope, ContractSpec, FieldShape, FieldSpec};

/// The effect of a change on definitions that keep the old contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Effect {
    /// Definitions that keep the old contract keep the new one.
    Compatible,
    /// The schemas do not show if they keep the new one.
    Unverified,
    /// Some definitions that keep the old contract do not keep the new one.
    Breaking,
}

/// A change from one contract to another, as a provider sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContractChange {
    /// The contract version.
    pub version: String,
    /// Pointer in the object; empty for the contract itself.
    pub at: String,
    /// The effect on providers.
    pub effect: Effect,
    /// The change in words.
    pub message: String,
}

impl fmt::Display for ContractChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.effect {
            Effect::Compatible => "compatible",
            Effect::Unverified => "unverified",
            Effect::Breaking => "breaking",
        };
        let at = if self.at.is_empty() { "" } else { " " };
        write!(f, "{effect}: {}{at}{}: {}", self.version, self.at, self.message)
    }
}

impl ContractSpec {
    /// Returns the changes from this contract to `new`, for those who provide it.
    #[must_use]
    pub fn diff(&self, new: &Self) -> Vec<ContractChange> {
        diff(self, new)
    }
}

fn diff(old: &ContractSpec, new: &ContractSpec) -> Vec<ContractChange> {
    let mut changes = Vec::new();
    let change = |version: &str, effect, message: String| ContractChange {
        version: version.to_owned(),
        at: String::new(),
        effect,
        message,
    };
    if old.label_prefix != new.label_prefix {
        let message = format!("the label is {}/… instead of {}/…", new.label_prefix, old.label_prefix);
        changes.push(change("all", Effect::Breaking, message));
    }
    if old.scope != new.scope {
        let effect = if new.scope == ContractScope::Any { Effect::Compatible } else { Effect::Breaking };
        changes.push(change(
            "all",
            effect,
            format!("the scope is {:?} instead of {:?}", new.scope, old.scope),
        ));
    }
    for before in &old.versions {
        match new.versions.iter().find(|version| version.name == before.name) {
            None => changes.push(change(&before.name, Effect::Breaking, "the version is gone".to_owned())),
            Some(after) => fields(&before.name, &before.fields, &after.fields, &mut changes),
        }
    }
    let known = |name: &str| old.versions.iter().any(|version| version.name == name);
    for version in new.versions.iter().filter(|version| !known(&version.name)) {
        changes.push(change(&version.name, Effect::Compatible, "the version is new".to_owned()));
    }
    changes
}

fn fields(version: &str, old: &[FieldSpec], new: &[FieldSpec], changes: &mut Vec<ContractChange>) {
    let (old, new) = (joined(old), joined(new));
    let mut push = |at: String, effect, message: String| {
        changes.push(ContractChange { version: version.to_owned(), at, effect, message });
    };
    for field in old.iter().filter(|field| !new.iter().any(|other| other.path == field.path)) {
        push(field.path.to_string(), Effect::Compatible, "no longer part of the contract".to_owned());
    }
    for field in &new {
        let Some(before) = old.iter().find(|other| other.path == field.path) else {
            let harmless = field.optional && field.write.is_none();
            let effect = if harmless { Effect::Compatible } else { Effect::Breaking };
            push(field.path.to_string(), effect, "newly part of the contract".to_owned());
            continue;
        };
        if before == field {
            continue;
        }
        let mut report = Report::default();
        let mut more = false;
        for (direction, old, new) in
            [(FieldUse::Read, &before.read, &field.read), (FieldUse::Write, &before.write, &field.write)]
        {
            match (old, new) {
                (None, Some(_)) => {
                    more = true;
                    let verb = if direction == FieldUse::Read { "read" } else { "written" };
                    push(field.path.to_string(), Effect::Breaking, format!("now {verb} as well"));
                }
                (Some(old), Some(new)) => report.extend(shapes(direction, old, new, field)),
                (_, None) => {}
            }
        }
        let all_fine = !more && report.violations.is_empty() && report.unverified.is_empty();
        for violation in report.violations {
            push(violation.at, Effect::Breaking, violation.kind.to_string());
        }
        for unverified in report.unverified {
            push(unverified.at, Effect::Unverified, unverified.reason);
        }
        if before.optional && !field.optional {
            push(field.path.to_string(), Effect::Breaking, "must be declared now".to_owned());
        } else if before.list_maps != field.list_maps {
            push(field.path.to_string(), Effect::Breaking, "lists have other keys".to_owned());
        } else if all_fine {
            push(field.path.to_string(), Effect::Compatible, "asks for no more than before".to_owned());
        }
    }
}

/// One field for each path, where a contract names what it reads and what it writes one by one.
fn joined(fields: &[FieldSpec]) -> Vec<FieldSpec> {
    let mut out: Vec<FieldSpec> = Vec::with_capacity(fields.len());
    for field in fields {
        let fits = |other: &&mut FieldSpec| {
            let disjoint =
                |one: &Option<FieldShape>, other: &Option<FieldShape>| one.is_none() || other.is_none();
            other.path == field.path
                && disjoint(&other.read, &field.read)
                && disjoint(&other.write, &field.write)
        };
        match out.iter_mut().find(fits) {
            Some(other) => {
                other.read = other.read.take().or_else(|| field.read.clone());
                other.write = other.write.take().or_else(|| field.write.clone());
                other.optional &= field.optional;
                other.list_maps.extend(field.list_maps.iter().cloned());
            }
            None => out.push(field.clone()),
        }
    }
    out
}

/// A definition that keeps the old shape admits, at best, exactly that shape: so the old shape takes the place of
/// the schema.
fn shapes(direction: FieldUse, old: &FieldShape, new: &FieldShape, field: &FieldSpec) -> Report {
    let keys = |_: &str| None;
    let mut comparison = Comparison::new(direction, &keys);
    let at = Place { object: field.path.to_string(), ..Place::default() };
    comparison.node(Node::root(old.schema()), Node::root(new.schema()), &at, true);
    comparison.report
}
