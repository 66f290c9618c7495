//! Out-of-process plug-ins: registration, an upgrade under load, back pressure, and a plug-in that dies.

use std::process::Stdio;
use std::time::Duration;

use futures::StreamExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;
use watch_manager::{GroupVersionKind, Interest};

use crate::demo::{
    DemoRun, command, freeze_at_every_write, install, kill_at_every_write, kubectl, namespace, plane,
    run_demo, run_demo_doubled, start,
};

async fn check(run: &DemoRun) {
    let machines = run.objects("plugins.example.com", "v1", "Machine").await;
    let names: String = machines.keys().map(|name| format!("{name} ")).collect();
    assert_eq!(names, "a b1 b2 b3 b4 c1 c2 c3 c4 d1 d2 d3 d4 e f g s1 s2 s3 s4 ", "{}", run.output);
    for (name, machine) in &machines {
        assert_eq!(DemoRun::reason(machine, "Placed"), "Placed", "{name}: {}", run.output);
    }
    let extensions = run.objects("plugins.example.com", "v1", "Extension").await;
    assert_eq!(extensions.keys().collect::<Vec<_>>(), ["cheapest", "keep"]);
    for extension in extensions.values() {
        // A process that was killed or frozen may still have an entry that says something else.
        let calls = |it: &Value| it["version"] == "v2" && it["endpoint"] == extension["spec"]["endpoint"];
        assert!(extension["status"]["byPod"].as_array().unwrap().iter().any(calls), "{extension}");
        assert_eq!(extension["status"]["discovered"], true);
    }
}

#[tokio::test]
async fn plug_ins_come_go_and_are_upgraded_under_load_without_a_failed_machine() {
    let run = run_demo("out_of_process_plugins", &[]).await;
    // A process withdraws its report when it is asked to end, and the demo ends without that; its report has an owner in a pod.
    run.check_declarations(&[
        "placement: declared and never made: delete podreports.status.webtroller.dev",
        "placement: declared and never written: /metadata/ownerReferences of podreports.status.webtroller.dev",
    ])
    .await;
    check(&run).await;
    assert!(!run.errors.contains("reconciler for object Machine"), "{}", run.errors);
    let (calm, failing) = run.output.split_once("\n4. ").unwrap();
    assert!(!calm.contains("ExtensionFailed") && !calm.contains("without "), "{calm}");
    assert!(calm.contains("a caller with a certificate of another authority is refused"), "{calm}");
    assert!(calm.contains("saturated"), "{calm}");
    for text in ["without keep", "circuit Open", "ExtensionFailed: keep"] {
        assert!(failing.contains(text), "{text} is missing in\n{failing}");
    }
}

#[tokio::test]
async fn a_controller_or_plug_in_that_is_killed_at_any_write_converges_at_its_next_start() {
    for role in ["placement", "cheapest-v2", "keep"] {
        kill_at_every_write("out_of_process_plugins", role, check).await;
    }
}

#[tokio::test]
async fn an_aggregator_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("out_of_process_plugins", "aggregator", check).await;
}

/// Its Lease is taken over, and what it does late changes nothing.
#[tokio::test]
async fn an_aggregator_that_is_frozen_is_replaced() {
    check(&run_demo("out_of_process_plugins", &["--freeze", "aggregator:3"]).await).await;
}

/// Two processes call the plug-in, and one of them is killed.
#[tokio::test]
async fn each_process_of_the_controller_reports_its_own_calls() {
    let (namespace, pattern) = (&namespace().await, "out_of_process_plugins");
    install(pattern, namespace).await;
    let mut processes = Vec::new();
    for role in ["aggregator", "placement", "placement"] {
        processes.push(start(pattern, &[role], namespace).await);
    }
    let extension = extension_without_plug_in(namespace).await;
    let _plug_in = start(pattern, &["plug-in", "--", "cheapest", "v2"], namespace).await;
    let calls = |it: &Value| it["circuit"] == "Closed" && it["version"] == "v2";
    let both = entries(namespace, |found| found.len() == 2 && found.iter().all(calls)).await;
    kubectl(namespace, &["wait", "--timeout=60s", "--for=condition=Ready", extension], "").await;
    let [other, killed] = [1, 2].map(|index: usize| processes[index].id().unwrap());
    // The names of the processes end with their numbers.
    let is_of = |it: &Value, process: u32| it["id"].as_str().unwrap().ends_with(&format!("-{process}"));
    assert!([other, killed].iter().all(|process| both.iter().any(|it| is_of(it, *process))), "{both:?}");
    processes[2].kill().await.unwrap();
    let left = entries(namespace, |found| found.len() == 1).await;
    assert!(is_of(&left[0], other) && calls(&left[0]), "{left:?}");
}

