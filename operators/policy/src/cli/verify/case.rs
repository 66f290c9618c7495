//! Runs one test of a suite: a template, a constraint, and the objects they are tried on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use constraint_framework::IngestError;
use constraint_framework::api::{Constraint, ConstraintTemplate};
use constraint_framework::expansion::{ExpansionTemplate, ExpansionTemplates, Resultant};
use constraint_framework::policyset::{Compiler, Explanation, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review, ReviewSource, Verdict};
use constraint_framework::target::AdmissionTarget;
use serde_json::Value;

use crate::budget::without_deadline;
use crate::cli::enforcement::with_known_action;
use crate::cli::explain::inner;
use crate::cli::judge::{namespace_called, verdict};
use crate::cli::manifest::{Manifest, text};
use crate::cli::mutator::is_mutator;
use crate::cli::snippet::locate;
use crate::cli::suite::{Case, Test};

use super::RunOptions;
use super::engine::compilers;
use super::input::{is_admission_review, read, request, required};
use super::judged::Judged;
use super::native::{self, NativeTest};
use super::report::Outcome;

pub(super) fn run_test(folder: &Path, test: &Test, options: &RunOptions<'_>) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::new(&test.name);
    match set_up(folder, test, options) {
        Err(reason) => outcome.error = Some(reason),
        Ok(SetUp::NoCode) => return Outcome::skipped(&test.name),
        Ok(SetUp::Refused) => outcome.refused = true,
        Ok(SetUp::Accepted(policy)) => {
            outcome.warnings = policy.warnings();
            outcome.cases = run_cases(test, options, &|case| policy.run_case(folder, case, options));
        }
        Ok(SetUp::Native(native)) => {
            outcome.cases = run_cases(test, options, &|case| native.run_case(folder, case, options));
        }
    }
    outcome.elapsed = started.elapsed();
    outcome
}

fn run_cases(
    test: &Test,
    options: &RunOptions<'_>,
    run: &dyn Fn(&Case) -> Result<Judged, String>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for case in &test.cases {
        let skipped = case.skip || !options.filter.selects_case(test, case);
        options.printed();
        let ran = if skipped { Outcome::skipped(&case.name) } else { timed(&case.name, || run(case)) };
        outcomes.push(Outcome { printed: options.printed(), ..ran });
    }
    outcomes
}

fn timed(name: &str, run: impl FnOnce() -> Result<Judged, String>) -> Outcome {
    let started = Instant::now();
    let (error, judged) = match run() {
        Ok(judged) if judged.failures.is_empty() => (None, judged),
        Ok(judged) => (Some(judged.failures.join("; ")), judged),
        Err(reason) => (Some(reason), Judged::default()),
    };
    let Judged { diff, trace, .. } = judged;
    Outcome { error, diff, trace, elapsed: started.elapsed(), ..Outcome::new(name) }
}

/// The outcome of a test's template and constraint.
enum SetUp {
    /// Both are accepted, by every compiler.
    Accepted(Box<Policy>),
    /// The test is about one of Kubernetes' own policies.
    Native(NativeTest),
    /// The constraint is refused, which is what the test is about.
    Refused,
    /// The template has no code for the engine asked for.
    NoCode,
}

/// A template and a constraint, and who judges by them.
struct Policy {
    /// The template's file.
    path: PathBuf,
    template: Value,
    constraint: Constraint,
    expansion: ExpansionTemplates,
    compilers: Vec<Compiler>,
    warnings: Vec<String>,
}

/// A case that is ready to be judged.
struct Ready {
    policies: Arc<PolicySet>,
    review: Review,
    /// The objects that the object generates; none of a request.
    implied: Vec<(Resultant, Review)>,
}

fn set_up_native(folder: &Path, test: &Test) -> Result<SetUp, String> {
    match (NativeTest::read(folder, test), test.invalid) {
        (Ok(native), false) => Ok(SetUp::Native(native)),
        (Err(_), true) => Ok(SetUp::Refused),
        (Ok(_), true) => Err("the binding should have been refused, and was accepted".to_owned()),
        (Err(reason), false) => Err(reason),
    }
}

