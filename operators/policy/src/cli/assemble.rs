//! From manifests to a policy set and the objects to judge, as `gator test` takes them: every object is judged, and
//! every object is in the inventory, templates and constraints included.
//!
//! Knows nothing of verdicts; `judge.rs` asks for them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use constraint_framework::api::{
    CONSTRAINTS_GROUP, Constraint, ConstraintRef, ConstraintTemplate, TEMPLATES_GROUP,
};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::Document;
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use super::load::Manifest;

const EXPANSION_GROUP: &str = "expansion.gatekeeper.sh";

/// Where an object stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// From 1; 0 where the whole file is meant.
    pub(super) line: u64,
}

/// What keeps a manifest from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Option<Place>,
    pub(super) message: String,
}

/// An object to judge.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) place: Place,
    pub(super) object: Document,
}

/// A constraint as its template completed it.
#[derive(Clone, Debug)]
pub(super) struct LoadedConstraint {
    /// With the defaults of its schema.
    pub(super) manifest: Value,
    pub(super) constraint: Constraint,
    /// What its template says about itself; empty when it says nothing.
    pub(super) description: String,
}

/// Everything that is in force, and everything to judge.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) policies: Arc<PolicySet>,
    pub(super) constraints: BTreeMap<ConstraintRef, LoadedConstraint>,
    /// In the order of the inputs.
    pub(super) subjects: Vec<Subject>,
    /// Keys and objects that are defined more than once.
    pub(super) warnings: Vec<Problem>,
    pub(super) templates: usize,
    builder: PolicySetBuilder,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Problem {
    fn at(manifest: &Manifest, message: impl Into<String>) -> Self {
        Self { place: Some(place(manifest)), message: message.into() }
    }
}

impl Subject {
    /// Whether it is an object, and not a template or a constraint.
    pub(super) fn is_no_policy(&self) -> bool {
        ![TEMPLATES_GROUP, CONSTRAINTS_GROUP].contains(&self.object.group())
    }
}

impl LoadedConstraint {
    /// Whether it matters to it which namespace an object lies in.
    pub(super) fn looks_at_namespaces(&self) -> bool {
        let block = self.manifest.pointer("/spec/match").and_then(Value::as_object);
        let fields = ["namespaces", "excludedNamespaces", "namespaceSelector", "scope"];
        block.is_some_and(|block| fields.iter().any(|field| block.contains_key(*field)))
    }
}

impl Assembly {
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
pub(super) fn assemble(manifests: &[Manifest], compiler: Compiler) -> Result<Assembly, Vec<Problem>> {
    let builder = Builder(PolicySetBuilder::new(compiler));
    let mut draft = Draft { builder, warnings: warnings(manifests), ..Draft::default() };
    let (sound, malformed): (Vec<_>, Vec<_>) =
        manifests.iter().partition(|manifest| malformed(manifest).is_none());
    draft.problems.extend(malformed.into_iter().filter_map(self::malformed));
    let of_group = |group| sound.iter().copied().filter(move |manifest| group_of(&manifest.object) == group);
    for manifest in
        of_group(TEMPLATES_GROUP).filter(|manifest| text(&manifest.object, "/kind") == "ConstraintTemplate")
    {
        draft.put_template(manifest);
    }
    for manifest in of_group(CONSTRAINTS_GROUP) {
        draft.put_constraint(manifest);
    }
    for manifest in &sound {
        draft.put_object(manifest);
    }
    for template in of_group(EXPANSION_GROUP) {
        draft.problems.extend(unexpanded(template, manifests));
    }
    draft.finish()
}

#[derive(Default)]
struct Draft {
    builder: Builder,
    /// The constraint CRDs by kind, and what their templates say about themselves.
    templates: BTreeMap<String, (Value, String)>,
    constraints: BTreeMap<ConstraintRef, LoadedConstraint>,
    subjects: Vec<Subject>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
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
            Err(errors) => return self.problems.push(Problem::at(manifest, errors.to_string())),
        };
        match self.builder.0.compiler().compile(&template) {
            Ok(compiled) => {
                let warnings = compiled.warnings().map(|warning| Problem::at(manifest, warning.to_string()));
                self.warnings.extend(warnings);
                let description = text(&manifest.object, "/metadata/annotations/description").to_owned();
                self.templates
                    .insert(template.constraint_kind().to_owned(), (compiled.crd().clone(), description));
                self.builder.0.install(compiled);
            }
            Err(error) => self.problems.push(Problem::at(manifest, error.to_string())),
        }
    }

    fn put_constraint(&mut self, manifest: &Manifest) {
        let constraint = match Constraint::from_value(&manifest.object) {
            Ok(constraint) => constraint,
            Err(errors) => return self.problems.push(Problem::at(manifest, errors.to_string())),
        };
        if let Err(error) = self.builder.0.put_constraint(constraint.clone()) {
            return self.problems.push(Problem::at(manifest, error.to_string()));
        }
        let (crd, description) = self.templates.get(&constraint.id.kind).cloned().unwrap_or_default();
        let completed = completed(&manifest.object, &crd);
        let loaded = LoadedConstraint { manifest: completed, constraint, description };
        self.constraints.insert(loaded.constraint.id.clone(), loaded);
    }

    fn put_object(&mut self, manifest: &Manifest) {
        let object = match Document::from_value(&manifest.object) {
            Ok(object) => object,
            Err(error) => {
                return self
                    .problems
                    .push(Problem::at(manifest, format!("not a Kubernetes object: {error}")));
            }
        };
        // What has no name cannot be referred to, and is judged all the same.
        if !object.name().is_empty()
            && let Err(error) = self.builder.0.put_object(&AdmissionTarget, object.clone())
        {
            self.problems.push(Problem::at(manifest, error.to_string()));
        }
        self.subjects.push(Subject { place: place(manifest), object });
    }

    fn finish(self) -> Result<Assembly, Vec<Problem>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Assembly {
            policies: self.builder.0.build(),
            constraints: self.constraints,
            subjects: self.subjects,
            warnings: self.warnings,
            templates: self.templates.len(),
            builder: self.builder.0,
        })
    }
}

