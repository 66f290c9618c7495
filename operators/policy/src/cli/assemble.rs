//! From manifests to a policy set and the objects to judge, as `gator test` takes them: every object is judged, and
//! every object is in the inventory, templates and constraints included.
//!
//! Knows nothing of verdicts; `judge.rs` asks for them.

mod constraint;
mod kinds;
mod prepare;
mod shape;
mod subject;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use constraint_framework::IngestError;
use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintRef, ConstraintTemplate, FieldError, TEMPLATES_GROUP,
};
use constraint_framework::expansion::{EXPANSION_GROUP, ExpansionTemplate, ExpansionTemplates};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::target::AdmissionTarget;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;

use super::enforcement::with_known_action;
use super::manifest::{Manifest, ManifestError, ManifestErrors, text};
use super::mutator;
use super::native::{NativePolicies, ReadPolicies};
use super::resource::Resources;
use super::snippet;
use crate::api_version::group;

pub(super) use constraint::LoadedConstraint;
use prepare::{Prepared, prepare, prepare_all};
pub(super) use subject::{ResourceId, Subject};
pub(super) use warnings::{Topic, Warning};

/// Everything that is in force, and everything to judge.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) policies: Arc<PolicySet>,
    pub(super) constraints: BTreeMap<ConstraintRef, LoadedConstraint>,
    /// Kubernetes' own admission policies.
    pub(super) native: NativePolicies,
    /// In the order of the inputs.
    pub(super) subjects: Vec<Subject>,
    /// Warnings about what is judged, and probably not as its author thinks.
    pub(super) warnings: Vec<Warning>,
    /// The templates by the kind of their constraints, as written.
    pub(super) templates: BTreeMap<String, Manifest>,
    /// The kinds of constraints whose code in force is in CEL.
    pub(super) in_cel: BTreeSet<String>,
    builder: PolicySetBuilder,
}

impl Assembly {
    /// Adds what is judged by policies for resources, and the severities of those.
    pub(super) fn add(&mut self, resources: Resources) {
        self.subjects.extend(resources.subjects);
        for (id, severity) in resources.severities {
            if let Some(constraint) = self.constraints.get_mut(&id) {
                constraint.severity = Some(severity);
            }
        }
    }

    /// The policy set with one constraint alone, and the same inventory.
    pub(super) fn only(&mut self, id: &ConstraintRef) -> Arc<PolicySet> {
        let others: Vec<_> = self.constraints.keys().filter(|other| *other != id).cloned().collect();
        for other in &others {
            self.builder.remove_constraint(other);
        }
        let policies = self.builder.build();
        for other in others.iter().filter_map(|other| self.constraints.get(other)) {
            // Each was accepted before, by the same template.
            let _ = self.builder.put_constraint(other.constraint.clone());
        }
        policies
    }
}

/// Puts templates in force, then constraints, then objects.
///
/// # Errors
/// Everything that cannot be used. Nothing is judged then: a policy that is missing would refuse nothing.
pub(super) fn assemble(manifests: &[Manifest], compiler: Compiler) -> Result<Assembly, ManifestErrors> {
    let mut draft = policies(manifests, compiler);
    let prepared: Vec<_> =
        manifests.iter().filter_map(|manifest| prepare(manifest, &draft.expansion)).collect();
    prepared.into_iter().for_each(|prepared| draft.take(prepared));
    draft.finish()
}

/// As [`assemble`]; frees each manifest when its object is in: many objects are not in memory twice.
///
/// # Errors
/// As [`assemble`].
pub(super) fn assemble_all(manifests: Vec<Manifest>, compiler: Compiler) -> Result<Assembly, ManifestErrors> {
    let mut draft = policies(&manifests, compiler);
    let expansion = std::mem::take(&mut draft.expansion);
    prepare_all(manifests, &expansion, |prepared| draft.take(prepared));
    draft.finish()
}

/// Everything but the objects. Many objects are compared with one another while the policies are compiled.
fn policies(manifests: &[Manifest], compiler: Compiler) -> Draft {
    thread::scope(|scope| {
        let compared = scope.spawn(|| {
            let found = warnings::of(manifests).into_iter();
            found.chain(kinds::warnings(manifests)).collect::<Vec<_>>()
        });
        let mut draft = compiled(manifests, compiler);
        let own = std::mem::take(&mut draft.warnings);
        draft.warnings = compared.join().unwrap_or_else(|panic| resume_unwind(panic));
        draft.warnings.extend(own);
        draft
    })
}

