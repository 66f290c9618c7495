//! Fleet, MachineSet, Machine: rollout, rollback, adoption, release, and both ways to delete.

use std::io::Write;
use std::time::Duration;

use futures::StreamExt;
use serde_json::Value;
use tokio::time::timeout;
use watch_manager::{GroupVersionKind, Interest};

use crate::demo::{
    DemoRun, freeze_at_every_write, install, kill_at_every_write, kubectl, namespace, plane, run_demo,
    run_demo_doubled, start,
};

const GROUP: &str = "related-objects.example.com";

async fn check(run: &DemoRun) {
    let fleets = run.objects(GROUP, "v1", "Fleet").await;
    assert_eq!(fleets.keys().collect::<Vec<_>>(), ["db"], "{}", run.output);
    let sets = run.objects(GROUP, "v1", "MachineSet").await;
    assert_eq!(sets.len(), 1, "{sets:?}");
    let owner = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"].clone();
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let set = sets.values().next().unwrap();
    assert_eq!(owner(set), uid(&fleets["db"]));
    let machines = run.objects(GROUP, "v1", "Machine").await;
    assert_eq!(machines.len(), 2, "{machines:?}");
    assert!(machines.values().all(|machine| owner(machine) == uid(set)), "{machines:?}");
}

#[tokio::test]
async fn a_fleet_rolls_out_and_back_and_is_deleted_both_ways() {
    let run = run_demo("related_objects", &[]).await;
    run.check_declarations(&[]).await;
    check(&run).await;
    for text in ["is released", "is adopted", "(revision 2) is forgotten", "(revision 4, v1)"] {
        assert!(run.output.contains(text), "{text} is missing in\n{}", run.output);
    }
}

/// Released as a whole: its Machines run on, and the Fleet gets others. Its selector cannot be changed instead.
#[tokio::test]
async fn a_machine_set_that_loses_its_label_is_released_and_replaced() {
    let (namespace, pattern) = (&namespace().await, "related_objects");
    install(pattern, namespace).await;
    let mut processes = Vec::new();
    for role in ["fleet", "machineset", "machine"] {
        processes.push(start(pattern, &[role], namespace).await);
    }
    let fleet = include_str!("../../patterns/related_objects/objects.yaml");
    kubectl(namespace, &["apply", "--server-side", "-f", "-"], fleet).await;
    let is_full = |set: &Value| set["status"]["ready"] == 2;
    let first = machine_sets(namespace, |sets| sets.len() == 1 && is_full(&sets[0])).await;
    let set = format!("machinesets.{GROUP}/{}", first[0]["metadata"]["name"].as_str().unwrap());

    let patch = r#"{"spec": {"selector": {"other": "label"}}}"#;
    let arguments = ["--namespace", namespace, "patch", &set, "--type=merge", "-p", patch];
    let refused = plane().await.kubectl().args(arguments).output().await.unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("cannot be changed: its Machines would be left behind"), "{message}");

    let label = format!("{GROUP}/fleet=elsewhere");
    kubectl(namespace, &["label", "--overwrite", &set, &label], "").await;
    let is_released = |set: &Value| set["metadata"]["ownerReferences"].is_null();
    let both = |sets: &[Value]| {
        let (released, owned): (Vec<&Value>, Vec<&Value>) = sets.iter().partition(|set| is_released(set));
        released.len() == 1 && owned.len() == 1 && is_full(owned[0]) && is_full(released[0])
    };
    machine_sets(namespace, both).await;
    let fleet = format!("fleets.{GROUP}/web");
    kubectl(namespace, &["wait", "--timeout=60s", "--for=condition=Complete", &fleet], "").await;
}

/// Its MachineSets could not carry the name as a label.
#[tokio::test]
async fn a_fleet_with_too_long_a_name_is_refused() {
    let (namespace, pattern) = (&namespace().await, "related_objects");
    install(pattern, namespace).await;
    for (length, is_refused) in [(63, false), (64, true)] {
        let fleet = include_str!("../../patterns/related_objects/objects.yaml");
        let fleet = fleet.replace("name: web", &format!("name: {}", "w".repeat(length)));
        let (mut apply, mut input) = (plane().await.kubectl(), tempfile::NamedTempFile::new().unwrap());
        input.write_all(fleet.as_bytes()).unwrap();
        apply.args(["--namespace", namespace, "apply", "--server-side", "-f"]).arg(input.path());
        let output = apply.output().await.unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(message.contains("the name is at most 63 characters long"), is_refused, "{message}");
    }
}

/// The MachineSets of a namespace, once they are so.
async fn machine_sets(namespace: &str, are: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let interest = Interest::new(GroupVersionKind::gvk(GROUP, "v1", "MachineSet")).namespaces([namespace]);
    let states = examples::states::<Value>(&plane().await.client().unwrap(), interest).map(Result::unwrap);
    let mut first = std::pin::pin!(states.filter(|found| std::future::ready(are(found))));
    timeout(Duration::from_secs(120), first.next()).await.expect("no such MachineSets").unwrap()
}

#[tokio::test]
async fn a_fleet_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("related_objects", "fleet", check).await;
}

#[tokio::test]
async fn a_machine_set_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("related_objects", "machineset", check).await;
}

#[tokio::test]
async fn a_machine_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("related_objects", "machine", check).await;
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("related_objects", &["fleet", "machineset", "machine"]).await).await;
}

/// As a virtual machine that is moved: it goes on with a write that another process has made superfluous long ago.
#[tokio::test]
async fn a_process_that_was_frozen_before_any_write_does_no_damage_when_it_goes_on() {
    for role in ["fleet", "machineset", "machine"] {
        freeze_at_every_write("related_objects", role, check).await;
    }
}
