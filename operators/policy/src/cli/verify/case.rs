//! Runs one test of a suite: a template, a constraint, and the objects they are tried on.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use constraint_framework::IngestError;
use constraint_framework::api::{Constraint, ConstraintTemplate};
use constraint_framework::driver::Budget;
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review, ReviewSource};
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use crate::cli::judge::{namespace_called, verdict};
use crate::cli::load::{Manifest, load_file};
use crate::cli::suite::{Case, Test};

use super::Manner;
use super::engine::compilers;
use super::report::Outcome;
use super::strict::unknown_fields;

pub(super) fn run_test(folder: &Path, test: &Test, manner: &Manner<'_>) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::new(&test.name);
    match set_up(folder, test, manner) {
        Err(reason) => outcome.error = Some(reason),
        Ok(SetUp::NoCode) => return Outcome::skipped(&test.name),
        Ok(SetUp::Refused) => {}
        Ok(SetUp::Accepted(policy)) => {
            outcome.warnings = policy.warnings();
            for case in &test.cases {
                let skipped = case.skip || !manner.filter.selects_case(test, case);
                let run = || policy.run_case(folder, case);
                manner.printed();
                let ran = if skipped { Outcome::skipped(&case.name) } else { timed(&case.name, run) };
                outcome.cases.push(Outcome { printed: manner.printed(), ..ran });
            }
        }
    }
    outcome.elapsed = started.elapsed();
    outcome
}

fn timed(name: &str, run: impl FnOnce() -> Result<(), String>) -> Outcome {
    let started = Instant::now();
    let error = run().err();
    Outcome { error, elapsed: started.elapsed(), ..Outcome::new(name) }
}

/// What came of a test's template and constraint.
enum SetUp {
    /// Both are accepted, by every compiler.
    Accepted(Policy),
    /// The constraint is refused, which is what the test is about.
    Refused,
    /// The template has no code for the engine asked for.
    NoCode,
}

/// A template and a constraint, and who judges by them.
struct Policy {
    template: Value,
    constraint: Value,
    compilers: Vec<Compiler>,
}

fn set_up(folder: &Path, test: &Test, manner: &Manner<'_>) -> Result<SetUp, String> {
    let template = required(folder, test.template.as_deref(), "template")?;
    let constraint = required(folder, test.constraint.as_deref(), "constraint")?;
    let compilers: Vec<_> =
        compilers(manner.engine, &template).into_iter().map(|compiler| manner.listening(compiler)).collect();
    for compiler in &compilers {
        let mut policies = PolicySetBuilder::new(compiler.clone());
        policies.put_template(&template).map_err(|error| format!("adding template: {error}"))?;
        let parsed =
            Constraint::from_value(&constraint).map_err(|errors| format!("adding constraint: {errors}"))?;
        match (policies.put_constraint(parsed), test.invalid) {
            (Ok(()), false) => {}
            // Only what the schema refuses is what the test is about: not a kind that is misspelt.
            (Err(IngestError::Invalid(_)), true) => return Ok(SetUp::Refused),
            (Err(error), _) => return Err(format!("adding constraint: {error}")),
            (Ok(()), true) => {
                return Err("constraint should have failed schema validation, and was accepted".to_owned());
            }
        }
    }
    if compilers.is_empty() {
        return Ok(SetUp::NoCode);
    }
    Ok(SetUp::Accepted(Policy { template, constraint, compilers }))
}

impl Policy {
    fn warnings(&self) -> Vec<String> {
        let template = ConstraintTemplate::from_value(&self.template).ok();
        let compile = |compiler: &Compiler| compiler.compile(template.as_ref()?).ok();
        let compiled = self.compilers.iter().filter_map(compile);
        compiled
            .flat_map(|compiled| compiled.warnings().map(ToString::to_string).collect::<Vec<_>>())
            .collect()
    }

