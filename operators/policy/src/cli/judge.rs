//! Asks a policy set about objects, on all cores, and puts what it finds in the order of `gator test`.

mod times;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::atomic::{self, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

use constraint_framework::api::ConstraintRef;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{
    Action, Document, EnforcementPoint, Review, ReviewSource, Verdict, Violation,
};
use constraint_framework::target::AdmissionTarget;
use rayon::slice::ParallelSliceMut;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::assemble::{Assembly, LoadedConstraint, Subject, Topic, Warning};
use super::manifest::ManifestError;
use super::native;
use super::progress::Progress;
use crate::budget::without_deadline;

use times::ReviewTimes;
pub(super) use times::{Cost, Times};

/// The time for all constraints of one object: a bound that no policy set reaches within their own budgets.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// So many objects are looked at once more without a noticeable delay.
const FEW: usize = 1_000;

/// One violation, and what it is a violation of. Small: there may be hundreds of thousands.
#[derive(Clone, Debug)]
pub(super) struct PlacedViolation<'a> {
    /// The position of the subject among the inputs.
    position: usize,
    pub(super) subject: &'a Subject,
    pub(super) constraint: &'a LoadedConstraint,
    /// The policy's message.
    pub(super) message: Box<str>,
    /// The policy's details.
    pub(super) details: Option<Box<RawValue>>,
    /// The gravest action.
    pub(super) gravity: Gravity,
    /// The action of the ExpansionTemplate that implies it, instead of the constraint's own.
    pub(super) overridden: Option<Action>,
}

/// The gravest action of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gravity {
    /// The command fails.
    Deny,
    /// A warning.
    Warn,
    /// A dry run, or nothing.
    Quiet,
}

impl Gravity {
    fn of(actions: &[Action]) -> Self {
        match native::strongest(actions) {
            Some(Action::Deny) => Self::Deny,
            Some(Action::Warn) => Self::Warn,
            Some(Action::Dryrun) | None => Self::Quiet,
        }
    }
}

impl PlacedViolation<'_> {
    /// The constraint that is violated.
    pub(super) fn id(&self) -> &ConstraintRef {
        &self.constraint.constraint.id
    }

    /// `deny`, `warn`, `dryrun` or `scoped`, as the expansion template or the constraint has it.
    pub(super) fn enforcement_action(&self) -> &str {
        if let Some(action) = self.overridden {
            return action.name();
        }
        self.constraint.enforcement_action()
    }

    /// The actions of a scoped constraint on the command line, in the constraint's order.
    pub(super) fn scoped_actions(&self) -> Option<Vec<&str>> {
        if self.constraint.enforcement_action() != "scoped" {
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

    /// Returns true if the command fails because of it.
    pub(super) fn denies(&self) -> bool {
        self.gravity == Gravity::Deny
    }
}

/// The place of an object that names no namespace: it is not known whether its kind has namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// In no namespace, as a webhook sees a cluster-scoped object: constraints for some namespaces match it.
    Anywhere,
    /// In a namespace without name and labels, as in `gator test`, which also takes `default` to be there.
    Nowhere,
}

/// The options of judging objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgeOptions<'a> {
    pub(super) unplaced: Unplaced,
    /// One after the other, so that what policies print comes in the order of the inputs.
    pub(super) in_turn: bool,
    /// The record of the time that constraints take.
    pub(super) times: Option<&'a Times>,
}

/// The review of an object in a file, with its Namespace where that is in the inventory.
pub(super) fn review_of(
    object: Document,
    source: ReviewSource,
    policies: &PolicySet,
    unplaced: Unplaced,
) -> Review {
    let assumed = match (unplaced, object.namespace()) {
        (Unplaced::Nowhere, "") => Some(json!({})),
        (Unplaced::Nowhere, "default") => {
            Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
        }
        _ => None,
    };
    let assumed = || Document::from_value(&assumed?).ok();
    let namespace = namespace_called(object.namespace(), policies).or_else(assumed);
    let review = AdmissionTarget.object(object, Some(source));
    review.into_builder().namespace_object(namespace).build()
}

/// As [`review_of`], of a subject's object or of one that it generates.
pub(super) fn review_of_subject(
    subject: &Subject,
    object: &Document,
    source: ReviewSource,
    policies: &PolicySet,
    unplaced: Unplaced,
) -> Review {
    // What is parsed for this review goes with it: there may be many objects.
    let object = object.detached();
    match &subject.resource {
        Some(resource) => resource.review(object),
        None => review_of(object, source, policies, unplaced),
    }
}

/// The Namespace of that name, if the inventory has it.
pub(super) fn namespace_called(name: &str, policies: &PolicySet) -> Option<Document> {
    let path = ["cluster", "v1", "Namespace", name].map(str::to_owned);
    policies.inventory(&AdmissionTarget).get(&path)
}

/// Reviews as the command line does.
pub(super) fn verdict(review: &Review, policies: &PolicySet) -> Verdict {
    policies.review(review, EnforcementPoint::GATOR, &without_deadline())
}

fn timed_verdict(review: &Review, policies: &PolicySet, times: Option<&Times>) -> Verdict {
    let (Some(times), Some(deadline)) = (times, Instant::now().checked_add(DAY)) else {
        return verdict(review, policies);
    };
    let mut observer = ReviewTimes::default();
    let budget = without_deadline();
    let verdict = policies.review_observed(review, EnforcementPoint::GATOR, &budget, deadline, &mut observer);
    times.add(observer);
    verdict
}

