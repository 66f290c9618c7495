//! Asks a policy set about objects, on all cores, and puts what it finds in the order of `gator test`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use constraint_framework::driver::Budget;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{
    Action, Document, EnforcementPoint, Review, ReviewSource, Verdict, Violation,
};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value, json};

use super::assemble::{Assembly, LoadedConstraint, Problem, Subject};
use super::progress::Progress;

/// One violation, and what it is a violation of.
#[derive(Clone, Debug)]
pub(super) struct Offence<'a> {
    pub(super) subject: &'a Subject,
    pub(super) constraint: &'a LoadedConstraint,
    pub(super) violation: Violation,
}

impl Offence<'_> {
    /// `deny`, `warn`, `dryrun` or `scoped`, as the constraint has it.
    pub(super) fn enforcement_action(&self) -> &str {
        let written = self.constraint.manifest.pointer("/spec/enforcementAction").and_then(Value::as_str);
        written.unwrap_or(Action::Deny.name())
    }

    /// The actions of a scoped constraint on the command line, in the constraint's order.
    pub(super) fn scoped_actions(&self) -> Option<Vec<&str>> {
        if self.enforcement_action() != "scoped" {
            return None;
        }
        let entries =
            self.constraint.manifest.pointer("/spec/scopedEnforcementActions").and_then(Value::as_array);
        let here = |entry: &&Value| {
            let points = entry.get("enforcementPoints").and_then(Value::as_array).into_iter().flatten();
            let mut names = points.filter_map(|point| point.get("name")?.as_str());
            names.any(|name| name == "*" || name == EnforcementPoint::GATOR.name())
        };
        let mut actions = Vec::new();
        for action in
            entries.into_iter().flatten().filter(here).filter_map(|entry| entry.get("action")?.as_str())
        {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        Some(actions)
    }

    /// Whether the command fails because of it.
    pub(super) fn denies(&self) -> bool {
        self.violation.actions.contains(&Action::Deny)
    }
}

/// Where an object lies that names no namespace: nobody knows whether its kind has namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// In no namespace, as a webhook sees a cluster-scoped object: constraints for some namespaces match it.
    Anywhere,
    /// In a namespace without name and labels, as in `gator test`, which also takes `default` to be there.
    Nowhere,
}

/// How objects are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) unplaced: Unplaced,
    /// One after the other, so that what policies print comes in the order of the inputs.
    pub(super) in_turn: bool,
}

/// The review of an object in a file, with its Namespace where that is in the inventory.
pub(super) fn review_of(object: Document, policies: &PolicySet, unplaced: Unplaced) -> Review {
    let assumed = match (unplaced, object.namespace()) {
        (Unplaced::Nowhere, "") => Some(json!({})),
        (Unplaced::Nowhere, "default") => {
            Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
        }
        _ => None,
    };
    let assumed = || Document::from_value(&assumed?).ok();
    let namespace = namespace_called(object.namespace(), policies).or_else(assumed);
    let mut review = AdmissionTarget.object(object, Some(ReviewSource::Original));
    review.namespace_object = namespace;
    review
}

/// The Namespace of that name, if the inventory has it.
pub(super) fn namespace_called(name: &str, policies: &PolicySet) -> Option<Document> {
    let path = ["cluster", "v1", "Namespace", name].map(str::to_owned);
    policies.inventory(&AdmissionTarget).get(&path)
}

/// What the command line makes of a review.
pub(super) fn verdict(review: &Review, policies: &PolicySet) -> Verdict {
    policies.review(review, EnforcementPoint::GATOR, &Budget::default())
}

/// The constraints that look at namespaces or scope, and have nothing to say about an object for the only reason that
/// it names no namespace; with a word about each such object.
pub(super) fn overlooked(assembly: &Assembly) -> Vec<Problem> {
    if !assembly.constraints.values().any(LoadedConstraint::looks_at_namespaces) {
        return Vec::new();
    }
    let unplaced = |subject: &&Subject| subject.is_no_policy() && subject.object.namespace().is_empty();
    assembly.subjects.iter().filter(unplaced).filter_map(|subject| overlooked_of(assembly, subject)).collect()
}

fn overlooked_of(assembly: &Assembly, subject: &Subject) -> Option<Problem> {
    let [anywhere, nowhere] = [Unplaced::Anywhere, Unplaced::Nowhere].map(|unplaced| {
        let review = review_of(subject.object.clone(), &assembly.policies, unplaced);
        let verdict = verdict(&review, &assembly.policies);
        verdict.violations().iter().map(|violation| violation.constraint.clone()).collect::<BTreeSet<_>>()
    });
    let names: Vec<_> = anywhere.difference(&nowhere).map(ToString::to_string).collect();
    let kind = subject.object.kind();
    let message = format!(
        "this {kind} names no namespace, so that these do not match it here, as in gator test, and may on a cluster: {}",
        names.join(", ")
    );
    (!names.is_empty()).then(|| Problem { place: Some(subject.place.clone()), message })
}

/// Judges every object. Sorted by action and message, then by the order of the inputs and the constraint.
pub(super) fn judge<'a>(assembly: &'a Assembly, manner: Manner, progress: &Progress) -> Vec<Offence<'a>> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let cores = if manner.in_turn { 1 } else { cores };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(subject) = assembly.subjects.get(position) else {
                return found;
            };
            found.extend(offences(assembly, subject, manner.unplaced).map(|offence| (position, offence)));
            progress.advance();
        }
    };
    let mut found = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(assembly.subjects.len())).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.flatten().collect::<Vec<_>>()
    });
    found.sort_by(|(a, one), (b, other)| {
        let key = |position: usize, offence: &Offence<'_>| {
            (
                offence.enforcement_action().to_owned(),
                offence.violation.message.clone(),
                position,
                offence.violation.constraint.clone(),
            )
        };
        key(*a, one).cmp(&key(*b, other))
    });
    found.into_iter().map(|(_, offence)| offence).collect()
}

fn offences<'a>(
    assembly: &'a Assembly,
    subject: &'a Subject,
    unplaced: Unplaced,
) -> impl Iterator<Item = Offence<'a>> {
    let review = review_of(subject.object.clone(), &assembly.policies, unplaced);
    let violations = verdict(&review, &assembly.policies).violations().to_vec();
    violations.into_iter().filter_map(|violation| {
        let constraint = assembly.constraints.get(&violation.constraint)?;
        Some(Offence { subject, constraint, violation })
    })
}
