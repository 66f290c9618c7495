//! A folder of policies: templates and constraints, objects to refer to, objects to judge.
//!
//! Read again after each change. What is broken now keeps its last good version, as in a cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintRef, ConstraintTemplate, TEMPLATES_GROUP,
};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::Document;
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use super::load::{Loaded, load};
use super::manifest::Manifest;

/// Objects below this folder are what policies may refer to.
const INVENTORY: &str = "inventory";
/// Objects below this folder are judged.
const REVIEW: &str = "review";

/// Policies read from a folder, and what was read last time.
#[derive(Debug)]
pub struct PolicyFolder {
    root: PathBuf,
    policies: PolicySetBuilder,
    known: Known,
}

#[derive(Debug, Default)]
struct Known {
    templates: BTreeSet<String>,
    constraints: BTreeSet<ConstraintRef>,
    objects: Vec<Document>,
}

/// One reading of the folder.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The policies in force.
    pub policies: Arc<PolicySet>,
    /// Number of templates found.
    pub templates: usize,
    /// Number of constraints found.
    pub constraints: usize,
    /// The errors of what could not be used, for people to read; each names its file.
    pub errors: Vec<String>,
    /// The manifests to judge.
    pub reviews: Vec<Manifest>,
}

impl PolicyFolder {
    /// Creates a folder of which nothing is read yet.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            policies: PolicySetBuilder::new(Compiler::default()),
            known: Known::default(),
        }
    }

    /// Reads the folder as it is now.
    pub fn read(&mut self) -> Reading {
        let Loaded { manifests, errors, skipped } = load(&self.root);
        let unreadable = !errors.is_empty();
        let mut errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let surprising = skipped.iter().filter(|entry| entry.reason.is_surprising());
        errors.extend(surprising.map(ToString::to_string));
        let mut seen = Known::default();
        let mut reviews = Vec::new();
        for manifest in order(manifests) {
            let outcome = match self.place(&manifest) {
                Place::Review => {
                    reviews.push(manifest.clone());
                    Ok(())
                }
                Place::Inventory => self.put_object(&manifest.object, &mut seen),
                Place::Template => self.put_template(&manifest.object, &mut seen),
                Place::Constraint => self.put_constraint(&manifest.object, &mut seen),
                Place::Elsewhere => Ok(()),
            };
            errors.extend(outcome.err().map(|error| format!("{}: {error}", manifest.path.display())));
        }
        let (templates, constraints) = (seen.templates.len(), seen.constraints.len());
        self.forget(seen, unreadable);
        Reading { policies: self.policies.build(), templates, constraints, errors, reviews }
    }

    fn place(&self, manifest: &Manifest) -> Place {
        let below = manifest.path.strip_prefix(&self.root).unwrap_or(&manifest.path);
        let group = manifest.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match (below.components().next(), group.split('/').next()) {
            (Some(first), _) if first.as_os_str() == REVIEW => Place::Review,
            (Some(first), _) if first.as_os_str() == INVENTORY => Place::Inventory,
            (_, Some(TEMPLATES_GROUP)) => Place::Template,
            (_, Some(CONSTRAINTS_GROUP)) => Place::Constraint,
            _ => Place::Elsewhere,
        }
    }

    fn put_template(&mut self, manifest: &Value, seen: &mut Known) -> Result<(), String> {
        let template = ConstraintTemplate::from_value(manifest).map_err(|error| error.to_string())?;
        seen.templates.insert(template.constraint_kind().to_owned());
        self.policies.put_template(manifest).map_err(|error| error.to_string())
    }

    fn put_constraint(&mut self, manifest: &Value, seen: &mut Known) -> Result<(), String> {
        let constraint = Constraint::from_value(manifest).map_err(|error| error.to_string())?;
        seen.constraints.insert(constraint.id.clone());
        self.policies.put_constraint(constraint).map_err(|error| error.to_string())
    }

    fn put_object(&mut self, manifest: &Value, seen: &mut Known) -> Result<(), String> {
        let object = Document::from_value(manifest).map_err(|error| error.to_string())?;
        self.policies.put_object(&AdmissionTarget, object.clone()).map_err(|error| error.to_string())?;
        seen.objects.push(object);
        Ok(())
    }

    /// Takes out what was there last time and is gone. While a file cannot be read its content is unknown, so
    /// nothing is taken out.
    fn forget(&mut self, mut seen: Known, unreadable: bool) {
        if unreadable {
            seen.templates.append(&mut self.known.templates);
            seen.constraints.append(&mut self.known.constraints);
            seen.objects.append(&mut self.known.objects);
        }
        for kind in self.known.templates.difference(&seen.templates) {
            self.policies.remove_template(kind);
        }
        for id in self.known.constraints.difference(&seen.constraints) {
            self.policies.remove_constraint(id);
        }
        let identity = |object: &Document| {
            [object.api_version(), object.kind(), object.namespace(), object.name()].map(str::to_owned)
        };
        let present: BTreeSet<_> = seen.objects.iter().map(identity).collect();
        for object in self.known.objects.iter().filter(|object| !present.contains(&identity(object))) {
            // It was put there under the path it is removed from, so it has one.
            let _ = self.policies.remove_object(&AdmissionTarget, object);
        }
        self.known = seen;
    }
}

enum Place {
    Review,
    Inventory,
    Template,
    Constraint,
    Elsewhere,
}

/// Templates first, so that no constraint is reported for coming before its own.
fn order(mut manifests: Vec<Manifest>) -> Vec<Manifest> {
    manifests.sort_by_key(|manifest| {
        manifest.object.get("kind").and_then(Value::as_str).is_none_or(|kind| kind != "ConstraintTemplate")
    });
    manifests
}

#[cfg(test)]
mod tests;
