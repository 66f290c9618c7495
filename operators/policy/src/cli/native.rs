//! Kubernetes' own admission policies among the inputs: ValidatingAdmissionPolicies with their bindings and parameters.
//!
//! Each object is judged as if it were created. What a cluster knows and files do not is guessed: the plural of a kind, and
//! that an object without a namespace may be of either scope. CRDs among the inputs say both, and of Kubernetes' own kinds
//! the scope is known.
//! MutatingAdmissionPolicies are checked, and not applied.

mod explain;
mod expressions;
mod matching;
mod mutating;
mod params;
mod scope;
mod shape;

use std::sync::Arc;

use constraint_framework::api::{Constraint, ConstraintRef, FieldError};
use constraint_framework::driver::{Case, CompiledPolicy, Driver, ValidatingPolicyDriver};
use constraint_framework::inventory::Inventory;
use constraint_framework::review::{Action, Document, Json, Review, Violation};
use constraint_framework::target::AdmissionTarget;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::admission::admission_review;
use super::assemble::{LoadedConstraint, Topic, Warning};
use super::manifest::{Manifest, ManifestError, text};
use super::snippet::field_errors;
use crate::api_version::group;
use crate::budget::without_deadline;

use matching::{MatchResources, Plurals};
use params::Params;

const GROUP: &str = "admissionregistration.k8s.io";
/// The kind under which violations name a binding.
pub(super) const KIND: &str = "ValidatingAdmissionPolicy";

/// The policies in force.
#[derive(Debug, Default)]
pub(super) struct NativePolicies {
    bound: Vec<BoundPolicy>,
    plurals: Plurals,
}

/// A policy and one of its bindings.
#[derive(Debug)]
pub(super) struct BoundPolicy {
    binding: ConstraintRef,
    /// The policy as written, and the `matchResources` of the binding.
    written: (Manifest, Value),
    program: Arc<dyn CompiledPolicy>,
    matching: [MatchResources; 2],
    params: Params,
    actions: Vec<Action>,
    /// `failurePolicy: Ignore`.
    ignores_failures: bool,
}

/// The outcome of reading policies.
#[derive(Debug, Default)]
pub(super) struct ReadPolicies {
    pub(super) policies: NativePolicies,
    pub(super) constraints: Vec<LoadedConstraint>,
    pub(super) errors: Vec<ManifestError>,
    pub(super) warnings: Vec<Warning>,
}

/// Returns true if an object is an admission policy or a binding: no policy judges those.
pub(super) fn is_native(object: &Value) -> bool {
    is_native_kind(group(object), text(object, "/kind"))
}

/// As [`is_native`], of a group and a kind.
pub(super) fn is_native_kind(group: &str, kind: &str) -> bool {
    group == GROUP
        && ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"].iter().any(|name| kind.starts_with(name))
}

impl ReadPolicies {
    /// Reads the policies, bindings and parameters among manifests.
    pub(super) fn of(manifests: &[&Manifest]) -> Self {
        let mut read = Self::default();
        let native: Vec<_> =
            manifests.par_iter().filter(|manifest| is_native(&manifest.object)).copied().collect();
        if native.is_empty() {
            return read;
        }
        read.policies.plurals = Plurals::of(manifests.iter().map(|manifest| &manifest.object));
        read.check_mutating(&native);
        for policy in of_kind(&native, KIND) {
            let wrong_fields = shape::of_policy(&policy.object, &["validations", "auditAnnotations"]);
            let name = text(&policy.object, "/metadata/name");
            let mut own = of_kind(&native, "ValidatingAdmissionPolicyBinding");
            own.retain(|binding| text(&binding.object, "/spec/policyName") == name);
            if own.is_empty() {
                let text = "no ValidatingAdmissionPolicyBinding among the inputs binds this policy: it judges nothing";
                read.warnings.push(Warning::new(Topic::Template, policy, text));
            }
            if !wrong_fields.is_empty() {
                read.errors.extend(field_errors(&wrong_fields, policy));
                continue;
            }
            let is_sound = |binding: &&&Manifest| of_binding(binding).is_empty();
            match program(&policy.object) {
                Ok(program) => {
                    own.iter()
                        .filter(is_sound)
                        .for_each(|binding| read.bind(policy, binding, &program, manifests));
                }
                Err(message) => read.errors.push(ManifestError::at(policy, message)),
            }
        }
        for binding in of_kind(&native, "ValidatingAdmissionPolicyBinding") {
            read.errors.extend(field_errors(&of_binding(binding), binding));
            read.check_policy_name(binding, KIND, &native);
        }
        read
    }

