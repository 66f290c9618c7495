//! Conditions of any type, judged by their names.
//!
//! `True` is good for most: `Available`, `Established`. It is bad for names with bad news (`ReplicaFailure`, `KernelDeadlock`,
//! `NotReady`), and it means work for names that say an activity (`RollingOut`, `Deleting`). Of other names it is not known
//! whether `False` is bad, so a condition that sums the object up decides:
//!
//! ```text
//! Ready=True   PublicAddress=False     well: some are False in all its life
//! Ready=False  PublicAddress=False     both are awaited
//!              PublicAddress=False     awaited
//! ```

use serde_json::Value;

use super::{About, Diagnostic, Level, generation_of, observed_generation, text};

/// Beginnings of words that are bad news while a condition with them is true, and what that means: that something failed, or
/// that it takes longer.
const BAD_NEWS: [(Level, &[&str]); 2] = [
    (
        Level::Blocking,
        &[
            "Aborted",
            "BackOff",
            "Backoff",
            "Blocked",
            "Broken",
            "Canceled",
            "Cancelled",
            "Conflict",
            "Corrupt",
            "Crash",
            "Deadlock",
            "Degraded",
            "Denied",
            "Error",
            "Exceeded",
            "Expired",
            "Failed",
            "Failing",
            "Failure",
            "Faulted",
            "Forbidden",
            "Invalid",
            "Lost",
            "Problem",
            "Readonly",
            "Refused",
            "Rejected",
            "Stalled",
            "TimedOut",
            "Timeout",
            "Unauthorized",
            "Unhealthy",
            "Unreachable",
        ],
    ),
    (
        Level::Waiting,
        &[
            "Cordoned",
            "Disconnected",
            "DisruptionTarget",
            "Drift",
            "Evicted",
            "FreezeScheduled",
            "Frequent",
            "InProgress",
            "Insufficient",
            "Limited",
            "Mismatch",
            "Missing",
            "Orphaned",
            "OutOf",
            "Outdated",
            "Overloaded",
            "Paused",
            "Pending",
            "Preempted",
            "PreemptScheduled",
            "Pressure",
            "Quarantined",
            "RebootRequired",
            "RebootScheduled",
            "RedeployScheduled",
            "Remaining",
            "RestartRequired",
            "Stale",
            "Suspended",
            "TerminateScheduled",
            "Throttled",
            "Unavailable",
            "Unknown",
            "Unschedulable",
            "VMEvent",
        ],
    ),
];
/// Words that turn the rest of a name round: `NotReady`, `NonStructuralSchema`, and `NoErrors`.
const NEGATIONS: [&str; 3] = ["No", "Non", "Not"];
/// Activities whose names do not end with `ing`.
const ACTIVITIES: [&str; 3] = ["RollingOut", "ScalingUp", "ScalingDown"];
/// Activities that are meant to last.
const STEADY: [&str; 5] = ["Archiving", "Listening", "Running", "Serving", "Streaming"];
/// Endings of names that are for information.
const REMARKS: [&str; 2] = ["Deprecated", "Warning"];
/// Conditions that sum the others up.
const SUMMARIES: [&str; 7] =
    ["Available", "Complete", "Completed", "Finished", "Healthy", "Ready", "Succeeded"];

/// The conditions of an object, also those in lists of its status, each with the place of such a list: `parents[0] `, as a
/// route has them.
pub(super) fn lists<'a>(object: &'a Value) -> Vec<(String, Vec<&'a Value>)> {
    fn named(list: &Value) -> Vec<&Value> {
        let is_named = |condition: &&Value| text(condition, "/type").is_some_and(|name| !name.is_empty());
        list.as_array().into_iter().flatten().filter(is_named).collect()
    }
    let own = object.pointer("/status/conditions").map(|list| (String::new(), named(list)));
    let fields = object.get("status").and_then(Value::as_object).into_iter().flatten();
    let nested =
        fields.filter_map(|(field, value)| Some((field, value.as_array()?))).flat_map(|(field, items)| {
            let place = move |(index, item): (usize, &'a Value)| {
                Some((format!("{field}[{index}] "), named(item.get("conditions")?)))
            };
            items.iter().enumerate().filter_map(place)
        });
    own.into_iter().chain(nested).collect()
}

/// The conditions of all lists.
pub(super) fn all(object: &Value) -> impl Iterator<Item = &Value> {
    lists(object).into_iter().flat_map(|(_, conditions)| conditions)
}

