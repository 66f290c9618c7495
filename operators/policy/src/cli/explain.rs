//! `webtroller explain`: why a constraint found a violation in an object, or none.
//!
//! The inputs are those of `webtroller test`. For each object and each constraint: the criteria of `spec.match`, then the
//! policy expression by expression, with the first one that did not hold and its values.

mod text;

use std::io::Write;

use clap::ValueEnum;
use constraint_framework::api::ConstraintTemplate;
use constraint_framework::driver::{BodyKind, BodyTrace, ExpressionOutcome};
use constraint_framework::policyset::{Compiler, Explanation};
use constraint_framework::review::{Document, ReviewSource};
use schema_merge::Errors;
use serde_json::{Value, json};

use super::assemble::{Assembly, LoadedConstraint, Subject, assemble};
use super::input::{InputArgs, StandardInput, gather};
use super::judge::{Unplaced, review_of_subject};
use super::native;
use super::resource::compiler;
use super::snippet::{locate, with_carets};
use super::{write_errors, write_text};
use crate::budget::without_deadline;

pub(super) use text::{inner, one};

const EXAMPLES: &str = "\
Examples:
  # Why is this Deployment refused, or why not?
  webtroller explain -f policies/ deployment.yaml

  # The same for one constraint and one object of many, for a program
  webtroller explain policies/ cluster.yaml --constraint must-have-owner --object shop/web -o json";

/// Explain why constraints find violations in objects, or none: what matched, and which expression decided.
///
/// Exits with 0 whatever is found, and with 1 when the inputs cannot be used or hold nothing to explain.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// Files and folders to read: templates, constraints and objects.
    #[command(flatten)]
    pub input: InputArgs,
    /// Only this constraint: a name, or kind and name with a slash between them.
    #[arg(long, short, value_name = "NAME")]
    pub constraint: Option<String>,
    /// Only this object: a name, namespace/name, kind/name or kind/namespace/name.
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Output format of explanations.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: ExplainFormat,
}

/// The format of printed explanations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON list.
    Json,
}

/// One constraint and one object.
pub(super) struct Explained<'a> {
    pub(super) subject: &'a Subject,
    /// The object under review: the object, or one that it generates.
    pub(super) object: &'a Document,
    pub(super) constraint: &'a LoadedConstraint,
    pub(super) explanation: Explanation,
}

/// Runs the command and gives the exit code.
pub fn explain(
    args: &ExplainArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let explained = run(args, standard, err);
    match explained.and_then(|text| Ok(write_text(&text, out)?)) {
        Ok(()) => 0,
        Err(errors) => {
            write_errors("explain", errors, err);
            1
        }
    }
}

fn run(
    args: &ExplainArgs,
    standard: StandardInput<'_>,
    err: &mut dyn Write,
) -> Result<String, Errors<String>> {
    let gathered = gather(&args.input, standard).map_err(with_carets)?;
    gathered.warn("explain", err);
    let assembly = assemble(&gathered.manifests, Compiler::default()).map_err(with_carets)?;
    let constraints = assembly.constraints.values();
    let constraints: Vec<_> = constraints.filter(|constraint| args.wants_constraint(constraint)).collect();
    let subjects = assembly.subjects.iter().filter(|subject| args.wants_subject(subject));
    let mut explained = Vec::new();
    for subject in subjects {
        for constraint in &constraints {
            explained.extend(of(&assembly, subject, constraint)?);
        }
    }
    if explained.is_empty() {
        return Err(args.nothing(&assembly).into());
    }
    Ok(match args.output {
        ExplainFormat::Text => text::render(&explained),
        ExplainFormat::Json => {
            format!("{:#}\n", Value::from(explained.iter().map(to_json).collect::<Vec<_>>()))
        }
    })
}

impl ExplainArgs {
    fn wants_constraint(&self, constraint: &LoadedConstraint) -> bool {
        let id = &constraint.constraint.id;
        self.constraint.as_ref().is_none_or(|name| *name == id.name || *name == id.to_string())
    }

    fn wants_subject(&self, subject: &Subject) -> bool {
        let object = &subject.object;
        let placed = match object.namespace() {
            "" => object.name().to_owned(),
            namespace => format!("{namespace}/{}", object.name()),
        };
        let kind = object.kind();
        let names = [
            object.name().to_owned(),
            placed.clone(),
            format!("{kind}/{}", object.name()),
            format!("{kind}/{placed}"),
        ];
        match &self.object {
            Some(name) => names.contains(name),
            None => subject.is_no_policy(),
        }
    }