    /// Refuses a binding of a policy that is not there, which would have no effect.
    fn check_policy_name(&mut self, binding: &Manifest, kind: &str, native: &[&Manifest]) {
        let wanted = text(&binding.object, "/spec/policyName");
        let is_wanted = |policy: &&Manifest| text(&policy.object, "/metadata/name") == wanted;
        if !wanted.is_empty() && !of_kind(native, kind).iter().any(is_wanted) {
            let message = format!("/spec/policyName: there is no {kind} {wanted:?} among the inputs");
            self.errors.push(ManifestError::at(binding, message));
        }
    }

    /// Checks MutatingAdmissionPolicies and their bindings, which have no effect.
    fn check_mutating(&mut self, native: &[&Manifest]) {
        for policy in of_kind(native, "MutatingAdmissionPolicy") {
            let wrong_fields = shape::of_policy(&policy.object, &["mutations", "reinvocationPolicy"]);
            let errors = mutating::check(&policy.object);
            if errors.is_empty() && wrong_fields.is_empty() {
                let text =
                    "this MutatingAdmissionPolicy has no effect: they are checked here, and not applied";
                self.warnings.push(Warning::new(Topic::Mutator, policy, text));
            }
            self.errors.extend(field_errors(&wrong_fields, policy));
            self.errors.extend(errors.into_iter().map(|error| ManifestError::at(policy, error)));
        }
        for binding in of_kind(native, "MutatingAdmissionPolicyBinding") {
            self.errors.extend(field_errors(&shape::of_binding(&binding.object, &[]), binding));
            self.check_policy_name(binding, "MutatingAdmissionPolicy", native);
        }
    }

    fn bind(
        &mut self,
        policy: &Manifest,
        binding: &Manifest,
        program: &Arc<dyn CompiledPolicy>,
        all: &[&Manifest],
    ) {
        let bound = BoundPolicy::new(policy, &binding.object, program.clone(), all);
        match bound {
            Ok(bound) => {
                let constraint = Constraint {
                    id: bound.binding.clone(),
                    metadata: constraint_framework::api::ObjectMeta::default(),
                    spec: Value::Null,
                };
                let description = text(&policy.object, "/metadata/annotations/description").to_owned();
                let shown = shown(&binding.object);
                self.constraints.push(LoadedConstraint::new(shown, constraint, description));
                self.policies.bound.push(bound);
            }
            Err(message) => self.errors.push(ManifestError::at(binding, message)),
        }
    }
}

fn of_kind<'a>(native: &[&'a Manifest], kind: &str) -> Vec<&'a Manifest> {
    native.iter().filter(|manifest| text(&manifest.object, "/kind") == kind).copied().collect()
}

/// Returns what is wrong with the fields of a ValidatingAdmissionPolicyBinding.
fn of_binding(binding: &Manifest) -> Vec<FieldError> {
    shape::of_binding(&binding.object, &["validationActions"])
}

/// The binding as output shows it: with the action where constraints have theirs.
fn shown(binding: &Value) -> Value {
    let mut shown = binding.clone();
    let action = actions(binding).ok().and_then(|actions| strongest(&actions));
    if let (Some(spec), Some(action)) = (shown.get_mut("spec").and_then(Value::as_object_mut), action) {
        spec.insert("enforcementAction".to_owned(), action.name().into());
    }
    shown
}