/// The entries of `status.byPod` of the Extension of the page, once they are so.
async fn entries(namespace: &str, are: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let extensions = GroupVersionKind::gvk("plugins.example.com", "v1", "Extension");
    let interest = Interest::new(extensions).namespaces([namespace]).fields("metadata.name=cheapest");
    let client = plane().await.client().unwrap();
    let states = examples::states::<Value>(&client, interest).map(|state| {
        let found = state.unwrap().pop().unwrap_or_default();
        found["status"]["byPod"].as_array().cloned().unwrap_or_default()
    });
    let first = states.filter(|found| std::future::ready(are(found)));
    let mut first = std::pin::pin!(first);
    timeout(Duration::from_secs(180), first.next()).await.expect("no such entries").unwrap()
}

/// Makes the Extension of the page.
async fn extension_without_plug_in(namespace: &str) -> &'static str {
    let objects = include_str!("../../patterns/out_of_process_plugins/objects.yaml");
    let (extension, _) = objects.split_once("---").unwrap();
    kubectl(namespace, &["apply", "--server-side", "-f", "-"], extension).await;
    "extensions.plugins.example.com/cheapest"
}

#[tokio::test]
async fn machines_wait_for_a_plug_in_that_must_not_be_left_out() {
    let (namespace, pattern) = (&namespace().await, "out_of_process_plugins");
    install(pattern, namespace).await;
    let _placement = start(pattern, &["placement"], namespace).await;
    let _aggregator = start(pattern, &["aggregator"], namespace).await;
    let objects = include_str!("../../patterns/out_of_process_plugins/objects.yaml");
    let (extension, machine) = objects.split_once("---").unwrap();
    let apply = async |text: &str| kubectl(namespace, &["apply", "--server-side", "-f", "-"], text).await;
    let until = async |what: &str, object: &str| {
        kubectl(namespace, &["wait", "--timeout=120s", &format!("--for={what}"), object], "").await
    };
    apply(extension).await;
    until("condition=Ready=False", "extensions.plugins.example.com/cheapest").await;
    apply(machine).await;
    let machine = "machines.plugins.example.com/a";
    until("condition=Placed=False", machine).await;
    let reason = ["get", machine, "-o", "jsonpath={.status.conditions[0].reason}"];
    assert_eq!(kubectl(namespace, &reason, "").await, "WaitingForExtension");
    let _plug_in = start(pattern, &["plug-in", "--", "cheapest", "v2"], namespace).await;
    until("jsonpath={.status.zone}=us-1", machine).await;
}

/// As when an upgrade is taken back: the newer process is registered, and the older is when the newer ends.
#[tokio::test]
async fn a_plug_in_that_ends_leaves_its_place_to_another() {
    let (namespace, pattern) = (&namespace().await, "out_of_process_plugins");
    install(pattern, namespace).await;
    let _placement = start(pattern, &["placement"], namespace).await;
    let _aggregator = start(pattern, &["aggregator"], namespace).await;
    let extension = extension_without_plug_in(namespace).await;
    let until = async |what: &str| {
        kubectl(namespace, &["wait", "--timeout=120s", &format!("--for={what}"), extension], "").await
    };
    let mut older = command(pattern, &["plug-in", "--", "cheapest", "v1"], namespace).await;
    let mut older = older.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(older.stdout.take().unwrap()).lines();
    until("condition=Ready").await;
    let registered = ["get", extension, "-o", "jsonpath={.spec.endpoint}"];
    let place_of_older = kubectl(namespace, &registered, "").await;

    let newer = start(pattern, &["plug-in", "--", "cheapest", "v1", "v2"], namespace).await;
    let replaced = lines.next_line().await.unwrap().unwrap();
    assert!(
        replaced.ends_with("cheapest: another process is registered, this one is not asked"),
        "{replaced}"
    );
    until("jsonpath={.status.byPod[0].version}=v2").await;
    retire(newer).await;
    until("jsonpath={.status.byPod[0].version}=v1").await;
    assert_eq!(kubectl(namespace, &registered, "").await, place_of_older);

    retire(older).await;
    until("condition=Ready=False").await;
    assert_eq!(kubectl(namespace, &registered, "").await, "");
    let reason = ["get", extension, "-o", "jsonpath={.status.byPod[0].errors[0].code}"];
    assert_eq!(kubectl(namespace, &reason, "").await, "NoEndpoint");
}

/// Ends a process as a kubelet does.
async fn retire(mut process: Child) {
    let id = Pid::from_raw(i32::try_from(process.id().unwrap()).unwrap()).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    assert!(process.wait().await.unwrap().success());
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("out_of_process_plugins", &["placement"]).await).await;
}

/// As a virtual machine that is moved: it goes on with a write that another process has made superfluous long ago.
#[tokio::test]
async fn a_process_that_was_frozen_before_any_write_does_no_damage_when_it_goes_on() {
    for role in ["placement", "cheapest-v1", "cheapest-v2", "only-eu"] {
        freeze_at_every_write("out_of_process_plugins", role, check).await;
    }
}
