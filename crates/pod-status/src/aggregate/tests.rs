//! The aggregation over all small sets of members and reports.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::missing::MissingSemantics;
use crate::parent::{ParentKey, ParentRef};
use crate::readiness::ErrorClass;
use crate::rollout::{Deadline, Rollout};
use crate::stored::Stored;

mod progress;

fn shape(enforced_field: Option<&str>) -> Shape {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Policy"));
    let shape = Shape::new(resource, "policyUID").latch("created").summary();
    let shape = shape.enforced_by(["webhook"]).idle_reason("/why/0");
    Shape { enforced_field: enforced_field.map(Into::into), ..shape }
}

fn key(uid: &str) -> ParentKey {
    ParentKey::new(ParentRef::new("example.com", "Policy", "p"), uid)
}

fn member(id: &str, incarnation: &str, operations: &[&str]) -> Member {
    Member {
        id: id.into(),
        uid: Some(format!("{id}-uid")),
        incarnation: incarnation.into(),
        operations: operations.iter().map(|&operation| operation.into()).collect(),
        ..Member::default()
    }
}

fn at(seconds: i64) -> Time {
    Time(Timestamp::from_second(seconds).unwrap())
}

fn a_run() -> impl Strategy<Value = Member> {
    let operations = subsequence(vec!["audit", "webhook"], 0..=2);
    let run = (select(vec!["a", "b", "c", "d"]), select(vec!["i0", "i1"]), operations, any::<bool>());
    run.prop_map(|(id, incarnation, operations, is_recreated)| {
        let run = member(id, incarnation, &operations);
        // Two pods of a StatefulSet may have the same name.
        if is_recreated { Member { uid: Some("recreated".into()), ..run } } else { run }
    })
}

fn an_entry() -> impl Strategy<Value = Entry> {
    let errors = prop_oneof![
        3 => Just(vec![]),
        1 => Just(vec![PodError::new("", "broken")]),
        1 => Just(vec![PodError::new("", "no answer").class(ErrorClass::Transient)]),
    ];
    let detail =
        select(vec![Value::Null, json!({"enforced": true}), json!({"enforced": false, "id": "forged"})]);
    (select(vec!["u0", "u1"]), 1..4i64, errors, detail).prop_map(|(uid, generation, errors, detail)| {
        Entry::new(key(uid), generation).errors(errors).detail(detail)
    })
}

#[derive(Clone, Debug)]
struct Input {
    members: Vec<Member>,
    reported: Vec<Reported>,
    parent: Parent,
    enforced_field: bool,
}

impl Input {
    fn decide(&self, previous: &Value, now: &Time) -> Decision {
        let shape = shape(self.enforced_field.then_some("enforced"));
        let parent = self.parent.clone().with_status(previous.clone());
        aggregate(&shape, &parent, &self.members, &self.reported, now)
    }

    fn status(&self, previous: &Value) -> Map<String, Value> {
        match self.decide(previous, &at(1)) {
            Decision::Write(status) => status,
            Decision::Unchanged => previous.as_object().cloned().unwrap(),
        }
    }

    /// Returns what each member has reported last about this very object.
    fn newest(&self, member: &Member) -> Option<&Entry> {
        self.reported
            .iter()
            .filter(|report| {
                report.member.is_same_run(member) && report.entry.parent.uid == self.parent.key.uid
            })
            .map(|report| &report.entry)
            .max_by_key(|entry| (entry.generation, entry.errors.len()))
    }
}

fn input() -> impl Strategy<Value = Input> {
    let members = prop::collection::vec(a_run(), 0..5);
    (members, 1..4i64, any::<bool>()).prop_flat_map(|(members, generation, enforced_field)| {
        let mut reporters = members.clone();
        reporters.push(member("stranger", "i0", &["webhook"]));
        let reported = (select(reporters), an_entry()).prop_map(|(member, entry)| Reported { member, entry });
        prop::collection::vec(reported, 0..8).prop_map(move |reported| Input {
            members: members.clone(),
            reported,
            parent: Parent::new(key("u0"), generation),
            enforced_field,
        })
    })
}

fn condition(status: &Map<String, Value>, type_: &str) -> Condition {
    present(status, type_).unwrap()
}