/// The part of a policy that is compiled.
fn source(policy: &Value) -> Map<String, Value> {
    let spec = policy.get("spec").and_then(Value::as_object);
    let field =
        |field: &str| Some((field.to_owned(), spec?.get(field).filter(|value| !value.is_null())?.clone()));
    ["validations", "variables", "matchConditions", "failurePolicy"].into_iter().filter_map(field).collect()
}

fn program(policy: &Value) -> Result<Arc<dyn CompiledPolicy>, String> {
    let spec = policy.get("spec").and_then(Value::as_object).ok_or("/spec: is missing")?;
    let source = source(policy);
    if !source.contains_key("validations") && spec.contains_key("auditAnnotations") {
        return Err("/spec/auditAnnotations: a policy without validations judges nothing here".to_owned());
    }
    let compiled = driver(policy).compile(&Value::Object(source));
    let mut errors = expressions::errors(&compiled);
    errors.extend(check_annotations(policy));
    match compiled {
        Ok(program) if errors.is_empty() => Ok(program),
        _ => Err(errors.join("; ")),
    }
}

/// The errors of audit annotations, which have no effect here. Those that ask for `authorizer`, which only a cluster has, are not
/// checked.
fn check_annotations(policy: &Value) -> Vec<String> {
    let errors = expressions::check(policy, driver(policy), &annotations(policy));
    let asks = |(_, error): &&(usize, String)| error.contains("undeclared reference to 'authorizer'");
    let unchecked: Vec<_> = errors.iter().filter(asks).map(|(position, _)| *position).collect();
    errors.into_iter().filter(|(position, _)| !unchecked.contains(position)).map(|(_, error)| error).collect()
}

/// The expressions of audit annotations, each with its place.
fn annotations(policy: &Value) -> Vec<(String, &str)> {
    let annotations = policy.pointer("/spec/auditAnnotations").and_then(Value::as_array);
    let expression = |(position, annotation)| {
        (format!("/spec/auditAnnotations/{position}/valueExpression"), text(annotation, "/valueExpression"))
    };
    annotations.into_iter().flatten().enumerate().map(expression).collect()
}

/// The driver of a policy's expressions.
fn driver(policy: &Value) -> ValidatingPolicyDriver {
    let has_params = policy.pointer("/spec/paramKind").is_some_and(|kind| !kind.is_null());
    ValidatingPolicyDriver { has_params, has_patch_types: false }
}

impl BoundPolicy {
    fn new(
        manifest: &Manifest,
        binding: &Value,
        program: Arc<dyn CompiledPolicy>,
        all: &[&Manifest],
    ) -> Result<Self, String> {
        let policy = &manifest.object;
        let name = text(binding, "/metadata/name").to_owned();
        let policy_rules =
            policy.pointer("/spec/matchConstraints").ok_or("its policy has no matchConstraints")?;
        let binding_rules = binding.pointer("/spec/matchResources").cloned().unwrap_or_default();
        Ok(Self {
            binding: ConstraintRef { kind: KIND.to_owned(), name },
            written: (manifest.clone(), binding_rules.clone()),
            program,
            matching: [
                MatchResources::read(policy_rules)
                    .map_err(|error| format!("its policy: /spec/matchConstraints{error}"))?,
                MatchResources::read(&binding_rules)
                    .map_err(|error| format!("/spec/matchResources{error}"))?,
            ],
            params: Params::of(policy, binding, all)?,
            actions: actions(binding)?,
            ignores_failures: text(policy, "/spec/failurePolicy") == "Ignore",
        })
    }