    /// Judges a case by each engine, and where there are several, compares them.
    fn run_case(&self, folder: &Path, case: &Case) -> Result<(), String> {
        if case.assertions.is_empty() {
            return Err("invalid Case: assertions must be non-empty".to_owned());
        }
        let mut failures = Vec::new();
        for compiler in &self.compilers {
            let (policies, review) = self.ready(compiler.clone(), folder, case)?;
            let verdict = verdict(&review, &policies);
            failures.extend(case.assertions.iter().filter_map(|assertion| assertion.check(&verdict).err()));
        }
        if self.compilers.len() > 1 {
            let (policies, review) = self.ready(Compiler::default().comparing(), folder, case)?;
            let found = policies.disagreements(&review, EnforcementPoint::GATOR, &Budget::default());
            failures.extend(found.iter().flat_map(|found| &found.answers).map(|answer| {
                format!("the engines disagree: {} finds {:?}", answer.engine, answer.messages)
            }));
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }

    /// Each case has a policy set of its own, so that none depends on what another left behind.
    fn ready(
        &self,
        compiler: Compiler,
        folder: &Path,
        case: &Case,
    ) -> Result<(Arc<PolicySet>, Review), String> {
        let object = case.object.as_deref().ok_or("invalid Case: must define object")?;
        let mut policies = PolicySetBuilder::new(compiler);
        policies.put_template(&self.template).map_err(|error| error.to_string())?;
        put_constraint(&mut policies, &self.constraint).map_err(|error| error.to_string())?;
        for path in &case.inventory {
            for manifest in read(folder, path)? {
                let object =
                    Document::from_value(&manifest.object).map_err(|error| format!("{path}: {error}"))?;
                policies.put_object(&AdmissionTarget, object).map_err(|error| format!("{path}: {error}"))?;
            }
        }
        let mut review = review(&required(folder, Some(object), "object")?)?;
        let policies = policies.build();
        // The namespace of a request is the one it names, whatever its object says.
        let namespace = review.attributes.get("namespace").and_then(Value::as_str).unwrap_or_default();
        review.namespace_object = namespace_called(namespace, &policies);
        Ok((policies, review))
    }
}

fn put_constraint(policies: &mut PolicySetBuilder, manifest: &Value) -> Result<(), String> {
    let constraint = Constraint::from_value(manifest).map_err(|error| error.to_string())?;
    policies.put_constraint(constraint).map_err(|error| error.to_string())
}

/// An object is reviewed as it lies there; an AdmissionReview as the request that it holds.
fn review(object: &Value) -> Result<Review, String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/kind") == "AdmissionReview" && text("/apiVersion").starts_with("admission.k8s.io/") {
        let unknown = unknown_fields(object);
        if !unknown.is_empty() {
            return Err(format!("invalid AdmissionReview: unknown fields: {}", unknown.join(", ")));
        }
        let request = object.get("request").filter(|request| request.is_object());
        let request = request.ok_or("invalid AdmissionReview: must hold a request")?;
        if request.get("object").is_none_or(Value::is_null)
            && request.get("oldObject").is_none_or(Value::is_null)
        {
            return Err("invalid AdmissionReview: must hold an object or an old object".to_owned());
        }
        return AdmissionTarget.request(&request.to_string()).map_err(|error| error.to_string());
    }
    let document =
        Document::from_value(object).map_err(|error| format!("not a Kubernetes object: {error}"))?;
    Ok(AdmissionTarget.object(document, Some(ReviewSource::Original)))
}

/// A test must not depend on which of two values of a key counts.
fn read(folder: &Path, path: &str) -> Result<Vec<Manifest>, String> {
    let manifests = load_file(&folder.join(path)).map_err(|error| error.to_string())?;
    match manifests.iter().find_map(|manifest| manifest.duplicate.as_ref()) {
        Some(duplicate) => Err(format!("{path}: {duplicate}")),
        None => Ok(manifests),
    }
}

fn required(folder: &Path, path: Option<&str>, what: &str) -> Result<Value, String> {
    let path = path.ok_or_else(|| format!("must define {what}"))?;
    let mut manifests = read(folder, path).map_err(|error| format!("reading {what}: {error}"))?;
    match (manifests.pop(), manifests.is_empty()) {
        (Some(manifest), true) => Ok(manifest.object),
        (None, _) => Err(format!("reading {what}: {path} is empty")),
        (Some(_), false) => Err(format!("reading {what}: {path} must hold one object")),
    }
}
