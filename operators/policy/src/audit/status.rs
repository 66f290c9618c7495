//! The audit's part of a constraint's status: Gatekeeper's fields, and the condition `Audited`.

use constraint_framework::api::StatusViolation;
use serde_json::{Map, Value, json};

use super::ledger::Report;
use super::messages::cut;

/// Longer messages are cut, as Gatekeeper does; the status of a constraint is one object in etcd.
const LONGEST: usize = 256;
/// The actions that are counted. All are written, so that none is left over.
const ACTIONS: [&str; 3] = ["deny", "dryrun", "warn"];
/// The kinds that a condition names.
const NAMED: usize = 5;

/// The type of the condition.
pub(super) const AUDITED: &str = "Audited";

/// The fields that the audit writes, without times.
pub(super) fn fields(report: &Report) -> Map<String, Value> {
    let violations = report.shown.iter().map(|(place, message)| {
        let scoped = report.definition.action == "scoped";
        json!(StatusViolation {
            group: place.kind.group.clone(),
            version: place.kind.version.clone(),
            kind: place.kind.kind.clone(),
            name: place.name().to_owned(),
            namespace: place.namespace().to_owned(),
            message: cut(message, LONGEST),
            enforcement_action: report.definition.action.to_owned(),
            enforcement_actions: match scoped {
                true => report.definition.actions.iter().map(|&action| action.to_owned()).collect(),
                false => Vec::new(),
            },
        })
    });
    let count = |action: &&str| match report.definition.actions.contains(action) {
        true => report.total,
        false => 0,
    };
    let counts: Map<_, _> =
        ACTIONS.iter().map(|action| ((*action).to_owned(), json!(count(action)))).collect();
    Map::from_iter([
        ("totalViolations".to_owned(), json!(report.total)),
        ("totalViolationsPerEnforcementAction".to_owned(), Value::Object(counts)),
        ("violations".to_owned(), violations.collect()),
    ])
}

/// The condition, without its time of transition.
pub(super) fn condition(report: &Report) -> Map<String, Value> {
    let (status, reason, message) = verdict(report);
    Map::from_iter([
        ("type".to_owned(), json!(AUDITED)),
        ("status".to_owned(), json!(status)),
        ("reason".to_owned(), json!(reason)),
        ("message".to_owned(), json!(message)),
        ("observedGeneration".to_owned(), json!(report.definition.generation)),
    ])
}

fn verdict(report: &Report) -> (&'static str, &'static str, String) {
    if !report.missing.is_empty() {
        let mut named: Vec<_> =
            report.missing.iter().map(|missing| format!("{}: {}", missing.kind, missing.reason)).collect();
        let more = named.len().saturating_sub(NAMED);
        named.truncate(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        return ("False", "KindsMissing", format!("not audited: {}{more}", named.join("; ")));
    }
    if report.definition.actions.is_empty() {
        let message = "the constraint names other enforcement points than audit.gatekeeper.sh";
        return ("False", "NotForAudit", message.to_owned());
    }
    let kinds = match report.definition.kinds.len() {
        0 => {
            let message = "the API server serves no kind that the constraint can match";
            return ("True", "NothingToAudit", message.to_owned());
        }
        1 => "1 kind".to_owned(),
        count => format!("{count} kinds"),
    };
    let inventory = match report.definition.reads_whole_kinds {
        true => ", and all of them when data.inventory does, at most every 10 s",
        false => "",
    };
    ("True", "FollowsChanges", format!("the objects of {kinds} are judged when they change{inventory}"))
}

/// Returns true if a stored status says the same already.
pub(super) fn is_stored(status: &Value, report: &Report) -> bool {
    let stored = |(name, value): (&String, &Value)| status.get(name) == Some(value);
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let mut ours = conditions.filter(|condition| condition.get("type") == Some(&json!(AUDITED)));
    let wanted = condition(report);
    let same = |stored: &Value| wanted.iter().all(|(name, value)| stored.get(name) == Some(value));
    fields(report).iter().all(stored) && ours.next().is_some_and(same)
}
