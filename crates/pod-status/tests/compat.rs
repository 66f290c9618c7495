//! What tools that judge health conclude from the statuses: kstatus (Flux, Helm, kpt) and `kubectl wait`.
#![allow(clippy::panic, clippy::indexing_slicing)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError, Reported, Shape, aggregate,
};
use serde_json::{Value, json};

/// The rules of kstatus for an object without a rule of its own: a status about another generation is in progress,
/// then `Reconciling` and `Stalled` count, then `Ready`; an object without any of them is current.
fn kstatus(generation: i64, status: &Value) -> &'static str {
    if status["observedGeneration"].as_i64().is_some_and(|observed| observed != generation) {
        return "InProgress";
    }
    let condition = |type_: &str| {
        let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        conditions
            .iter()
            .find(|condition| condition["type"] == type_)
            .map(|condition| condition["status"].clone())
    };
    match (condition("Stalled"), condition("Reconciling"), condition("Ready")) {
        (Some(stalled), _, _) if stalled == "True" => "Failed",
        (_, Some(reconciling), _) if reconciling == "True" => "InProgress",
        (_, _, Some(ready)) if ready != "True" => "InProgress",
        _ => "Current",
    }
}

/// `kubectl wait --for=condition=Enforced`: a condition with another generation does not count.
fn waits(generation: i64, status: &Value) -> bool {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let enforced = conditions.iter().find(|condition| condition["type"] == "Enforced");
    !enforced.is_some_and(|c| c["status"] == "True" && c["observedGeneration"] == generation)
}

fn key() -> ParentKey {
    ParentKey::new(ParentRef::new("g", "Policy", "p"), "u")
}

fn status(generation: i64, members: &[Member], entries: &[(usize, Entry)]) -> Value {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g", "v1", "Policy"));
    let shape = Shape::new(resource, "policyUID").enforced_by(["webhook"]).enforced_field("enforced");
    let reported: Vec<Reported> = entries
        .iter()
        .map(|(member, entry)| Reported::new(members[*member].clone(), entry.clone()))
        .collect();
    let parent = Parent::new(key(), generation);
    match aggregate(&shape, &parent, members, &reported, &Time(Timestamp::now())) {
        Decision::Write(status) => Value::Object(status),
        decision => panic!("{decision:?}"),
    }
}

#[test]
fn health_checks_and_kubectl_wait_conclude_the_truth() {
    let members = ["a", "b"].map(|id| Member::new(id, "i1").operations(["webhook"]));
    let enforces = |generation| Entry::new(key(), generation).detail(json!({"enforced": true}));
    let fails = Entry::new(key(), 2).errors(vec![PodError::new("ingest_error", "no")]);
    let cases = [
        ("no pod has registered", status(2, &[], &[]), "InProgress"),
        ("no pod has reported", status(2, &members, &[]), "InProgress"),
        ("one has", status(2, &members, &[(0, enforces(2))]), "InProgress"),
        ("one is behind", status(2, &members, &[(0, enforces(2)), (1, enforces(1))]), "InProgress"),
        ("one fails", status(2, &members, &[(0, enforces(2)), (1, fails)]), "InProgress"),
        (
            "the last generation was enforced",
            status(1, &members, &[(0, enforces(1)), (1, enforces(1))]),
            "InProgress",
        ),
        (
            "before any pod has looked, by the schema's default",
            json!({"observedGeneration": -1}),
            "InProgress",
        ),
        ("all enforce it", status(2, &members, &[(0, enforces(2)), (1, enforces(2))]), "Current"),
    ];
    for (name, status, expected) in cases {
        assert_eq!(kstatus(2, &status), expected, "{name}: {status:#}");
        assert_eq!(waits(2, &status), expected != "Current", "{name}: {status:#}");
    }
}

/// Tools that compare a report's `status.observedGeneration` with its own generation would show "in progress" for ever.
#[test]
fn a_report_has_no_status() {
    let schema = json!(pod_status::ReportKind::default().crd());
    let properties = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert!(properties["entries"].is_object() && properties["status"].is_null(), "{properties:#}");
}
