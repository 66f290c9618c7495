//! Explanations for people.
//!
//! ```text
//! Deployment default/web (web.yaml:1) and K8sReplicas/three:
//!   matches: kinds, namespaces
//!   violation at template:5:1 holds: this is a violation
//!     yes  count := input.review.object.spec.replicas
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

use constraint_framework::driver::{BodyKind, BodyTrace, ExpressionOutcome, ExpressionTrace};
use constraint_framework::policyset::Explanation;

use crate::cli::color::{Color, Stream, paint};
use crate::cli::native;

use super::{Explained, word};

/// All explanations, an empty line between them.
pub(in crate::cli) fn render(explained: &[Explained<'_>]) -> String {
    explained.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// One explanation.
pub(in crate::cli) fn one(explained: &Explained<'_>) -> String {
    let Explained { subject, object, constraint, explanation } = explained;
    let name = match (&subject.resource, object.namespace()) {
        (Some(_), _) => format!("{} {}", subject.type_name(), subject.full_name()),
        (None, "") => format!("{} {}", object.kind(), object.name()),
        (None, namespace) => format!("{} {namespace}/{}", object.kind(), object.name()),
    };
    let id = &constraint.constraint.id;
    format!("{name} ({}) and {id}:\n{}", subject.place, inner(explanation))
}

/// Prints what matched, and the policy body by body.
pub(in crate::cli) fn inner(explanation: &Explanation) -> String {
    let mut text = String::new();
    if explanation.matching.is_empty() {
        text.push_str("  matches: the constraint has no spec.match\n");
    }
    let block = if explanation.engine == native::KIND { "spec" } else { "spec.match" };
    for step in &explanation.matching {
        let outcome = match &step.outcome {
            Ok(true) => paint("matches", Color::Green, Stream::Out),
            Ok(false) => paint("does not match", Color::Yellow, Stream::Out),
            Err(error) => paint(&format!("cannot be decided: {error}"), Color::Red, Stream::Out),
        };
        let _ = writeln!(text, "  {block}.{} {outcome}: {}", step.criterion, step.wanted);
    }
    if explanation.bodies.is_empty() && explanation.matches() {
        text.push_str("  the policy cannot be explained\n");
    }
    shown(&explanation.bodies).into_iter().for_each(|each| body(each, &mut text));
    text
}

/// The bodies that decide, and behind them the rules that an expression refers to which does not hold, or holds for a `not`.
fn shown(bodies: &[BodyTrace]) -> Vec<&BodyTrace> {
    let (mut shown, mut rest): (Vec<_>, Vec<_>) = bodies.iter().partition(|body| body.kind != BodyKind::Rule);
    let mut position = 0;
    while let Some(body) = shown.get(position) {
        let names: BTreeSet<&str> = body.steps.iter().filter(decides).flat_map(named).collect();
        let (more, others) = rest
            .into_iter()
            .partition(|rule: &&BodyTrace| !rule.steps.is_empty() && names.contains(rule.name.as_str()));
        let more: Vec<_> = more;
        shown.extend(more);
        rest = others;
        position = position.saturating_add(1);
    }
    shown
}

fn decides(step: &&ExpressionTrace) -> bool {
    match step.outcome {
        ExpressionOutcome::Held => step.text.starts_with("not "),
        ExpressionOutcome::NotReached => false,
        _ => true,
    }
}

fn named(step: &ExpressionTrace) -> impl Iterator<Item = &str> {
    step.values.iter().filter_map(|(name, _)| name.split('.').next())
}

fn body(body: &BodyTrace, text: &mut String) {
    let verdict = match (body.kind, body.held) {
        (BodyKind::Check, true) => paint("is violated", Color::Red, Stream::Out),
        (BodyKind::Check, false) => paint("finds nothing", Color::Green, Stream::Out),
        (_, true) => "holds".to_owned(),
        (_, false) => "does not hold".to_owned(),
    };
    let _ = writeln!(text, "  {} at {} {verdict}", body.name, body.place);
    body.steps.iter().for_each(|each| step(each, text));
}

fn step(step: &ExpressionTrace, text: &mut String) {
    let (_, error) = word(&step.outcome);
    let mark = match step.outcome {
        ExpressionOutcome::Held => paint("holds      ", Color::Green, Stream::Out),
        ExpressionOutcome::Failed => paint("fails      ", Color::Red, Stream::Out),
        ExpressionOutcome::Error(_) => paint("error      ", Color::Red, Stream::Out),
        ExpressionOutcome::NotReached => paint("not reached", Color::Dim, Stream::Out),
    };
    let mut lines = step.text.lines();
    let _ = writeln!(text, "    {mark}  {}", lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(text, "                 {}", line.trim_start());
    }
    if let Some(error) = error {
        let _ = writeln!(text, "                 {error}");
    }
    for (name, value) in &step.values {
        let _ = writeln!(
            text,
            "                 {}",
            paint(&format!("{name} = {value}"), Color::Dim, Stream::Out)
        );
    }
}