/// The constraints that look at namespaces or scope, and have nothing to say about an object for the only reason that
/// it names no namespace; with a word about each such object.
pub(super) fn overlooked(assembly: &Assembly) -> Vec<Warning> {
    if !assembly.constraints.values().any(LoadedConstraint::looks_at_namespaces) {
        return Vec::new();
    }
    let unplaced = |subject: &&Subject| {
        subject.resource.is_none() && subject.is_no_policy() && subject.object.namespace().is_empty()
    };
    let subjects = assembly.subjects.iter().filter(unplaced);
    subjects.flat_map(|subject| overlooked_of(assembly, subject)).collect()
}

/// Only the constraints that match in the one place and not in the other are asked.
fn overlooked_of(assembly: &Assembly, subject: &Subject) -> Vec<Warning> {
    let policies = &assembly.policies;
    let [anywhere, nowhere] = [Unplaced::Anywhere, Unplaced::Nowhere].map(|unplaced| {
        let review = review_of(subject.object.detached(), ReviewSource::Original, policies, unplaced);
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
        let diagnostic = ManifestError { place: Some(subject.place.clone()), message };
        Warning { topic: Topic::Unplaced(id.to_string()), diagnostic }
    };
    violated.into_iter().filter(|id| missed.contains(*id)).map(|id| warning(&id)).collect()
}

/// Judges every object. Sorted by action and message, then by the order of the inputs and the constraint.
pub(super) fn judge<'a>(
    assembly: &'a Assembly,
    options: JudgeOptions<'_>,
    progress: &Progress,
) -> Vec<PlacedViolation<'a>> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let cores = if options.in_turn { 1 } else { cores };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let position = next.fetch_add(1, atomic::Ordering::Relaxed);
            let Some(subject) = assembly.subjects.get(position) else {
                return found;
            };
            found.extend(violations(assembly, position, subject, options));
            progress.advance();
        }
    };
    let mut found = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(assembly.subjects.len())).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let append = |mut all: Vec<_>, part| {
            all.extend(part);
            all
        };
        joined.reduce(append).unwrap_or_default()
    });
    // On all cores: a thread that found more than the others would sort it alone.
    found.par_sort_by(in_order);
    found
}

/// Returns how many constraints match none of the objects. `None` where there are too many objects to look at all of
/// them again.
///
/// Those that are violated are not asked. Bindings of Kubernetes' own policies count as matching.
pub(super) fn idle(assembly: &Assembly, violations: &[PlacedViolation<'_>]) -> Option<usize> {
    if assembly.subjects.len() > FEW {
        return None;
    }
    let policies = &assembly.policies;
    let own = assembly.constraints.keys().filter(|id| id.kind != native::KIND);
    let mut idle: BTreeSet<_> = own.cloned().collect();
    for violation in violations {
        idle.remove(violation.id());
    }
    for subject in &assembly.subjects {
        let implied = subject.resultants.iter().map(|resultant| (&resultant.object, ReviewSource::Generated));
        for (object, source) in std::iter::once((&subject.object, ReviewSource::Original)).chain(implied) {
            if idle.is_empty() {
                return Some(0);
            }
            let review = review_of_subject(subject, object, source, policies, Unplaced::Nowhere);
            for id in policies.matching(&review, EnforcementPoint::GATOR) {
                idle.remove(&id);
            }
        }
    }
    Some(idle.len())
}

/// By action and message, then by the position of the object and the constraint.
fn in_order(one: &PlacedViolation<'_>, other: &PlacedViolation<'_>) -> Ordering {
    let by_action = one.enforcement_action().cmp(other.enforcement_action());
    let by_message = || one.message.cmp(&other.message);
    let by_position = || one.position.cmp(&other.position);
    by_action.then_with(by_message).then_with(by_position).then_with(|| one.id().cmp(other.id()))
}

fn violations<'a>(
    assembly: &'a Assembly,
    position: usize,
    subject: &'a Subject,
    options: JudgeOptions<'_>,
) -> Vec<PlacedViolation<'a>> {
    let judged = |object: &Document, source| {
        let review = review_of_subject(subject, object, source, &assembly.policies, options.unplaced);
        let own = timed_verdict(&review, &assembly.policies, options.times);
        if subject.resource.is_some() {
            return own;
        }
        let native = assembly.native.violations(review.object().unwrap_or(object), review.namespace_object());
        if native.is_empty() {
            return own;
        }
        Verdict::new(own.violations().iter().cloned().chain(native).collect())
    };
    let own = judged(&subject.object, ReviewSource::Original);
    let implied = subject.resultants.iter().map(|resultant| {
        let verdict = resultant.attribute(&judged(&resultant.object, ReviewSource::Generated));
        (verdict, resultant.enforcement_action)
    });
    let mut found = Vec::new();
    for (verdict, overridden) in std::iter::once((own, None)).chain(implied) {
        let violation = |violation: &Violation| {
            let constraint = assembly.constraints.get(&violation.constraint)?;
            let details = violation.details.as_ref().and_then(|details| to_raw_value(details).ok());
            let (message, gravity) = (violation.message.as_str().into(), Gravity::of(&violation.actions));
            // A binding that cannot be configured denies, whatever it does about violations.
            let own =
                native::strongest(&violation.actions).filter(|_| violation.constraint.kind == native::KIND);
            let overridden = overridden.or(own);
            Some(PlacedViolation { position, subject, constraint, message, details, gravity, overridden })
        };
        found.extend(verdict.violations().iter().filter_map(violation));
    }
    found
}

#[cfg(test)]
mod tests;
