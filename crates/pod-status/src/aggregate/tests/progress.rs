//! `Reconciling`, `Stalled` and `summary`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};

use super::*;
use crate::progress::is_reason;

const PROGRESS: [&str; 2] = ["Reconciling", "Stalled"];

/// The result of kstatus for a custom resource of this generation with a status.
fn kstatus(generation: i64, status: &Value) -> &'static str {
    if status.get("observedGeneration").is_some_and(|observed| *observed != generation) {
        return "InProgress";
    }
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |condition: &Value, type_: &str| condition["type"] == type_ && condition["status"] == "True";
    for condition in conditions {
        if is(condition, "Reconciling") {
            return "InProgress";
        }
        if is(condition, "Stalled") {
            return "Failed";
        }
    }
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    if ready.is_none_or(|ready| ready["status"] == "True") { "Current" } else { "InProgress" }
}

/// `Reconciling` or `Stalled`, with its reason and message.
fn progress(status: &Map<String, Value>) -> Option<(&'static str, String, String)> {
    let mut found = PROGRESS.into_iter().filter_map(|type_| {
        let Condition { status, reason, message, .. } = present(status, type_)?;
        assert_eq!(status, "True", "{type_} is present while it is true");
        Some((type_, reason, message))
    });
    let first = found.next();
    assert_eq!(found.next(), None, "never both");
    first
}

fn failure(class: ErrorClass) -> Vec<PodError> {
    vec![PodError::new("ingest_error", "no").class(class)]
}

/// Pods with the operation `webhook`, and what each has reported about generation 2: nothing, or its errors.
fn pods(reports: &[Option<Vec<PodError>>]) -> (Vec<Member>, Vec<Reported>) {
    let names = ["a", "b", "c"].into_iter().zip(reports);
    let members: Vec<Member> = names.map(|(id, _)| member(id, "i0", &["webhook"])).collect();
    let reported = members.iter().zip(reports).filter_map(|(member, errors)| {
        let entry = Entry::new(key("u0"), 2).errors(errors.clone()?);
        Some(Reported::new(member.clone(), entry.detail(json!({"enforced": true}))))
    });
    let reported = reported.collect();
    (members, reported)
}

/// The lists in which conditions are stored: merged by type, and atomic.
fn stored(is_map: bool, status: Value) -> Stored {
    let keys = status["conditions"].as_array().into_iter().flatten();
    let keys = keys.map(|condition| (format!("k:{}", json!({"type": condition["type"]})), json!({})));
    let keys = Value::Object(keys.filter(|_| is_map).collect());
    Stored::of(status, &[owner("us", keys)], "us")
}

fn owner(manager: &str, conditions: Value) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        manager: Some(manager.into()),
        operation: Some("Apply".into()),
        fields_v1: Some(FieldsV1(json!({"f:status": {"f:conditions": conditions}}))),
        ..ManagedFieldsEntry::default()
    }
}

fn written(decision: Decision) -> Map<String, Value> {
    match decision {
        Decision::Write(status) => status,
        Decision::Unchanged => panic!("something is to be written"),
    }
}

