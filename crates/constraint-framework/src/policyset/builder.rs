//! The builder of policy sets: one owner puts and removes, readers keep the set they have.
//!
//! Events may come in any order: a constraint waits for its template, and a template that changes compiles
//! each of its constraints again. What fails leaves the last good version in force.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rego_compat::Segment;
use serde_json::Value;

use crate::api::{Constraint, ConstraintRef, ConstraintTemplate};
use crate::error::IngestError;
use crate::inventory::Reads;
use crate::review::Document;
use crate::target::Target;

use super::compiled::{CompiledConstraint, CompiledTemplate};
use super::inventories::Inventories;
use super::snapshot::InForce;
use super::{Compiler, PolicySet};

/// The builder of policy sets: owned by one task, with snapshots for readers from [`PolicySetBuilder::build`].
#[derive(Debug)]
pub struct PolicySetBuilder {
    compiler: Compiler,
    templates: BTreeMap<String, CompiledTemplate>,
    constraints: BTreeMap<ConstraintRef, Entry>,
    inventories: Inventories,
    /// The policies in force; empty after a change of theirs.
    in_force: OnceLock<Arc<InForce>>,
}

#[derive(Debug)]
struct Entry {
    latest: Arc<Constraint>,
    /// The last version that a template accepted. Compiled again by a template that changes and refuses the latest.
    good: Option<Arc<Constraint>>,
    in_force: Option<Arc<CompiledConstraint>>,
    error: Option<IngestError>,
}

impl PolicySetBuilder {
    /// Creates an empty set over the compiler's targets and drivers.
    pub fn new(compiler: Compiler) -> Self {
        Self {
            compiler,
            templates: BTreeMap::new(),
            constraints: BTreeMap::new(),
            inventories: Inventories::default(),
            in_force: OnceLock::new(),
        }
    }

    /// Returns the compiler, to compile on another thread what [`PolicySetBuilder::install`] then takes.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Reads, compiles and installs a template.
    ///
    /// # Errors
    /// See [`IngestError`]; the template's last good version stays in force.
    pub fn put_template(&mut self, manifest: &Value) -> Result<(), IngestError> {
        let template = ConstraintTemplate::from_value(manifest)?;
        let compiled = self.compiler.compile(&template)?;
        self.install(compiled);
        Ok(())
    }

    /// Puts a compiled template in force and compiles the constraints of its kind with it.
    pub fn install(&mut self, template: CompiledTemplate) {
        let kind = template.constraint_kind().to_owned();
        for (_, entry) in self.constraints.iter_mut().filter(|(id, _)| id.kind == kind) {
            entry.recompile(Some(&template));
        }
        let reads = template.reads().next().is_some();
        let replaced = self.templates.insert(kind, template);
        self.template_changed(reads || replaced.is_some_and(|old| old.reads().next().is_some()));
    }

    /// Takes the template of a constraint kind out of force; its constraints wait for another one.
    pub fn remove_template(&mut self, kind: &str) {
        let removed = self.templates.remove(kind);
        for (_, entry) in self.constraints.iter_mut().filter(|(id, _)| id.kind == kind) {
            entry.in_force = None;
            entry.recompile(None);
        }
        self.template_changed(removed.is_some_and(|old| old.reads().next().is_some()));
    }

    fn template_changed(&mut self, reads_inventory: bool) {
        self.in_force.take();
        if reads_inventory {
            self.inventories.serve(&self.templates);
        }
    }

    /// Puts a constraint in force, or keeps it until its template comes.
    ///
    /// # Errors
    /// See [`IngestError`]; the constraint's last good version stays in force.
    pub fn put_constraint(&mut self, constraint: Constraint) -> Result<(), IngestError> {
        let template = self.templates.get(&constraint.id.kind);
        let latest = Arc::new(constraint);
        let new = || Entry { latest: latest.clone(), good: None, in_force: None, error: None };
        let entry = self.constraints.entry(latest.id.clone()).or_insert_with(new);
        entry.latest = latest.clone();
        entry.recompile(template);
        self.in_force.take();
        entry.error.clone().map_or(Ok(()), Err)
    }

    /// Takes a constraint out of force.
    pub fn remove_constraint(&mut self, id: &ConstraintRef) {
        self.constraints.remove(id);
        self.in_force.take();
    }

    /// Returns the constraints of a kind and, for each, the error that keeps its latest version out of force.
    pub fn constraints_of<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Constraint, Option<&'a IngestError>)> {
        self.constraints
            .values()
            .filter(move |entry| entry.latest.id.kind == kind)
            .map(|entry| (&*entry.latest, entry.error.as_ref()))
    }

    /// Returns each path below `data.inventory` that the template of a constraint kind reads.
    pub fn inventory_paths(&self, kind: &str) -> impl Iterator<Item = &[Segment]> {
        self.templates.get(kind).into_iter().flat_map(CompiledTemplate::reads).flat_map(Reads::paths)
    }

    /// Puts an object in the inventory of a target.
    ///
    /// # Errors
    /// The object lacks a field of its identity, see [`Target::inventory_path`].
    pub fn put_object(&mut self, target: &dyn Target, object: Document) -> Result<(), IngestError> {
        let path = target.inventory_path(&object)?;
        self.inventories.of(target.name(), &self.templates).put(path, &object);
        Ok(())
    }

    /// Takes an object out of the inventory of a target.
    ///
    /// # Errors
    /// The object lacks a field of its identity, see [`Target::inventory_path`].
    pub fn remove_object(&mut self, target: &dyn Target, object: &Document) -> Result<(), IngestError> {
        let path = target.inventory_path(object)?;
        self.inventories.of(target.name(), &self.templates).remove(&path);
        Ok(())
    }

    /// Returns the policy set as of now. Cheap: it shares with the last one everything that did not change.
    pub fn build(&self) -> Arc<PolicySet> {
        let in_force = self.in_force.get_or_init(|| {
            let compiled = self.constraints.values().filter_map(|entry| entry.in_force.clone());
            Arc::new(InForce::new(compiled.collect(), self.templates.clone()))
        });
        Arc::new(PolicySet::new(in_force.clone(), self.inventories.clone()))
    }
}

impl Entry {
    fn recompile(&mut self, template: Option<&CompiledTemplate>) {
        let Some(template) = template else {
            self.error = Some(IngestError::MissingTemplate { kind: self.latest.id.kind.clone() });
            return;
        };
        match template.compile_constraint(&self.latest) {
            Ok(compiled) => {
                self.in_force = Some(Arc::new(compiled));
                self.good = Some(self.latest.clone());
                self.error = None;
            }
            Err(error) => {
                self.error = Some(error);
                self.stay_good(template);
            }
        }
    }

    /// Recompiles the last good version: it runs the template's new code where that accepts it, and the code it ran before
    /// otherwise.
    fn stay_good(&mut self, template: &CompiledTemplate) {
        let good = self.good.as_ref().and_then(|good| template.compile_constraint(good).ok());
        if let Some(good) = good {
            self.in_force = Some(Arc::new(good));
        }
    }
}

#[cfg(test)]
mod tests;