/// The policies among manifests, and what is wrong with all of them.
fn compiled(manifests: &[Manifest], compiler: Compiler) -> Draft {
    let builder = Builder(PolicySetBuilder::new(compiler));
    let mut draft = Draft { builder, ..Draft::default() };
    let (sound, refused): (Vec<_>, Vec<_>) =
        manifests.par_iter().partition(|manifest| shape::is_sound(manifest));
    let is_own = |manifest: &&&Manifest| kinds::is_of_gatekeeper(group(&manifest.object));
    let own: Vec<_> = sound.par_iter().filter(is_own).copied().collect();
    let places = snippet::FieldPlaces::default();
    draft.errors.extend(refused.into_iter().flat_map(|manifest| shape::object_errors(manifest, &places)));
    let of_group = |wanted| own.iter().copied().filter(move |manifest| group(&manifest.object) == wanted);
    let of_kind =
        |group, kind| of_group(group).filter(move |manifest| text(&manifest.object, "/kind") == kind);
    for manifest in of_kind(TEMPLATES_GROUP, "ConstraintTemplate") {
        draft.put_template(manifest);
    }
    for manifest in of_group(CONSTRAINTS_GROUP) {
        draft.put_constraint(manifest);
    }
    for manifest in own.iter().copied().filter(|manifest| mutator::is_mutator(&manifest.object)) {
        draft.check_mutator(manifest);
    }
    draft.take_native(ReadPolicies::of(&sound));
    draft.expand_with(of_kind(EXPANSION_GROUP, "ExpansionTemplate"));
    draft
}

#[derive(Default)]
struct Draft {
    builder: Builder,
    /// The constraint CRDs by kind, and what their templates say about themselves.
    templates: BTreeMap<String, (Value, String)>,
    manifests: BTreeMap<String, Manifest>,
    in_cel: BTreeSet<String>,
    /// The constraint kinds whose template cannot be used.
    refused: BTreeSet<String>,
    constraints: BTreeMap<ConstraintRef, LoadedConstraint>,
    expansion: ExpansionTemplates,
    native: NativePolicies,
    subjects: Vec<Subject>,
    errors: Vec<ManifestError>,
    warnings: Vec<Warning>,
}

struct Builder(PolicySetBuilder);

impl Default for Builder {
    fn default() -> Self {
        Self(PolicySetBuilder::new(Compiler::default()))
    }
}

impl Draft {
    fn put_template(&mut self, manifest: &Manifest) {
        let template = match ConstraintTemplate::from_value(&manifest.object) {
            Ok(template) => template,
            Err(errors) => {
                // Its constraints have no other error.
                self.refused.insert(text(&manifest.object, "/spec/crd/spec/names/kind").to_owned());
                return self.errors.extend(snippet::field_errors(errors.iter(), manifest));
            }
        };
        let compiled = self.builder.0.compiler().compile(&template);
        let compiled = compiled.and_then(|compiled| Ok((compiled.crd()?, compiled)));
        if compiled.is_err() {
            self.refused.insert(template.constraint_kind().to_owned());
        }
        match compiled {
            Ok((crd, compiled)) => {
                let warnings = compiled.warnings().map(ToString::to_string);
                self.warnings.extend(warnings.map(|text| Warning::new(Topic::Template, manifest, text)));
                let description = text(&manifest.object, "/metadata/annotations/description").to_owned();
                self.manifests.insert(template.constraint_kind().to_owned(), manifest.clone());
                self.templates.insert(template.constraint_kind().to_owned(), (crd, description));
                if compiled.is_in_cel() {
                    self.in_cel.insert(template.constraint_kind().to_owned());
                }
                self.builder.0.install(compiled);
            }
            Err(IngestError::Compile(errors)) => {
                self.errors.extend(snippet::code_errors(&errors, manifest));
            }
            Err(error) => self.errors.extend(refused(&error, manifest)),
        }
    }

