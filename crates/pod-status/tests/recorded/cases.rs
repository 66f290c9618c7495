//! Constraints with each status that reports of pods can cause. The time is fixed, so that they are the same in each run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::readiness::ErrorClass;
use pod_status::{
    Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError, Reported, Shape, aggregate,
};
use serde_json::{Value, json};

fn constraint(status: &Value) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sRequiredLabels",
        "metadata": {"name": "p", "generation": 2}, "status": status,
    })
}

fn key() -> ParentKey {
    ParentKey::new(ParentRef::new("g", "Policy", "p"), "u")
}

fn status(generation: i64, members: &[Member], entries: &[(usize, Entry)]) -> Value {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g", "v1", "Policy"));
    let shape = Shape::new(resource, "policyUID").enforced_by(["webhook"]).enforced_field("enforced");
    let shape = shape.idle_until_changed("/word", "never").nothing_to_enforce("/word", "nothing");
    let reported: Vec<Reported> = entries
        .iter()
        .map(|(member, entry)| Reported::new(members[*member].clone(), entry.clone()))
        .collect();
    let parent = Parent::new(key(), generation);
    match aggregate(&shape, &parent, members, &reported, &Time(Timestamp::UNIX_EPOCH)) {
        Decision::Write(status) => Value::Object(status),
        decision => panic!("{decision:?}"),
    }
}

fn enforces(generation: i64) -> Entry {
    Entry::new(key(), generation).detail(json!({"enforced": true}))
}

fn idle(word: &str) -> Entry {
    Entry::new(key(), 2).detail(json!({"enforced": false, "word": word}))
}

fn fails(generation: i64, error: PodError) -> Entry {
    Entry::new(key(), generation).errors(vec![error])
}

/// The statuses by name, each of an object of generation 2.
fn statuses() -> Vec<(&'static str, Value)> {
    let members = ["a", "b"].map(|id| Member::new(id, "i1").operations(["webhook"]));
    let audit = [Member::new("a", "i1").operations(["audit"])];
    let of = |first: Entry, second: Entry| status(2, &members, &[(0, first), (1, second)]);
    let failed = PodError::new("ingest_error", "no");
    let retried = PodError::new("sync_error", "not served").class(ErrorClass::Transient);
    let not_yet = Entry::new(key(), 2).detail(json!({"enforced": false}));
    let last_failed = fails(1, PodError::new("", ""));
    vec![
        ("no pod has registered", status(2, &[], &[])),
        ("no pod has reported", status(2, &members, &[])),
        ("one has", status(2, &members, &[(0, enforces(2))])),
        ("one is behind", of(enforces(2), enforces(1))),
        ("one does not enforce it yet", of(enforces(2), not_yet)),
        ("the last generation was enforced", status(1, &members, &[(0, enforces(1)), (1, enforces(1))])),
        ("the last generation failed", status(1, &members, &[(0, last_failed)])),
        ("before any pod has looked, by the schema's default", json!({"observedGeneration": -1})),
        ("one fails", of(enforces(2), fails(2, failed))),
        ("one tries again", of(enforces(2), fails(2, retried))),
        ("one will never enforce it", of(enforces(2), idle("never"))),
        ("there is nothing to enforce", of(idle("nothing"), idle("nothing"))),
        ("no pod enforces", status(2, &audit, &[(0, enforces(2))])),
        ("all enforce it", of(enforces(2), enforces(2))),
    ]
}

/// The objects by name.
pub fn cases() -> Vec<(&'static str, Value)> {
    let mut cases: Vec<_> = statuses().iter().map(|(name, status)| (*name, constraint(status))).collect();
    let mut deleted = cases.last().unwrap().1.clone();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    cases.push(("all enforce it, and it is being deleted", deleted));
    cases
}