/// A diagnostic for each condition; what is as it should be is a note.
pub(super) fn conditions(object: &Value) -> Vec<Diagnostic> {
    let (generation, is_observed) = (generation_of(object), is_observed(object));
    let of_list = |(place, list): (String, Vec<&Value>)| {
        let is_well = is_observed && is_summed_up(&list, generation);
        let found = list.into_iter().map(|condition| {
            let sentence = sentence(condition, generation);
            Diagnostic::new(
                level(condition, generation, is_well),
                About::Condition,
                format!("{place}{sentence}"),
            )
        });
        found.collect::<Vec<_>>()
    };
    lists(object).into_iter().flat_map(of_list).collect()
}

/// True if the object says of itself that it is well.
pub(in crate::progress) fn is_well(object: &Value) -> bool {
    let own = lists(object).into_iter().find(|(place, _)| place.is_empty());
    is_observed(object) && own.is_some_and(|(_, list)| is_summed_up(&list, generation_of(object)))
}

/// False where the status says that it is about another generation.
fn is_observed(object: &Value) -> bool {
    let generation = generation_of(object);
    observed_generation(object)
        .is_none_or(|observed| generation.is_none_or(|generation| generation == observed))
}

/// Bad news of a name, such as that of a condition or of a phase; a phase is not always written like a name.
pub(super) fn bad_news(name: &str) -> Option<Level> {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let found = BAD_NEWS.iter().find(|(_, words)| has(words)).map(|(level, _)| *level);
    let negates = |word: &&str| name.split(*word).skip(1).any(|rest| rest.starts_with(char::is_uppercase));
    match (NEGATIONS.iter().any(negates), found) {
        (false, found) => found,
        (true, None) => Some(Level::Waiting),
        (true, Some(_)) => None,
    }
}

/// True if there are conditions that sum the others up, all of them are `True`, and they are about this generation.
fn is_summed_up(list: &[&Value], generation: Option<i64>) -> bool {
    let is_summary = |condition: &&Value| SUMMARIES.contains(&text(condition, "/type").unwrap_or_default());
    let is_true = |condition: &Value| {
        text(condition, "/status") == Some("True") && outdated(condition, generation).is_none()
    };
    let mut summaries = list.iter().copied().filter(is_summary).peekable();
    summaries.peek().is_some() && summaries.all(is_true)
}

/// The generation that a condition is about, where that is not the object's.
fn outdated(condition: &Value, generation: Option<i64>) -> Option<i64> {
    let observed = condition.get("observedGeneration").and_then(Value::as_i64)?;
    generation.filter(|generation| *generation != observed).map(|_| observed)
}

fn level(condition: &Value, generation: Option<i64>, is_well: bool) -> Level {
    let of = |field: &str| text(condition, field).unwrap_or_default();
    let (kind, reason) = (of("/type"), of("/reason"));
    let is_steady = STEADY.iter().any(|steady| kind.ends_with(steady));
    let is_activity = kind.ends_with("ing") && !is_steady || ACTIVITIES.contains(&kind);
    let bad = bad_news(kind).or(is_activity.then_some(Level::Waiting));
    // Argo CD has conditions without a status: that they are there is what they say.
    let status = match of("/status") {
        "" if bad.is_some() => "True",
        status => status,
    };
    // A Deployment says True when it is complete and False when it gave up; others say False when there is nothing to do.
    let gave_up = ["Deadline", "Error", "Failed"].iter().any(|part| reason.contains(part));
    match (bad, status) {
        _ if REMARKS.iter().any(|ending| kind.ends_with(ending)) => Level::Note,
        (_, "False") if kind == "Progressing" && gave_up => Level::Waiting,
        _ if kind == "Progressing" => Level::Note,
        (Some(bad), "True") => bad,
        (Some(_), "False") => Level::Note,
        (Some(_), _) => Level::Waiting,
        (None, "True") if outdated(condition, generation).is_some() => Level::Waiting,
        (None, "True") => Level::Note,
        (None, _) if is_well && !SUMMARIES.contains(&kind) => Level::Note,
        (None, _) => Level::Waiting,
    }
}

/// `Available=False MinimumReplicasUnavailable since 2026-01-01T00:00:00Z: Deployment does not have minimum availability.`
fn sentence(condition: &Value, generation: Option<i64>) -> String {
    let part = |name: &str, before: &str| {
        let value = text(condition, name).filter(|value| !value.is_empty());
        value.map_or_else(String::new, |value| format!("{before}{value}"))
    };
    let outdated = outdated(condition, generation).zip(generation);
    let outdated = outdated
        .map_or_else(String::new, |(observed, now)| format!(" (about generation {observed}, not {now})"));
    format!(
        "{}{}{outdated}{}{}{}",
        part("/type", ""),
        part("/status", "="),
        part("/reason", " "),
        part("/lastTransitionTime", " since "),
        part("/message", ": ")
    )
}