fn set_up(folder: &Path, test: &Test, options: &RunOptions<'_>) -> Result<SetUp, String> {
    let mut template = required(folder, test.template.as_deref(), "template")?;
    if native::is_policy(&template) {
        return set_up_native(folder, test);
    }
    let kind = text(&template, "/kind");
    if is_mutator(&template) || kind == "MutatingAdmissionPolicy" {
        return Err(format!(
            "{kind} cannot be tested: mutation is not applied here; webtroller test checks it"
        ));
    }
    options.cel.apply_to(&mut template);
    let constraint = required(folder, test.constraint.as_deref(), "constraint")?;
    let expansion = expansion(folder, test.expansion.as_deref())?;
    let compilers: Vec<_> = compilers(options.engine, options.cel, &template)
        .into_iter()
        .map(|compiler| options.listening(compiler))
        .collect();
    let parsed =
        Constraint::from_value(&constraint).map_err(|errors| format!("adding constraint: {errors}"))?;
    let (constraint, unknown_action) = with_known_action(parsed);
    for compiler in &compilers {
        let mut policies = PolicySetBuilder::new(compiler.clone());
        policies.put_template(&template).map_err(|error| format!("adding template: {error}"))?;
        match (policies.put_constraint(constraint.clone()), test.invalid) {
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
    let warnings = unknown_action.into_iter().collect();
    Ok(SetUp::Accepted(Box::new(Policy {
        path: folder.join(test.template.as_deref().unwrap_or_default()),
        template,
        constraint,
        expansion,
        compilers,
        warnings,
    })))
}

impl Policy {
    fn warnings(&self) -> Vec<String> {
        let template = ConstraintTemplate::from_value(&self.template).ok();
        let compile = |compiler: &Compiler| compiler.compile(template.as_ref()?).ok();
        let compiled = self.compilers.iter().filter_map(compile);
        let of_code =
            compiled.flat_map(|compiled| compiled.warnings().map(ToString::to_string).collect::<Vec<_>>());
        self.warnings.iter().cloned().chain(of_code).collect()
    }

    /// Judges a case by each engine, and where there are several, compares them.
    fn run_case(&self, folder: &Path, case: &Case, options: &RunOptions<'_>) -> Result<Judged, String> {
        let mut judged = Judged::default();
        for compiler in &self.compilers {
            let ready = self.ready(compiler.clone(), folder, case)?;
            let own = Judged::of(case, &ready.verdict())?;
            judged.failures.extend(own.failures);
            judged.diff.extend(own.diff);
            if let Some(coverage) = options.coverage {
                self.explanations(compiler, &ready).for_each(|found| coverage.add(&self.path, &found));
            }
            if options.trace {
                judged.trace.extend(self.trace(compiler, &ready));
            }
        }
        if self.compilers.len() > 1 {
            let ready = self.ready(Compiler::default().comparing(), folder, case)?;
            judged.failures.extend(ready.disagreements());
        }
        Ok(judged)
    }

    /// Describes how the constraint judged the object, and then what it generates.
    fn trace(&self, compiler: &Compiler, ready: &Ready) -> Vec<String> {
        let manifest =
            Manifest { path: self.path.clone(), line: 1, object: self.template.clone(), duplicate: None };
        let text: String = self
            .explanations(compiler, ready)
            .map(|mut explanation| {
                locate(&mut explanation, &manifest);
                inner(&explanation)
            })
            .collect();
        text.lines().map(str::to_owned).collect()
    }

    fn explanations<'a>(
        &'a self,
        compiler: &'a Compiler,
        ready: &'a Ready,
    ) -> impl Iterator<Item = Explanation> + 'a {
        let template = ConstraintTemplate::from_value(&self.template).ok();
        let reviews = std::iter::once(&ready.review).chain(ready.implied.iter().map(|(_, review)| review));
        reviews.filter_map(move |review| {
            let spec = &self.constraint.spec;
            compiler.explain(template.as_ref()?, spec, review, &ready.policies, &without_deadline()).ok()
        })
    }

    /// Each case has a policy set of its own, so that none depends on what another left behind.
    fn ready(&self, compiler: Compiler, folder: &Path, case: &Case) -> Result<Ready, String> {
        let object = case.object.as_deref().ok_or("invalid Case: must define object")?;
        let mut policies = PolicySetBuilder::new(compiler);
        policies.put_template(&self.template).map_err(|error| error.to_string())?;
        policies.put_constraint(self.constraint.clone()).map_err(|error| error.to_string())?;
        for path in &case.inventory {
            for manifest in read(folder, path)? {
                let object =
                    Document::from_value(&manifest.object).map_err(|error| format!("{path}: {error}"))?;
                policies.put_object(&AdmissionTarget, object).map_err(|error| format!("{path}: {error}"))?;
            }
        }
        let object = required(folder, Some(object), "object")?;
        let policies = policies.build();
        if is_admission_review(&object) {
            let review = placed(request(&object)?, &policies);
            return Ok(Ready { policies, review, implied: Vec::new() });
        }
        let document =
            Document::from_value(&object).map_err(|error| format!("not a Kubernetes object: {error}"))?;
        let resultants = self.expansion.expand(&document);
        let resultants =
            resultants.map_err(|error| format!("expanding resource {}: {error}", document.name()))?;
        let of = |object: Document, source| placed(AdmissionTarget.object(object, Some(source)), &policies);
        let implied = resultants.into_iter().map(|resultant| {
            let review = of(resultant.object.clone(), ReviewSource::Generated);
            (resultant, review)
        });
        let implied = implied.collect();
        let review = of(document, ReviewSource::Original);
        Ok(Ready { review, implied, policies })
    }
}