#[test]
fn kstatus_takes_a_parent_for_in_progress_failed_or_current_exactly_when_it_is() {
    let (good, retried, failed) = (vec![], failure(ErrorClass::Transient), failure(ErrorClass::Permanent));
    let both = [retried.clone(), failed.clone()].concat();
    let audit = member("a", "i0", &["audit"]);
    let audited = vec![Reported::new(audit.clone(), Entry::new(key("u0"), 2))];
    let idle = Entry::new(key("u0"), 2).detail(json!({"enforced": false}));
    let webhook = member("a", "i0", &["webhook"]);
    let cases = [
        ("no pod has registered", pods(&[]), "InProgress", "NoPods"),
        ("no pod has reported", pods(&[None, None]), "InProgress", "WaitingForPods"),
        ("one is waited for", pods(&[Some(good.clone()), None]), "InProgress", "WaitingForPods"),
        ("one retries", pods(&[Some(good.clone()), Some(retried.clone())]), "InProgress", "IngestRetried"),
        (
            "one retries, one is waited for",
            pods(&[Some(retried.clone()), None]),
            "InProgress",
            "IngestRetried",
        ),
        ("one has failed", pods(&[Some(good.clone()), Some(failed.clone())]), "Failed", "IngestError"),
        (
            "one retries, one has failed",
            pods(&[Some(retried), Some(failed.clone())]),
            "Failed",
            "IngestError",
        ),
        ("of one error it retries, of another not", pods(&[Some(both)]), "Failed", "IngestError"),
        ("one has failed, one is waited for", pods(&[Some(failed), None]), "Failed", "IngestError"),
        ("no pod can enforce", (vec![audit], audited), "InProgress", "NoEnforcementPoint"),
        (
            "it is not enforced",
            (vec![webhook.clone()], vec![Reported::new(webhook, idle)]),
            "InProgress",
            "NotEnforcing",
        ),
        ("all enforce it", pods(&[Some(good.clone()), Some(good)]), "Current", ""),
    ];
    for (name, (members, reported), expected, reason) in cases {
        let shape = shape(Some("enforced"));
        let parent = Parent::new(key("u0"), 2);
        let status = written(aggregate(&shape, &parent, &members, &reported, &at(1)));
        assert_eq!(kstatus(2, &Value::Object(status.clone())), expected, "{name}");
        assert_eq!(kstatus(3, &Value::Object(status.clone())), "InProgress", "{name}, edited");
        let type_ = match expected {
            "InProgress" => Some("Reconciling"),
            "Failed" => Some("Stalled"),
            _ => None,
        };
        let progress = progress(&status);
        assert_eq!(progress.as_ref().map(|(type_, ..)| *type_), type_, "{name}");
        assert_eq!(progress.map_or_else(String::new, |(_, reason, _)| reason), reason, "{name}");
    }
    assert_eq!(kstatus(1, &Value::Null), "Current", "for which there is the default in the schema:");
    assert_eq!(kstatus(1, &json!({"observedGeneration": -1})), "InProgress");
}

/// The verdict of kstatus, `Enforced` and `Ready` with the reason of the former, and the progress; pods say these words about
/// generation 2.
fn of_words(words: &[&str]) -> (&'static str, String, Option<&'static str>) {
    let shape = shape(Some("enforced")).idle_reason("/why").idle_until_changed("/word", "never");
    let shape = shape.nothing_to_enforce("/word", "nothing");
    let members: Vec<Member> = (0..words.len()).map(|n| member(&n.to_string(), "i0", &["webhook"])).collect();
    let reported = members.iter().zip(words).map(|(member, word)| {
        let detail = json!({"enforced": *word == "yes", "word": word, "why": format!("because {word}")});
        Reported::new(member.clone(), Entry::new(key("u0"), 2).detail(detail))
    });
    let reported: Vec<_> = reported.collect();
    let status = written(aggregate(&shape, &Parent::new(key("u0"), 2), &members, &reported, &at(1)));
    let enforced = condition(&status, "Enforced");
    let claims = format!("{} {} {}", enforced.status, condition(&status, "Ready").status, enforced.reason);
    let progress = progress(&status).map(|(type_, ..)| type_);
    (kstatus(2, &Value::Object(status)), claims, progress)
}

#[test]
fn a_pod_that_will_never_enforce_stalls_and_one_with_nothing_to_enforce_is_done() {
    for (words, verdict, claims, progress) in [
        (&["yes", "yes"][..], "Current", "True True EnforcedByAllPods", None),
        (&["yes", "later"], "InProgress", "False False NotEnforcing", Some("Reconciling")),
        (&["yes", "never"], "Failed", "False False NotEnforcing", Some("Stalled")),
        (&["later", "never"], "Failed", "False False NotEnforcing", Some("Stalled")),
        (&["nothing", "nothing"], "Current", "False True NothingToEnforce", None),
        (&["nothing", "later"], "InProgress", "False False NotEnforcing", Some("Reconciling")),
    ] {
        assert_eq!(of_words(words), (verdict, claims.to_owned(), progress), "{words:?}");
    }
}

