//! Asks a policy set about objects, on all cores, and puts what it finds in the order of `gator test`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use constraint_framework::api::ConstraintRef;
use constraint_framework::driver::Budget;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{
    Action, Document, EnforcementPoint, Review, ReviewSource, Verdict, Violation,
};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value, json};

use super::assemble::{Assembly, LoadedConstraint, Problem, Subject, Topic, Warning};
use super::progress::Progress;

/// One violation, and what it is a violation of.
#[derive(Clone, Debug)]
pub(super) struct Offence<'a> {
    pub(super) subject: &'a Subject,
    pub(super) constraint: &'a LoadedConstraint,
    pub(super) violation: Violation,
    /// The action of the ExpansionTemplate that implies it, instead of the constraint's own.
    pub(super) overridden: Option<Action>,
}

impl Offence<'_> {
    /// `deny`, `warn`, `dryrun` or `scoped`, as the expansion template or the constraint has it.
    pub(super) fn enforcement_action(&self) -> &str {
        if let Some(action) = self.overridden {
            return action.name();
        }
        self.written_action()
    }

    fn written_action(&self) -> &str {
        let written = self.constraint.manifest.pointer("/spec/enforcementAction").and_then(Value::as_str);
        written.unwrap_or(Action::Deny.name())
    }

    /// The actions of a scoped constraint on the command line, in the constraint's order.
    pub(super) fn scoped_actions(&self) -> Option<Vec<&str>> {
        if self.written_action() != "scoped" {
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
pub(super) fn overlooked(assembly: &Assembly) -> Vec<Warning> {
    if !assembly.constraints.values().any(LoadedConstraint::looks_at_namespaces) {
        return Vec::new();
    }
    let unplaced = |subject: &&Subject| subject.is_no_policy() && subject.object.namespace().is_empty();
    let subjects = assembly.subjects.iter().filter(unplaced);
    subjects.flat_map(|subject| overlooked_of(assembly, subject)).collect()
}

/// Only the constraints that match in the one place and not in the other are asked.
fn overlooked_of(assembly: &Assembly, subject: &Subject) -> Vec<Warning> {
    let policies = &assembly.policies;
    let [anywhere, nowhere] = [Unplaced::Anywhere, Unplaced::Nowhere].map(|unplaced| {
        let review = review_of(subject.object.detached(), policies, unplaced);
        let matching = policies.matching(&review, EnforcementPoint::GATOR);
        (matching.into_iter().collect::<BTreeSet<_>>(), review)
    });
    let missed: BTreeSet<_> = anywhere.0.difference(&nowhere.0).cloned().collect();
    if missed.is_empty() {
        return Vec::new();
    }
    let verdict = verdict(&anywhere.1, policies);
    let violated: BTreeSet<_> = verdict.violations().iter().map(|violation| &violation.constraint).collect();
    let warning = |id: &&ConstraintRef| {
        let kind = subject.object.kind();
        let message = format!(
            "this {kind} names no namespace, so that {id} does not match it here, as in gator test, and may on a cluster"
        );
        let problem = Problem { place: Some(subject.place.clone()), message };
        Warning { topic: Topic::Unplaced(id.to_string()), problem }
    };
    violated.into_iter().filter(|id| missed.contains(*id)).map(|id| warning(&id)).collect()
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
    let judged = move |object: &Document, source| {
        // What is parsed for this review goes with it: there may be many objects.
        let mut review = review_of(object.detached(), &assembly.policies, unplaced);
        review.source = Some(source);
        let own = verdict(&review, &assembly.policies);
        let native = assembly
            .native
            .violations(review.object.as_ref().unwrap_or(object), review.namespace_object.as_ref());
        if native.is_empty() {
            return own;
        }
        Verdict::new(own.violations().iter().cloned().chain(native).collect())
    };
    let own = judged(&subject.object, ReviewSource::Original);
    let implied = subject.resultants.iter().map(move |resultant| {
        let verdict = resultant.attribute(&judged(&resultant.object, ReviewSource::Generated));
        (verdict, resultant.enforcement_action)
    });
    std::iter::once((own, None)).chain(implied).flat_map(move |(verdict, overridden)| {
        let offence = move |violation: &Violation| {
            let constraint = assembly.constraints.get(&violation.constraint)?;
            Some(Offence { subject, constraint, violation: violation.clone(), overridden })
        };
        verdict.violations().iter().filter_map(offence).collect::<Vec<_>>()
    })
}