    fn violations(&self, review: &Review, plurals: &Plurals) -> Vec<Violation> {
        if !self.matching.iter().all(|rules| rules.matches(review, plurals)) {
            return Vec::new();
        }
        match &self.params {
            Params::None => self.judge(review, &Json::from_raw(RawValue::NULL.to_owned())),
            Params::Reference(reference) => match reference.objects(review) {
                Ok(objects) => objects.iter().flat_map(|params| self.judge(review, params.body())).collect(),
                Err(_) if self.ignores_failures => Vec::new(),
                // Whatever the binding does about violations.
                Err(reason) => {
                    let message = format!("failed to configure binding: {reason}");
                    vec![Violation { actions: vec![Action::Deny], ..self.violation(message) }]
                }
            },
        }
    }

    fn judge(&self, review: &Review, parameters: &Json) -> Vec<Violation> {
        let inventory = Inventory::default();
        let case = Case { review, parameters, inventory: &inventory };
        match self.program.evaluate(&case, &without_deadline()) {
            Ok(violations) => violations.into_iter().map(|raw| self.violation(raw.message)).collect(),
            Err(error) => vec![self.violation(error.to_string())],
        }
    }

    fn violation(&self, message: String) -> Violation {
        Violation { constraint: self.binding.clone(), message, details: None, actions: self.actions.clone() }
    }
}

impl NativePolicies {
    /// The violations of an object that is created. `namespace` is its Namespace, where that is known.
    pub(super) fn violations(&self, object: &Document, namespace: Option<&Document>) -> Vec<Violation> {
        if self.bound.is_empty() || is_native_kind(object.group(), object.kind()) {
            return Vec::new();
        }
        match creation_of(object, namespace) {
            Ok(review) => self.violations_of(&review),
            // A policy must not pass because its object cannot be read.
            Err(message) => self.bound.iter().map(|bound| bound.violation(message.clone())).collect(),
        }
    }

    /// The violations of a request.
    pub(super) fn violations_of(&self, review: &Review) -> Vec<Violation> {
        self.bound.iter().flat_map(|bound| bound.violations(review, &self.plurals)).collect()
    }
}

/// The review of an object's creation. `namespace` is its Namespace, where that is known.
pub(super) fn creation_of(object: &Document, namespace: Option<&Document>) -> Result<Review, String> {
    let request = |object| {
        let review = admission_review(object);
        review.get("request").map(Value::to_string).unwrap_or_default()
    };
    match object.json().ok().map(|object| AdmissionTarget.request(&request(object))) {
        Some(Ok(review)) if review.object().is_some() => {
            Ok(review.into_builder().namespace_object(namespace.cloned()).build())
        }
        outcome => {
            let reason = outcome.and_then(Result::err).map_or_else(String::new, |error| format!(": {error}"));
            Err(format!("the object cannot be read{reason}"))
        }
    }
}

/// The action that a user notices most: a binding may warn and audit at the same time.
pub(super) fn strongest(actions: &[Action]) -> Option<Action> {
    [Action::Deny, Action::Warn, Action::Dryrun].into_iter().find(|action| actions.contains(action))
}

fn actions(binding: &Value) -> Result<Vec<Action>, String> {
    let words = binding.pointer("/spec/validationActions").and_then(Value::as_array);
    let action = |word: &Value| match word.as_str() {
        Some("Deny") => Ok(Action::Deny),
        Some("Warn") => Ok(Action::Warn),
        Some("Audit") => Ok(Action::Dryrun),
        _ => Err(format!("/spec/validationActions: must hold Deny, Warn or Audit, not {word}")),
    };
    let mut actions = words.into_iter().flatten().map(action).collect::<Result<Vec<_>, _>>()?;
    let count = actions.len();
    actions.sort();
    actions.dedup();
    if actions.len() < count || actions.contains(&Action::Deny) && actions.contains(&Action::Warn) {
        return Err(
            "/spec/validationActions: must hold no action twice, and not both Deny and Warn".to_owned()
        );
    }
    if actions.is_empty() {
        return Err("/spec/validationActions: must hold at least one of Deny, Warn and Audit".to_owned());
    }
    Ok(actions)
}

#[cfg(test)]
mod tests;