fn place(manifest: &Manifest) -> Place {
    Place { file: manifest.path.clone(), line: manifest.line }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn group_of(object: &Value) -> &str {
    text(object, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group)
}

/// A document that no API server would take for an object: everything that is wrong with its type and metadata.
fn malformed(manifest: &Manifest) -> Option<Problem> {
    let object = &manifest.object;
    if !object.is_object() {
        return Some(Problem::at(manifest, format!("not a Kubernetes object: it is {}", kind_of(object))));
    }
    let mut wrong = Vec::new();
    for pointer in ["/apiVersion", "/kind", "/metadata/name", "/metadata/generateName", "/metadata/namespace"]
    {
        match object.pointer(pointer) {
            Some(Value::Null) | None => {}
            Some(value) => wrong.extend(not_text(pointer, value)),
        }
    }
    for pointer in ["/metadata", "/metadata/labels"] {
        let value = object.pointer(pointer).filter(|value| !value.is_object() && !value.is_null());
        wrong.extend(value.map(|value| format!("{pointer} must be a mapping, not {}", kind_of(value))));
    }
    for (label, value) in object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten()
    {
        wrong.extend(not_text(&format!("/metadata/labels/{label}"), value));
    }
    let absent = ["apiVersion", "kind"]
        .into_iter()
        .filter(|field| object.get(field).is_none_or(|value| *value == "" || value.is_null()));
    wrong.extend(absent.map(|field| format!("it has no {field}")));
    (!wrong.is_empty())
        .then(|| Problem::at(manifest, format!("not a Kubernetes object: {}", wrong.join("; "))))
}

fn not_text(pointer: &str, value: &Value) -> Option<String> {
    (!value.is_string()).then(|| format!("{pointer} must be text, not {} (quote it)", kind_of(value)))
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(_) => "text".to_owned(),
        other => other.to_string(),
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

/// What is judged, and probably not as its author thinks.
fn warnings(manifests: &[Manifest]) -> Vec<Problem> {
    let keys = manifests.iter().filter_map(|manifest| {
        let duplicate = manifest.duplicate.as_ref()?;
        let message = format!("the key {:?} is defined twice; the last value counts", duplicate.key);
        let place = Place { line: duplicate.line, ..place(manifest) };
        Some(Problem { place: Some(place), message })
    });
    let mut warnings: Vec<_> = keys.chain(repetitions(manifests)).collect();
    warnings.dedup();
    warnings
}

/// Objects of one identity, each after its first.
fn repetitions(manifests: &[Manifest]) -> Vec<Problem> {
    let mut first: BTreeMap<[&str; 4], &Manifest> = BTreeMap::new();
    let mut found = Vec::new();
    for manifest in manifests.iter().filter(|manifest| !text(&manifest.object, "/metadata/name").is_empty()) {
        let [kind, namespace, name] =
            ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(&manifest.object, pointer));
        let earlier = first.entry([group_of(&manifest.object), kind, namespace, name]).or_insert(manifest);
        if !std::ptr::eq(*earlier, manifest) {
            let message = format!("{kind} {name} is already defined in {}; both are judged", place(earlier));
            found.push(Problem::at(manifest, message));
        }
    }
    found
}

/// An ExpansionTemplate whose generators are among the inputs: what they generate would go unjudged.
fn unexpanded(template: &Manifest, manifests: &[Manifest]) -> Option<Problem> {
    if text(&template.object, "/kind") != "ExpansionTemplate" {
        return None;
    }
    let applies = template.object.pointer("/spec/applyTo").and_then(Value::as_array)?;
    let lists = |entry: &Value, field: &str, word: &str| {
        entry
            .get(field)
            .and_then(Value::as_array)
            .is_some_and(|words| words.iter().any(|listed| listed == word))
    };
    let generator = manifests.iter().find(|manifest| {
        let version = text(&manifest.object, "/apiVersion").rsplit('/').next().unwrap_or_default();
        applies.iter().any(|entry| {
            lists(entry, "groups", group_of(&manifest.object))
                && lists(entry, "versions", version)
                && lists(entry, "kinds", text(&manifest.object, "/kind"))
        })
    })?;
    let message = format!(
        "workloads are not expanded yet, and {} is one that this ExpansionTemplate applies to: what it generates would not be judged",
        place(generator)
    );
    Some(Problem::at(template, message))
}