/// `Reconciling` or `Stalled`, and its reason, of a rollout whose pod `b` has not ingested generation 2 after 70 seconds.
fn overdue(rollout: Rollout, b: Option<Vec<PodError>>, fence: Option<u64>) -> (&'static str, String) {
    let (mut members, mut reported) = pods(&[Some(vec![]), b]);
    let fenced = |member: &mut Member| member.ttl_seconds = fence;
    members.iter_mut().chain(reported.iter_mut().map(|report| &mut report.member)).for_each(fenced);
    let parent = Parent { waited: Duration::from_secs(70), ..Parent::new(key("u0"), 2) };
    let shape = shape(None).rollout(rollout).missing(MissingSemantics::Looser);
    let status = written(aggregate(&shape, &parent, &members, &reported, &at(1)));
    let (type_, reason, message) = progress(&status).unwrap();
    let explained = if reason == "IngestError" { "Ingested" } else { "Ready" };
    let explained = condition(&status, explained);
    assert_eq!((reason.as_str(), message), (explained.reason.as_str(), explained.message));
    (type_, reason)
}

#[test]
fn a_rollout_is_stalled_when_it_is_held_after_its_deadline_or_a_pod_has_failed() {
    let time = Duration::from_secs(60);
    let (hold, activate) = (Deadline::Hold(time), Deadline::Activate(time));
    let coordinated = |deadline| Rollout::Coordinated { deadline };
    let strict = |deadline| Rollout::Strict { deadline };
    let (retried, failed) = (Some(failure(ErrorClass::Transient)), Some(failure(ErrorClass::Permanent)));
    let later = Deadline::Hold(Duration::from_secs(600));
    for (rollout, b, fence, expected) in [
        (coordinated(hold), None, None, ("Stalled", "DeadlineExceeded")),
        (coordinated(hold), retried.clone(), None, ("Stalled", "DeadlineExceeded")),
        (coordinated(hold), failed.clone(), None, ("Stalled", "IngestError")),
        (coordinated(later), None, None, ("Reconciling", "WaitingForPods")),
        (coordinated(later), failed.clone(), None, ("Stalled", "IngestError")),
        (coordinated(Deadline::Never), None, None, ("Reconciling", "WaitingForPods")),
        (coordinated(activate), None, None, ("Reconciling", "DeadlineActivated")),
        (coordinated(activate), failed, None, ("Stalled", "IngestError")),
        (strict(hold), Some(vec![]), None, ("Stalled", "FenceMissing")),
        (strict(later), Some(vec![]), None, ("Reconciling", "FenceMissing")),
        (strict(hold), retried, Some(60), ("Stalled", "DeadlineExceeded")),
    ] {
        let (type_, reason) = overdue(rollout, b, fence);
        assert_eq!((type_, reason.as_str()), expected, "{rollout:?}");
    }
}