    fn put_constraint(&mut self, manifest: &Manifest) {
        let constraint = match Constraint::from_value(&manifest.object) {
            Ok(constraint) => constraint,
            Err(errors) => return self.errors.extend(snippet::field_errors(errors.iter(), manifest)),
        };
        let (constraint, warning) = with_known_action(constraint);
        self.warnings.extend(warning.map(|text| Warning::new(Topic::Action, manifest, text)));
        if let Err(error) = self.builder.0.put_constraint(constraint.clone()) {
            if self.refused.contains(&constraint.id.kind) {
                // Its template's error is reported already.
                return;
            }
            return self.errors.extend(refused(&error, manifest));
        }
        let (crd, description) = self.templates.get(&constraint.id.kind).cloned().unwrap_or_default();
        let completed = completed(&manifest.object, &crd);
        let loaded = LoadedConstraint::new(completed, constraint, description);
        self.constraints.insert(loaded.constraint.id.clone(), loaded);
    }

    fn take_native(&mut self, read: ReadPolicies) {
        self.native = read.policies;
        self.errors.extend(read.errors);
        self.warnings.extend(read.warnings);
        let constraints = read.constraints.into_iter();
        self.constraints.extend(constraints.map(|loaded| (loaded.constraint.id.clone(), loaded)));
    }

    fn check_mutator(&mut self, manifest: &Manifest) {
        let errors = mutator::check(&manifest.object);
        let kind = text(&manifest.object, "/kind");
        if errors.is_empty() {
            let text = format!("this {kind} has no effect: mutators are checked here, and not applied yet");
            self.warnings.push(Warning::new(Topic::Mutator, manifest, text));
        }
        let refused = |error: &FieldError| ManifestError::at(manifest, format!("invalid {kind}: {error}"));
        self.errors.extend(errors.iter().map(refused));
    }

    fn expand_with<'a>(&mut self, manifests: impl Iterator<Item = &'a Manifest>) {
        let mut templates = Vec::new();
        let mut places = BTreeMap::new();
        for manifest in manifests {
            match ExpansionTemplate::from_value(&manifest.object) {
                Ok(template) => {
                    places.insert(template.name.clone(), manifest);
                    templates.push(template);
                }
                Err(errors) => {
                    self.errors
                        .push(ManifestError::at(manifest, format!("invalid ExpansionTemplate: {errors}")));
                }
            }
        }
        self.expansion = ExpansionTemplates::new(templates);
        let cyclic = self.expansion.cyclic().filter_map(|name| places.get(name));
        let refused = |manifest: &&Manifest| ManifestError::at(manifest, "template forms expansion cycle");
        self.errors.extend(cyclic.map(refused));
    }

    /// Takes an object into the inventory and among those to judge.
    fn take(&mut self, prepared: Prepared) {
        match prepared {
            Ok(subject) => {
                // What has no name cannot be referred to, and is judged all the same.
                let object = Some(&subject.object).filter(|object| !object.name().is_empty());
                let put = object.map(|object| self.builder.0.put_object(&AdmissionTarget, object.clone()));
                if let Some(Err(error)) = put {
                    let (place, message) = (Some(subject.place.clone()), error.to_string());
                    self.errors.push(ManifestError { place, message });
                }
                self.subjects.push(subject);
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn finish(self) -> Result<Assembly, ManifestErrors> {
        if !self.errors.is_empty() {
            return Err(self.errors.into());
        }
        Ok(Assembly {
            policies: self.builder.0.build(),
            constraints: self.constraints,
            native: self.native,
            subjects: self.subjects,
            warnings: self.warnings,
            templates: self.manifests,
            in_cel: self.in_cel,
            builder: self.builder.0,
        })
    }
}

/// Lists what keeps a manifest from being in force: an error for each field.
fn refused(error: &IngestError, manifest: &Manifest) -> Vec<ManifestError> {
    match error {
        IngestError::Invalid(errors) | IngestError::Crd(errors) => {
            snippet::field_errors(errors.iter(), manifest)
        }
        error => vec![ManifestError::at(manifest, error.to_string())],
    }
}

/// The constraint with the defaults of its schema, as an API server would store it.
fn completed(manifest: &Value, crd: &Value) -> Value {
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    let mut completed = manifest.clone();
    if let Some(spec) = manifest.get("spec").filter(|spec| spec.is_object()) {
        let object = serde_json::json!({ "spec": spec });
        let stored = schema_merge::validate_object(schema, &object).stored;
        if let (Some(fields), Some(spec)) = (completed.as_object_mut(), stored.get("spec")) {
            fields.insert("spec".to_owned(), spec.clone());
        }
    }
    completed
}
