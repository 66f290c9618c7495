//! The health that Flux, Helm, Argo CD and `kubectl wait` compute from the statuses.
#![allow(clippy::panic, clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::readiness::ErrorClass;
use pod_status::{
    Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError, Reported, Shape, aggregate,
};
use serde_json::{Value, json};

/// The blocks of YAML in the guide for GitOps tools.
fn guide() -> Vec<&'static str> {
    let guide = include_str!("../../../docs/gitops.md");
    guide.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

fn constraint(status: &Value) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sRequiredLabels",
        "metadata": {"name": "p", "generation": 2}, "status": status,
    })
}

/// The verdicts of kstatus, Flux's expressions and Argo CD's script about constraints.
fn judge(objects: &[Value]) -> Vec<[String; 3]> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/judge/health");
    let program = go_program::build(&source, ".", "conformance", "health").unwrap();
    let [kustomization, config] = guide()[..] else { panic!("the guide has two blocks of YAML") };
    let mut judge = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut questions = judge.stdin.take().unwrap();
    for object in objects {
        let question = json!({"object": object, "kustomization": kustomization, "argoCM": config});
        writeln!(questions, "{question}").unwrap();
    }
    drop(questions);
    let output = judge.wait_with_output().unwrap();
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let verdict = |answer: &Value| {
        assert_eq!(answer["error"], Value::Null, "{answer}");
        ["kstatus", "flux", "argo"].map(|tool| answer[tool].as_str().unwrap().to_owned())
    };
    answers.iter().map(verdict).collect()
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
    let shape = shape.idle_until_changed("/word", "never").nothing_to_enforce("/word", "nothing");
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
    const WAITS: [&str; 3] = ["InProgress", "InProgress", "Progressing"];
    const FAILED: [&str; 3] = ["Failed", "Failed", "Degraded"];
    const NO_POD: [&str; 3] = ["InProgress", "Failed", "Degraded"];
    const DONE: [&str; 3] = ["Current", "Current", "Healthy"];
    let members = ["a", "b"].map(|id| Member::new(id, "i1").operations(["webhook"]));
    let audit = [Member::new("a", "i1").operations(["audit"])];
    let enforces = |generation| Entry::new(key(), generation).detail(json!({"enforced": true}));
    let idle = Entry::new(key(), 2).detail(json!({"enforced": false}));
    let says = |word| Entry::new(key(), 2).detail(json!({"enforced": false, "word": word}));
    let fails = Entry::new(key(), 2).errors(vec![PodError::new("ingest_error", "no")]);
    let retried = PodError::new("sync_error", "not served").class(ErrorClass::Transient);
    let retries = Entry::new(key(), 2).errors(vec![retried]);
    let cases = [
        ("no pod has registered", status(2, &[], &[]), WAITS),
        ("no pod has reported", status(2, &members, &[]), WAITS),
        ("one has", status(2, &members, &[(0, enforces(2))]), WAITS),
        ("one is behind", status(2, &members, &[(0, enforces(2)), (1, enforces(1))]), WAITS),
        ("one does not enforce it yet", status(2, &members, &[(0, enforces(2)), (1, idle)]), WAITS),
        (
            "the last generation was enforced",
            status(1, &members, &[(0, enforces(1)), (1, enforces(1))]),
            WAITS,
        ),
        (
            "the last generation failed",
            status(1, &members, &[(0, Entry::new(key(), 1).errors(vec![PodError::new("", "")]))]),
            WAITS,
        ),
        ("before any pod has looked, by the schema's default", json!({"observedGeneration": -1}), WAITS),
        ("one fails", status(2, &members, &[(0, enforces(2)), (1, fails)]), FAILED),
        ("one tries again", status(2, &members, &[(0, enforces(2)), (1, retries)]), WAITS),
        ("one will never enforce it", status(2, &members, &[(0, enforces(2)), (1, says("never"))]), FAILED),
        (
            "there is nothing to enforce",
            status(2, &members, &[(0, says("nothing")), (1, says("nothing"))]),
            DONE,
        ),
        ("no pod enforces", status(2, &audit, &[(0, enforces(2))]), NO_POD),
        ("all enforce it", status(2, &members, &[(0, enforces(2)), (1, enforces(2))]), DONE),
    ];
    let mut objects: Vec<Value> = cases.iter().map(|(_, status, _)| constraint(status)).collect();
    let mut deleted = objects[cases.len() - 1].clone();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    objects.push(deleted);
    let verdicts = judge(&objects);
    assert_eq!(verdicts.len(), objects.len());
    assert_eq!(verdicts[cases.len()], ["Terminating", "Current", "Healthy"], "Argo CD runs no script then");
    for ((name, status, expected), verdict) in cases.iter().zip(verdicts) {
        println!("{name}: kstatus {}, Flux {}, Argo CD {}", verdict[0], verdict[1], verdict[2]);
        assert_eq!(verdict, *expected, "{name}: {status:#}");
        let is_enforced = *expected == DONE && *name != "there is nothing to enforce";
        assert_eq!(waits(2, status), !is_enforced, "{name}: {status:#}");
    }
}

/// Tools that compare a report's `status.observedGeneration` with its own generation would show "in progress" for ever.
#[test]
fn a_report_has_no_status() {
    let schema = json!(pod_status::ReportKind::default().crd());
    let properties = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert!(properties["entries"].is_object() && properties["status"].is_null(), "{properties:#}");
}