proptest! {
    #[test]
    fn stalled_and_reconciling_exclude_each_other_and_enforced(before in input(), after in input()) {
        let status = after.status(&Value::Object(before.status(&Value::Null)));
        let progress = progress(&status);
        let (enforced, ready) = (condition(&status, "Enforced"), condition(&status, "Ready"));
        prop_assert_eq!(progress.is_none(), enforced.status == "True");
        prop_assert_eq!(ready.status == "True", enforced.status == "True" && progress.is_none());
        prop_assert_eq!(progress.is_none(), kstatus(after.parent.generation, &Value::Object(status.clone())) == "Current");
        if let Some((type_, reason, message)) = progress {
            prop_assert!(is_reason(&reason), "{reason}");
            prop_assert_eq!(type_ == "Stalled", condition(&status, "Ingested").reason == "IngestError");
            let says = |explained: Condition| explained.reason == reason && explained.message == message;
            prop_assert!(["Ingested", "Ready"].into_iter().any(|explained| says(condition(&status, explained))));
            prop_assert_eq!(condition(&status, type_).observed_generation, Some(after.parent.generation));
        }
    }

    /// Whatever was stored: after one write there is nothing more to write, and no condition is left of what was before.
    #[test]
    fn one_write_is_enough_in_either_list(before in input(), after in input(), is_map in any::<bool>()) {
        let foreign = json!({
            "type": "Audited", "status": "True", "reason": "R", "message": "", "lastTransitionTime": at(0),
        });
        let mut status = Value::Object(before.status(&Value::Null));
        status["conditions"].as_array_mut().unwrap().push(foreign.clone());
        let mut managed = stored(is_map, status);
        let Parent { key, generation, .. } = after.parent.clone();
        let shape = shape(after.enforced_field.then_some("enforced"));
        let decide = |managed: Stored, time| {
            let parent = Parent { stored: managed, ..Parent::new(key.clone(), generation) };
            aggregate(&shape, &parent, &after.members, &after.reported, &at(time))
        };
        if let Decision::Write(mut new) = decide(managed.clone(), 2) {
            let conditions = new["conditions"].as_array_mut().unwrap();
            if is_map {
                conditions.push(foreign.clone());
            }
            prop_assert!(conditions.contains(&foreign));
            managed = stored(is_map, Value::Object(new));
        }
        let now = managed.status.as_object().unwrap();
        prop_assert_eq!(progress(now).is_none(), condition(now, "Ready").status == "True");
        prop_assert_eq!(decide(managed, 3), Decision::Unchanged);
    }

    #[test]
    fn the_summary_counts_every_member_once(input in input()) {
        let status = input.status(&Value::Null);
        let count = |field: &str| status["summary"][field].as_u64().unwrap();
        let (pods, ingested) = (count("pods"), count("ingested"));
        prop_assert!(ingested.saturating_add(count("failed")) <= pods && count("enforcing") <= ingested);
        prop_assert_eq!(condition(&status, "Ingested").status == "True", pods > 0 && ingested == pods);
        let enforces_all = condition(&status, "Enforced").status == "True";
        prop_assert!(!enforces_all || (ingested == pods && count("enforcing") > 0));
    }
}

#[test]
fn a_condition_that_is_stored_goes_when_its_reason_does() {
    for is_map in [true, false] {
        let mut status = Value::Null;
        let mut seen = Vec::new();
        let (retried, failed) = (failure(ErrorClass::Transient), failure(ErrorClass::Permanent));
        for (time, report) in [(1, failed.clone()), (2, failed), (3, retried), (4, vec![]), (5, vec![])] {
            let (members, mut reported) = pods(&[Some(report)]);
            // The message changes with the second report, and the condition stays.
            reported[0].entry.errors.iter_mut().for_each(|error| error.message = time.to_string());
            let parent = Parent { stored: stored(is_map, status.clone()), ..Parent::new(key("u0"), 2) };
            match aggregate(&shape(None), &parent, &members, &reported, &at(time)) {
                Decision::Write(new) => status = Value::Object(new),
                Decision::Unchanged => assert_eq!(time, 5),
            }
            let object = status.as_object().unwrap();
            let since = |type_: &str| present(object, type_).map(|condition| condition.last_transition_time);
            seen.push((progress(object).map(|(type_, ..)| type_), PROGRESS.into_iter().find_map(since)));
        }
        let stalled = (Some("Stalled"), Some(at(1)));
        let reconciling = (Some("Reconciling"), Some(at(3)));
        assert_eq!(seen, [stalled.clone(), stalled, reconciling, (None, None), (None, None)], "{is_map}");
    }
}

/// A rollback: a release that does not know the condition keeps it in the list, and says that all is well.
#[test]
fn a_condition_that_another_release_has_kept_goes() {
    let (members, reported) = pods(&[Some(failure(ErrorClass::Permanent))]);
    let mut status = Value::Object(written(aggregate(
        &shape(None),
        &Parent::new(key("u0"), 2),
        &members,
        &reported,
        &at(1),
    )));
    for condition in status["conditions"].as_array_mut().unwrap() {
        if condition["type"] != "Stalled" {
            condition["status"] = json!("True");
            condition["reason"] = json!("EnforcedByAllPods");
        }
    }
    let (members, reported) = pods(&[Some(vec![])]);
    let parent = Parent { stored: stored(false, status), ..Parent::new(key("u0"), 2) };
    let status = written(aggregate(&shape(None), &parent, &members, &reported, &at(2)));
    assert_eq!(progress(&status), None);
}