impl Ready {
    /// All violations, those of what the object generates among them.
    fn verdict(&self) -> Verdict {
        let mut violations = verdict(&self.review, &self.policies).violations().to_vec();
        for (resultant, review) in &self.implied {
            let implied = resultant.attribute(&verdict(review, &self.policies));
            violations.extend(implied.violations().iter().cloned());
        }
        Verdict::new(violations)
    }

    /// Returns what the engines of a template do not agree on.
    fn disagreements(&self) -> Vec<String> {
        let reviews = std::iter::once(&self.review).chain(self.implied.iter().map(|(_, review)| review));
        let found = reviews.flat_map(|review| {
            self.policies.disagreements(review, EnforcementPoint::GATOR, &without_deadline())
        });
        let answers = found.flat_map(|found| found.answers);
        answers
            .map(|answer| format!("the engines disagree: {} finds {:?}", answer.engine, answer.messages))
            .collect()
    }
}

/// The review with its Namespace. That of a request is the one it names, whatever its object says.
fn placed(review: Review, policies: &PolicySet) -> Review {
    let namespace = review.attributes().get("namespace").and_then(Value::as_str).unwrap_or_default();
    let namespace = namespace_called(namespace, policies);
    review.into_builder().namespace_object(namespace).build()
}

/// The ExpansionTemplates of a file; none where the test names no file.
fn expansion(folder: &Path, path: Option<&str>) -> Result<ExpansionTemplates, String> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(ExpansionTemplates::default());
    };
    let manifests = read(folder, path).map_err(|error| format!("reading expansion: {error}"))?;
    let is_one = |manifest: &Manifest| text(&manifest.object, "/kind") == "ExpansionTemplate";
    if manifests.is_empty() || !manifests.iter().all(is_one) {
        return Err(format!("reading expansion: {path} must hold ExpansionTemplates, and nothing else"));
    }
    let read = |manifest: &Manifest| ExpansionTemplate::from_value(&manifest.object);
    let templates = manifests.iter().map(read).collect::<Result<Vec<_>, _>>();
    let templates = templates.map_err(|errors| format!("invalid ExpansionTemplate: {path}: {errors}"))?;
    let expansion = ExpansionTemplates::new(templates);
    if let Some(name) = expansion.cyclic().next() {
        return Err(format!("{path}: {name}: template forms expansion cycle"));
    }
    Ok(expansion)
}