fn present(status: &Map<String, Value>, type_: &str) -> Option<Condition> {
    let conditions: Vec<Condition> = serde_json::from_value(status["conditions"].clone()).unwrap();
    conditions.into_iter().find(|condition| condition.type_ == type_)
}

#[test]
fn of_two_pods_of_one_name_the_one_that_is_behind_is_shown() {
    let old = member("pod-0", "i0", &["webhook"]);
    let new = Member { uid: Some("a-uid-that-sorts-first".into()), incarnation: "i1".into(), ..old.clone() };
    let report = |run: &Member, generation| Reported::new(run.clone(), Entry::new(key("u0"), generation));
    let input = Input {
        members: vec![old.clone(), new.clone()],
        reported: vec![report(&old, 1), report(&new, 2)],
        parent: Parent::new(key("u0"), 2),
        enforced_field: false,
    };
    let status = input.status(&Value::Null);
    assert_eq!(status["byPod"].as_array().unwrap().len(), 1);
    assert_eq!(status["byPod"][0]["observedGeneration"], 1);
    assert_eq!(condition(&status, "Enforced").status, "Unknown");
}

proptest! {
    #[test]
    fn order_and_repetition_do_not_matter(
        (input, shuffled) in input().prop_flat_map(|input| {
            let members = Just([input.members.clone(), input.members.clone()].concat()).prop_shuffle();
            let reported = Just([input.reported.clone(), input.reported.clone()].concat()).prop_shuffle();
            let shuffled = (members, reported, Just(input.clone()))
                .prop_map(|(members, reported, input)| Input { members, reported, ..input });
            (Just(input), shuffled)
        })
    ) {
        prop_assert_eq!(input.decide(&Value::Null, &at(1)), shuffled.decide(&Value::Null, &at(1)));
    }

    #[test]
    fn strangers_and_predecessors_count_for_nothing(input in input()) {
        let mut cleaned = input.clone();
        cleaned.reported.retain(|report| {
            report.entry.parent.uid == "u0"
                && input.members.iter().any(|member| member.is_same_run(&report.member))
        });
        prop_assert_eq!(input.decide(&Value::Null, &at(1)), cleaned.decide(&Value::Null, &at(1)));
    }

    #[test]
    fn entries_are_sorted_by_id_one_per_id_and_cannot_be_forged(input in input()) {
        let status = input.status(&Value::Null);
        let ids: Vec<&str> =
            status["byPod"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        prop_assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        prop_assert!(!ids.contains(&"forged") && !ids.contains(&"stranger"));
    }

    #[test]
    fn enforced_means_that_every_member_said_so(input in input()) {
        let status = input.status(&Value::Null);
        let generation = input.parent.generation;
        let ingested = |member: &Member| {
            input.newest(member).is_some_and(|entry| entry.generation == generation && entry.errors.is_empty())
        };
        let all = !input.members.is_empty() && input.members.iter().all(ingested);
        prop_assert_eq!(condition(&status, "Ingested").status == "True", all);
        let enforced = condition(&status, "Enforced");
        if enforced.status == "True" {
            prop_assert!(all && input.members.iter().any(|member| member.operations.contains("webhook")));
        }
        prop_assert_eq!(condition(&status, "Ready").status, enforced.status);
        for type_ in ["Ingested", "Enforced", "Ready"] {
            prop_assert_eq!(condition(&status, type_).observed_generation, Some(generation));
        }
    }

    #[test]
    fn who_writes_the_entries_does_not_matter_for_the_rest(input in input()) {
        let shape = shape(input.enforced_field.then_some("enforced"));
        let direct = aggregate(&shape.direct(), &input.parent, &input.members, &input.reported, &at(1));
        let mut status = input.status(&Value::Null);
        status.remove("byPod");
        prop_assert_eq!(direct, Decision::Write(status));
    }

    #[test]
    fn aggregating_again_writes_nothing(input in input(), foreign in any::<bool>()) {
        let mut stored = input.status(&Value::Null);
        if foreign {
            stored.insert("violations".into(), json!([{"name": "x"}]));
        }
        prop_assert_eq!(input.decide(&Value::Object(stored), &at(100)), Decision::Unchanged);
    }

    #[test]
    fn only_owned_fields_are_written(input in input()) {
        let previous = json!({"violations": [], "auditTimestamp": "t", "byPod": [], "created": false});
        let status = input.status(&previous);
        let fields: Vec<&str> = status.keys().map(String::as_str).collect();
        prop_assert_eq!(fields, ["byPod", "conditions", "created", "observedGeneration", "summary"]);
    }

    #[test]
    fn a_transition_time_changes_with_the_status_alone(before in input(), after in input()) {
        let old = before.status(&Value::Null);
        let Decision::Write(new) = after.decide(&Value::Object(old.clone()), &at(50)) else { return Ok(()) };
        for type_ in ["Ingested", "Enforced", "Ready"] {
            let (old, new) = (condition(&old, type_), condition(&new, type_));
            prop_assert_eq!(old.status == new.status, new.last_transition_time == at(1));
        }
    }

    #[test]
    fn the_latch_never_goes_back(inputs in prop::collection::vec(input(), 1..5)) {
        let mut status = Map::new();
        let mut was = false;
        for input in inputs {
            status = input.status(&Value::Object(status));
            let is = status["created"] == true;
            prop_assert!(is || !was);
            was = is;
        }
    }
}

#[test]
fn a_constraint_as_gatekeeper_shows_it() {
    let webhook = member("webhook-1", "i0", &["webhook", "mutation-webhook"]);
    let audit = member("audit-1", "i0", &["status", "audit"]);
    let broken = PodError::new("ingest_error", "no").at("/spec");
    let entry = |errors: Vec<PodError>| {
        Entry::new(key("u0"), 2).detail(json!({"enforced": errors.is_empty()})).errors(errors)
    };
    let input = Input {
        reported: vec![
            Reported { member: webhook.clone(), entry: entry(vec![]) },
            Reported { member: audit.clone(), entry: entry(vec![broken]) },
        ],
        members: vec![webhook, audit],
        parent: Parent::new(key("u0"), 2),
        enforced_field: true,
    };
    let status = input.status(&Value::Null);
    assert_eq!(
        status["byPod"],
        json!([
            {
                "id": "audit-1", "policyUID": "u0", "observedGeneration": 2, "enforced": false,
                "operations": ["audit", "status"],
                "errors": [{"code": "ingest_error", "message": "no", "location": "/spec"}],
            },
            {
                "id": "webhook-1", "policyUID": "u0", "observedGeneration": 2, "enforced": true,
                "operations": ["mutation-webhook", "webhook"],
            },
        ])
    );
    let ingested = condition(&status, "Ingested");
    assert_eq!((ingested.status.as_str(), ingested.reason.as_str()), ("False", "IngestError"));
    assert_eq!(ingested.message, "see status.byPod of audit-1");
}

#[test]
fn an_error_that_a_pod_retries_is_not_final_and_its_class_is_not_shown() {
    let error = |class| PodError::new("create_error", "no answer").class(class);
    let reason = |errors: [Vec<PodError>; 2]| {
        let [a, b] = ["a", "b"].map(|id| member(id, "i0", &["webhook"]));
        let reported = [&a, &b].into_iter().zip(errors);
        let reported = reported.map(|(member, errors)| Reported {
            member: member.clone(),
            entry: Entry::new(key("u0"), 2).errors(errors),
        });
        let input = Input {
            reported: reported.collect(),
            members: vec![a.clone(), b.clone()],
            parent: Parent::new(key("u0"), 2),
            enforced_field: false,
        };
        let status = input.status(&Value::Null);
        assert!(!status["byPod"].to_string().contains("class"), "{status:?}");
        (condition(&status, "Ingested").reason, condition(&status, "Enforced").reason)
    };
    let (retried, failed) = (error(ErrorClass::Transient), error(ErrorClass::Permanent));
    let both = |reason: &str| (reason.to_owned(), reason.to_owned());
    assert_eq!(reason([vec![retried.clone()], vec![]]), both("IngestRetried"));
    assert_eq!(reason([vec![retried.clone()], vec![failed.clone()]]), both("IngestError"));
    assert_eq!(reason([vec![retried, failed], vec![]]), both("IngestError"));
}

#[test]
fn each_reason_why_nothing_is_enforced() {
    let report = |member: &Member, detail: Value| Reported {
        member: member.clone(),
        entry: Entry::new(key("u0"), 1).detail(detail),
    };
    let (webhook, audit) = (member("w", "i0", &["webhook"]), member("a", "i0", &["audit"]));
    let yes = || json!({"enforced": true});
    for (members, reported, status, reason) in [
        (vec![], vec![], "Unknown", "NoPods"),
        (vec![&audit], vec![report(&audit, yes())], "False", "NoEnforcementPoint"),
        (vec![&webhook, &audit], vec![report(&webhook, yes())], "Unknown", "WaitingForPods"),
        (vec![&webhook], vec![report(&webhook, json!({}))], "False", "NotEnforcing"),
        (
            vec![&webhook, &audit],
            vec![report(&webhook, yes()), report(&audit, json!({}))],
            "True",
            "EnforcedByAllPods",
        ),
    ] {
        let input = Input {
            members: members.into_iter().cloned().collect(),
            reported,
            parent: Parent::new(key("u0"), 1),
            enforced_field: true,
        };
        let enforced = condition(&input.status(&Value::Null), "Enforced");
        assert_eq!((enforced.status.as_str(), enforced.reason.as_str()), (status, reason));
    }
}

#[test]
fn the_message_ends_with_the_first_reason_that_a_pod_gives_for_not_enforcing() {
    let members = ["a", "b", "c"].map(|id| member(id, "i0", &["webhook"]));
    let message = |details: [Value; 3]| {
        let reported = members.iter().zip(details).map(|(member, detail)| Reported {
            member: member.clone(),
            entry: Entry::new(key("u0"), 1).detail(detail),
        });
        let input = Input {
            members: members.to_vec(),
            reported: reported.collect(),
            parent: Parent::new(key("u0"), 1),
            enforced_field: true,
        };
        condition(&input.status(&Value::Null), "Enforced").message
    };
    let because = |why: Value| json!({"enforced": false, "why": why});
    let enforced = || json!({"enforced": true});
    let first = message([because(json!([])), because(json!(["no route"])), because(json!(["another"]))]);
    assert_eq!(first, "ingested but not enforced by a, b, c: no route");
    assert_eq!(message([enforced(), because(json!([7])), enforced()]), "ingested but not enforced by b");
    let long = message([because(json!(["x".repeat(2_000)])), enforced(), enforced()]);
    assert_eq!(long, format!("ingested but not enforced by a: {}", "x".repeat(500)));
}

#[test]
fn a_message_names_few_of_many_pods() {
    let members: Vec<Member> =
        (0..9).map(|number| member(&format!("pod-{number}"), "i0", &["webhook"])).collect();
    let parent = Parent::new(key("u0"), 1);
    let input = Input { members, reported: vec![], parent, enforced_field: false };
    let message = condition(&input.status(&Value::Null), "Ingested").message;
    assert_eq!(
        message,
        "0 of 9 pods have ingested generation 1; waiting for pod-0, pod-1, pod-2, pod-3, pod-4 and 4 more"
    );
}

#[test]
fn a_kind_that_is_not_enforced_is_ready_when_ingested() {
    let webhook = member("w", "i0", &["webhook"]);
    let entry = Entry::new(key("u0"), 1);
    let reported = [Reported { member: webhook.clone(), entry }];
    let parent = Parent::new(key("u0"), 1);
    let shape = Shape { enforcing: [].into(), ..shape(None) };
    let Decision::Write(status) = aggregate(&shape, &parent, &[webhook], &reported, &at(1)) else {
        panic!("nothing was stored before")
    };
    let types: Vec<&Value> = status["conditions"].as_array().unwrap().iter().map(|c| &c["type"]).collect();
    assert_eq!(types, ["Ingested", "Ready"]);
    assert_eq!(condition(&status, "Ready").status, "True");
}

/// The members, and the reports: id, generation, whether it was ingested.
type Step<'a> = (&'a [&'a str], &'a [(&'a str, i64, bool)]);

/// The condition `Enforced` after each step.
fn steps(generation: i64, steps: &[Step<'_>]) -> Vec<(String, String)> {
    let mut status = Value::Null;
    let mut answers = Vec::new();
    for (members, reports) in steps {
        let reported = reports.iter().map(|(id, generation, ok)| {
            let errors = if *ok { vec![] } else { vec![PodError::new("ingest_error", "no")] };
            Reported::new(member(id, "i0", &["webhook"]), Entry::new(key("u0"), *generation).errors(errors))
        });
        let input = Input {
            members: members.iter().map(|id| member(id, "i0", &["webhook"])).collect(),
            reported: reported.collect(),
            parent: Parent::new(key("u0"), generation),
            enforced_field: false,
        };
        let next = input.status(&status);
        answers.push((condition(&next, "Enforced").status, condition(&next, "Ingested").status));
        status = Value::Object(next);
    }
    answers
}

#[test]
fn a_rolling_restart_does_not_flip_enforced() {
    let (a, b, c) = (("a", 2, true), ("b", 2, true), ("c", 2, true));
    let answers = steps(
        2,
        &[
            (&["a", "b"], &[a]),
            (&["a", "b"], &[a, b]),
            (&["a", "b", "c"], &[a, b]), // c joins; it does not serve before it has ingested generation 2
            (&["b", "c"], &[b]),         // a ends
            (&["b", "c"], &[b, c]),
        ],
    );
    let expected = [
        ("Unknown", "Unknown"),
        ("True", "True"),
        ("True", "Unknown"),
        ("True", "Unknown"),
        ("True", "True"),
    ];
    let answers: Vec<(&str, &str)> = answers.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(answers, expected);
}

#[test]
fn enforced_is_revoked_by_a_report_and_when_no_pod_is_left_that_enforces() {
    let (a, b) = (("a", 2, true), ("b", 2, true));
    let enforced =
        |last: (&[&str], &[(&str, i64, bool)])| steps(2, &[(&["a", "b"], &[a, b]), last])[1].0.clone();
    assert_eq!(enforced((&["a", "b"], &[a, ("b", 2, false)])), "False", "it cannot ingest it any more");
    assert_eq!(
        enforced((&["a", "b", "c"], &[a, b, ("c", 1, true)])),
        "Unknown",
        "a pod that joins reports an old one"
    );
    assert_eq!(enforced((&["c"], &[])), "Unknown", "no pod that reports is left");
    assert_eq!(enforced((&[], &[])), "Unknown");
}

#[test]
fn a_proof_is_for_one_generation_of_one_object_and_only_if_it_is_ours() {
    let enforced = |parent: Parent| {
        let joins = [member("a", "i0", &["webhook"]), member("b", "i0", &["webhook"])];
        let entry = Entry::new(key("u0"), parent.generation);
        let reported = [Reported::new(joins[0].clone(), entry)];
        let stored = parent.stored.status.as_object().cloned().unwrap_or_default();
        match aggregate(&shape(None), &parent, &joins, &reported, &at(1)) {
            Decision::Write(status) => condition(&status, "Enforced").status,
            Decision::Unchanged => condition(&stored, "Enforced").status,
        }
    };
    let proof = json!({"conditions": [{
        "type": "Enforced", "status": "True", "reason": "EnforcedByAllPods", "message": "", "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    assert_eq!(enforced(Parent::new(key("u0"), 2).with_status(proof.clone())), "True");
    assert_eq!(enforced(Parent::new(key("u0"), 3).with_status(proof.clone())), "Unknown");
    let mut edited = Parent::new(key("u0"), 2);
    edited.stored = Stored::of(proof, &[], "us");
    assert_eq!(enforced(edited), "Unknown", "a condition that another client wrote proves nothing");
}

#[test]
fn beyond_the_limit_pods_that_fail_or_are_behind_are_listed_first() {
    let members: Vec<Member> =
        (0..9).map(|number| member(&format!("p{number}"), "i0", &["webhook"])).collect();
    let reported = members.iter().enumerate().map(|(number, member)| {
        let errors = if number == 7 { vec![PodError::new("", "no")] } else { vec![] };
        let generation = if number == 5 { 1 } else { 2 };
        Reported::new(member.clone(), Entry::new(key("u0"), generation).errors(errors))
    });
    let reported: Vec<Reported> = reported.collect();
    let shape = shape(None).by_pod_limit(4);
    let Decision::Write(status) = aggregate(&shape, &Parent::new(key("u0"), 2), &members, &reported, &at(1))
    else {
        panic!("nothing was stored before")
    };
    let ids: Vec<&str> =
        status["byPod"].as_array().unwrap().iter().map(|pod| pod["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["p0", "p1", "p5", "p7"]);
}

/// The activation and the reason of `Enforced`, where pod `a` has ingested generation 2, and `b` only if it is `ready`.
fn activation(deadline: Deadline, ready: bool, parent: &Parent) -> (Value, String) {
    let members = [member("a", "i0", &["webhook"]), member("b", "i0", &["webhook"])];
    let entry = |generation| Entry::new(key("u0"), generation);
    let b = if ready { 2 } else { 1 };
    let reported = [Reported::new(members[0].clone(), entry(2)), Reported::new(members[1].clone(), entry(b))];
    let shape = shape(None).rollout(Rollout::Coordinated { deadline }).missing(MissingSemantics::Looser);
    let Decision::Write(status) = aggregate(&shape, parent, &members, &reported, &at(1)) else {
        panic!("nothing was stored before")
    };
    let parent = parent.clone().with_status(Value::Object(status.clone()));
    let again = aggregate(&shape, &parent, &members, &reported, &at(2));
    assert_eq!(again, Decision::Unchanged, "what is stored says the same");
    (status.get("activation").cloned().unwrap_or_default(), condition(&status, "Enforced").reason)
}

fn waiting(seconds: u64, previous: Value) -> Parent {
    let parent = Parent::new(key("u0"), 2).with_status(previous);
    Parent { waited: Duration::from_secs(seconds), ..parent }
}

#[test]
fn a_generation_is_activated_when_all_have_ingested_it_or_its_time_is_over() {
    let decide = |ready, seconds, previous| {
        let (activation, reason) = activation(Deadline::default(), ready, &waiting(seconds, previous));
        (activation["generation"].clone(), activation["reason"].clone(), reason)
    };
    let activated = json!({"activation": {"uid": "u0", "generation": 1}});
    let none = Value::Null;
    assert_eq!(decide(false, 0, Value::Null), (none.clone(), none.clone(), "WaitingForPods".into()));
    assert_eq!(decide(false, 59, activated.clone()), (json!(1), none.clone(), "WaitingForPods".into()));
    let late = (json!(2), json!("DeadlineActivated"), "DeadlineActivated".into());
    assert_eq!(decide(false, 60, activated.clone()), late);
    assert_eq!(decide(true, 0, activated), (json!(2), none.clone(), "Activating".into()));
    let other = json!({"activation": {"uid": "u1", "generation": 9}});
    assert_eq!(decide(false, 0, other), (none.clone(), none, "WaitingForPods".into()), "a predecessor's");
    let overdue = json!({"activation": {"uid": "u0", "generation": 2, "reason": "DeadlineActivated"}});
    assert_eq!(decide(false, 0, overdue.clone()), late, "also after a failover");
    assert_eq!(decide(true, 0, overdue).2, "Activating", "the pod has caught up");
}

#[test]
fn a_generation_that_is_held_is_activated_by_no_deadline() {
    let hold = Deadline::Hold(Duration::from_secs(60));
    let (activated, reason) = activation(hold, false, &waiting(70, Value::Null));
    let waited = json!({"uid": "u0", "waiting": {"generation": 2, "seconds": 60}});
    assert_eq!((activated, reason.as_str()), (waited, "DeadlineExceeded"));
    assert_eq!(activation(hold, true, &waiting(70, Value::Null)).1, "Activating");
    assert_eq!(activation(Deadline::Never, false, &waiting(70, Value::Null)).1, "WaitingForPods");
}

#[test]
fn the_time_waited_is_stored_in_quarters_of_the_deadline() {
    let stored = |seconds| activation(Deadline::default(), false, &waiting(seconds, Value::Null)).0;
    assert_eq!(stored(14), Value::Null);
    assert_eq!(stored(44)["waiting"], json!({"generation": 2, "seconds": 30}));
}

#[test]
fn a_generation_that_loosens_is_activated_at_once() {
    let loosened = Parent { at_once: true, ..waiting(0, Value::Null) };
    let (activated, reason) = activation(Deadline::default(), false, &loosened);
    assert_eq!(activated, json!({"uid": "u0", "generation": 2}));
    assert_eq!(reason, "WaitingForPods", "it is enforced when every pod has it");
}