/// The types of the conditions after a decision beside a condition of another manager, all pods having reported `errors`.
fn beside(is_map: bool, foreign: &Value, errors: &[PodError]) -> Vec<String> {
    let (members, reported) = pods(&[Some(errors.to_vec())]);
    let decide = |stored: Stored| {
        let parent = Parent { stored, ..Parent::new(key("u0"), 2) };
        aggregate(&shape(None), &parent, &members, &reported, &at(1))
    };
    let keyed = |condition: &Value| json!({ format!("k:{}", json!({"type": condition["type"]})): {} });
    let managed = |status: Value, ours: &[Value]| {
        let none = json!({});
        let theirs = owner("them", if is_map { keyed(foreign) } else { none });
        let keys = ours.iter().filter(|_| is_map).flat_map(|one| keyed(one).as_object().cloned().unwrap());
        Stored::of(status, &[theirs, owner("us", Value::Object(keys.collect()))], "us")
    };
    let status = json!({"conditions": [foreign]});
    let mut status = written(decide(managed(status, &[])));
    let conditions = status["conditions"].as_array_mut().unwrap();
    let ours: Vec<Value> = conditions.iter().filter(|condition| *condition != foreign).cloned().collect();
    if is_map {
        conditions.insert(0, foreign.clone());
    }
    assert_eq!(conditions.first(), Some(foreign), "it stays as it is");
    let all: Vec<String> = conditions.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(decide(managed(Value::Object(status), &ours)), Decision::Unchanged);
    all
}

#[test]
fn a_condition_of_another_manager_stays_and_ours_does_not_contradict_it() {
    let foreign = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "Frozen", "message": "m"});
    let (good, retried, failed) = (vec![], failure(ErrorClass::Transient), failure(ErrorClass::Permanent));
    for is_map in [true, false] {
        for (type_, status, errors, more) in [
            ("Stalled", "True", &good, [].as_slice()),
            ("Stalled", "True", &failed, &[]),
            ("Stalled", "True", &retried, &[]),
            ("Stalled", "False", &failed, &[]),
            ("Stalled", "False", &retried, &["Reconciling"]),
            ("Reconciling", "True", &failed, &[]),
            ("Reconciling", "False", &failed, &["Stalled"]),
        ] {
            let found = beside(is_map, &foreign(type_, status), errors);
            let ours = [&[type_, "Ingested", "Enforced", "Ready"], more].concat();
            assert_eq!(found, ours, "{type_}={status} beside {errors:?}, {is_map}");
        }
    }
}

#[test]
fn a_summary_is_written_only_for_a_kind_whose_schema_keeps_it() {
    let (members, reported) = pods(&[Some(vec![]), Some(failure(ErrorClass::Permanent)), None]);
    let parent = Parent::new(key("u0"), 2);
    let summary = |shape: &Shape| {
        written(aggregate(shape, &parent, &members, &reported, &at(1))).get("summary").cloned()
    };
    let with = shape(None).by_pod_limit(1);
    let counted = json!({"pods": 3, "ingested": 1, "enforcing": 1, "failed": 1});
    assert_eq!(summary(&with), Some(counted));
    let not_enforced = Shape { enforcing: [].into(), ..with.clone() };
    assert_eq!(summary(&not_enforced), Some(json!({"pods": 3, "ingested": 1, "failed": 1})));
    let without = Shape { summary: false, ..with };
    assert_eq!(summary(&without), None);
    let Decision::Write(status) = aggregate(&without, &parent, &members, &reported, &at(1)) else { panic!() };
    let parent = parent.with_status(Value::Object(status));
    assert_eq!(aggregate(&without, &parent, &members, &reported, &at(2)), Decision::Unchanged);
}