    fn nothing(&self, assembly: &Assembly) -> String {
        let known = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let constraints = assembly.constraints.keys().map(ToString::to_string).collect();
        let objects = assembly.subjects.iter().filter(|subject| subject.is_no_policy());
        let objects = objects.map(|subject| format!("{}/{}", subject.object.kind(), subject.object.name()));
        format!(
            "nothing to explain; constraints among the inputs: {}; objects: {}",
            known(constraints),
            known(objects.take(10).collect())
        )
    }
}

/// The explanations of an object and of what it generates.
pub(super) fn of<'a>(
    assembly: &'a Assembly,
    subject: &'a Subject,
    constraint: &'a LoadedConstraint,
) -> Result<Vec<Explained<'a>>, String> {
    let id = &constraint.constraint.id;
    if id.kind == native::KIND {
        return of_native(assembly, subject, constraint);
    }
    let manifest =
        assembly.templates.get(&id.kind).ok_or_else(|| format!("{id}: its template is missing"))?;
    let template = ConstraintTemplate::from_value(&manifest.object).map_err(|errors| errors.to_string())?;
    let spec = constraint.manifest.get("spec").cloned().unwrap_or_default();
    let explained = objects(subject).map(|(object, source)| {
        let review = review_of_subject(subject, object, source, &assembly.policies, Unplaced::Nowhere);
        let mut explanation = compiler()
            .explain(&template, &spec, &review, &assembly.policies, &without_deadline())
            .map_err(|error| format!("{id}: {error}"))?;
        locate(&mut explanation, manifest);
        Ok(Explained { subject, object, constraint, explanation })
    });
    explained.collect()
}

/// An object, and what it generates.
fn objects(subject: &Subject) -> impl Iterator<Item = (&Document, ReviewSource)> {
    let implied = subject.resultants.iter().map(|resultant| (&resultant.object, ReviewSource::Generated));
    std::iter::once((&subject.object, ReviewSource::Original)).chain(implied)
}

/// As [`of`], for a binding of one of Kubernetes' own policies.
fn of_native<'a>(
    assembly: &'a Assembly,
    subject: &'a Subject,
    constraint: &'a LoadedConstraint,
) -> Result<Vec<Explained<'a>>, String> {
    let mut explained = Vec::new();
    for (object, source) in objects(subject) {
        let review = review_of_subject(subject, object, source, &assembly.policies, Unplaced::Nowhere);
        let found = assembly.native.explain(&constraint.constraint.id, object, review.namespace_object())?;
        let one = |explanation| Explained { subject, object, constraint, explanation };
        explained.extend(found.into_iter().map(one));
    }
    Ok(explained)
}

fn to_json(explained: &Explained<'_>) -> Value {
    let Explained { subject, object, constraint, explanation } = explained;
    let matching = explanation.matching.iter().map(|step| {
        let (matches, error) = match &step.outcome {
            Ok(matches) => (Some(*matches), None),
            Err(error) => (None, Some(error)),
        };
        json!({"criterion": step.criterion, "wanted": step.wanted, "matches": matches, "error": error})
    });
    let bodies = explanation.bodies.iter().map(|body| {
        let steps = body.steps.iter().map(|step| {
            let (outcome, error) = word(&step.outcome);
            let values = step.values.iter().map(|(name, value)| (name.clone(), json!(value)));
            json!({
                "place": step.place, "expression": step.text, "outcome": outcome, "error": error,
                "values": serde_json::Map::from_iter(values),
            })
        });
        let steps: Vec<_> = steps.collect();
        let mut fields = json!({"place": body.place, "name": body.name, "steps": steps});
        let held = if body.kind == BodyKind::Check { "violated" } else { "held" };
        fields.as_object_mut().map(|fields| fields.insert(held.to_owned(), body.held.into()));
        fields
    });
    json!({
        "constraint": constraint.constraint.id.to_string(), "engine": explanation.engine,
        "object": {"apiVersion": object.api_version(), "kind": object.kind(), "namespace": object.namespace(), "name": object.name()},
        "source": {"file": subject.place.file.display().to_string(), "line": subject.place.line},
        "matches": explanation.matches(), "matching": matching.collect::<Vec<_>>(),
        "violated": explanation.bodies.iter().any(BodyTrace::is_violation), "bodies": bodies.collect::<Vec<_>>(),
    })
}

/// The outcome as a word, and the error where it is one.
pub(super) fn word(outcome: &ExpressionOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        ExpressionOutcome::Held => ("held", None),
        ExpressionOutcome::Failed => ("failed", None),
        ExpressionOutcome::Error(error) => ("error", Some(error)),
        ExpressionOutcome::NotReached => ("not-reached", None),
    }
}

#[cfg(test)]
mod tests;
