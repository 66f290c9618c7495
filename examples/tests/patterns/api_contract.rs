//! The API contract: any provider, two contract versions, and a provider that is swapped.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::{Duration, Instant};

use control_plane::ControlPlane;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::demo::{
    DemoRun, freeze_at_every_write, install, kill_at_every_write, kubectl, namespace, plane, program,
    run_demo, run_demo_doubled, start,
};

/// Each is named after its object and the beginning of the uid.
#[track_caller]
fn check_instances<T: AsRef<str>>(found: &[T], expected: &[&str]) {
    let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
    let pairs = found.iter().zip(expected);
    let as_expected =
        found.len() == expected.len() && pairs.into_iter().all(|(name, start)| name.starts_with(start));
    assert!(as_expected, "no instance is left behind, none is missing: {found:?}, {expected:?}");
}

async fn check(run: &DemoRun) {
    let machines = run.objects("contract.example.com", "v1", "Machine").await;
    let reasons = ["db", "huge", "lab", "vast", "web"]
        .map(|name| (name, DemoRun::reason(&machines[name], "InfrastructureReady")));
    let expected = [
        ("db", "Provisioned"),
        ("huge", "TooLarge"),
        ("lab", "ContractBroken"),
        ("vast", "TooLarge"),
        ("web", "Provisioned"),
    ];
    assert_eq!(reasons, expected.map(|(name, reason)| (name, reason.to_owned())), "{}", run.output);
    let instances = run.config_maps().await;
    assert_eq!(
        machines["web"]["status"]["providerId"],
        format!("big://{}", instances.get(1).map_or("none", String::as_str))
    );
    assert_eq!(machines["web"]["status"]["infrastructure"]["kind"], "BigMachine");
    check_instances(&instances, &["big-db-", "big-web-"]);
}

#[tokio::test]
async fn the_core_reads_any_provider_that_keeps_the_contract() {
    let run = run_demo("api_contract", &[]).await;
    // The core never leaves `big`, and none of its Machines is deleted.
    let never = |verb: &str| {
        format!("core: declared and never made: {verb} bigmachines.big.{}.example.com", run.namespace)
    };
    let (delete, get) = (never("delete"), never("get"));
    run.check_declarations(&[&delete, &get, "big: declared and never made: delete configmaps"]).await;
    check(&run).await;
    let has = |text: &str| assert!(run.output.contains(text), "{text} is missing in\n{}", run.output);
    has("KindNotFound: install the provider that defines SmallMachine");
    has("ContractBroken: /status/initialization: not in the schema: declare it");
    has("contract v1: 9000 cores");
    has("contract v2: 9001 cores");
}

#[tokio::test]
async fn a_core_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("api_contract", "core", check).await;
}

#[tokio::test]
async fn providers_that_are_killed_at_any_write_converge_and_leave_no_instance_behind() {
    for role in ["small", "small-v2", "big"] {
        kill_at_every_write("api_contract", role, check).await;
    }
}

fn machine(name: &str, group: &str, kind: &str) -> String {
    format!(
        "{{apiVersion: contract.example.com/v1, kind: Machine, metadata: {{name: {name}}}, \
             spec: {{infrastructureRef: {{apiGroup: {group}, kind: {kind}, name: {name}}}}}}}"
    )
}

/// The groups of the two providers, which run, and so does the core.
async fn two_clouds(namespace: &str) -> (String, String, [Child; 3]) {
    install("api_contract", namespace).await;
    let group = |cloud: &str| format!("{cloud}.{namespace}.example.com");
    let processes = [
        start("api_contract", &["core"], namespace).await,
        start("api_contract", &["small"], namespace).await,
        start("api_contract", &["big"], namespace).await,
    ];
    (group("small"), group("big"), processes)
}

fn infrastructure(name: &str, group: &str, kind: &str) -> String {
    format!("{{apiVersion: {group}/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {{cores: 2}}}}")
}

/// At every moment each Machine of the fleet has an instance: the former one stays until the new one is there.
#[tokio::test]
async fn a_provider_is_swapped_for_a_running_fleet() {
    const FLEET: [&str; 5] = ["api", "cache", "db", "queue", "web"];
    let namespace = &namespace().await;
    let kubectl = async |arguments: &[&str], input: &str| kubectl(namespace, arguments, input).await;
    let (small, big, _processes) = two_clouds(namespace).await;
    let apply = async |objects: &dyn Fn(&str) -> String| {
        let all = FLEET.map(objects).join("\n---\n");
        kubectl(&["apply", "--server-side", "-f", "-"], &all).await
    };
    let wait = async |what: &str, kind: &str| {
        kubectl(&["wait", "--timeout=120s", &format!("--for={what}"), "--all", kind], "").await
    };
    let machines = "machines.contract.example.com";
    apply(&|name| infrastructure(name, &small, "SmallMachine")).await;
    apply(&|name| machine(name, &small, "SmallMachine")).await;
    wait("condition=InfrastructureReady", machines).await;

    let instances: Api<ConfigMap> = Api::namespaced(plane().await.client().unwrap(), namespace);
    let before = instances.list(&ListParams::default()).await.unwrap();
    let (version, mut running) = (before.metadata.resource_version.unwrap(), BTreeSet::new());
    running.extend(before.items.iter().map(ResourceExt::name_any).filter(|name| name != "kube-root-ca.crt"));
    let of = |cloud: &str| FLEET.map(|name| format!("{cloud}-{name}-"));
    check_instances(&running.iter().collect::<Vec<_>>(), &of("small").each_ref().map(String::as_str));
    let mut events = pin!(instances.watch(&WatchParams::default(), &version).await.unwrap());
    apply(&|name| infrastructure(name, &big, "BigMachine")).await;
    apply(&|name| machine(name, &big, "BigMachine")).await;
    while running.iter().any(|name| name.starts_with("small-")) {
        let event = timeout(Duration::from_secs(120), events.next()).await.expect("the fleet must move");
        match event.unwrap().unwrap() {
            WatchEvent::Added(instance) => drop(running.insert(instance.name_any())),
            WatchEvent::Deleted(instance) => drop(running.remove(&instance.name_any())),
            _ => {}
        }
        let has_one = |name: &&str| running.iter().any(|it| it.contains(&format!("-{name}-")));
        assert!(FLEET.iter().all(has_one), "a Machine has lost its instance: {running:?}");
    }
    wait("jsonpath={.status.infrastructure.kind}=BigMachine", machines).await;
    wait("condition=InfrastructureReady", machines).await;
    wait("delete", &format!("smallmachines.{small}")).await;
    let running: Vec<_> = running.into_iter().collect();
    check_instances(&running, &of("big").each_ref().map(String::as_str));
    let ids = kubectl(&["get", machines, "-o", "jsonpath={.items[*].status.providerId}"], "").await;
    assert_eq!(ids, running.iter().map(|name| format!("big://{name}")).collect::<Vec<_>>().join(" "));
}

/// The label is taken off the kind that a Machine leaves: its object stays known until it can be deleted.
#[tokio::test]
async fn a_provider_that_broke_the_contract_is_not_forgotten_with_its_objects() {
    let namespace = &namespace().await;
    let kubectl = async |arguments: &[&str], input: &str| kubectl(namespace, arguments, input).await;
    let (small, big, _processes) = two_clouds(namespace).await;
    let apply = async |text: &str| kubectl(&["apply", "--server-side", "-f", "-"], text).await;
    let until = async |what: &str| {
        let machine = "machines.contract.example.com/web";
        kubectl(&["wait", "--timeout=120s", &format!("--for={what}"), machine], "").await
    };
    for (group, kind) in [(&small, "SmallMachine"), (&big, "BigMachine")] {
        apply(&infrastructure("web", group, kind)).await;
    }
    apply(&machine("web", &small, "SmallMachine")).await;
    until("condition=InfrastructureReady").await;

    let definition = format!("crd/smallmachines.{small}");
    kubectl(&["label", &definition, "contract.example.com/v1-"], "").await;
    until("condition=InfrastructureReady=False").await;
    apply(&machine("web", &big, "BigMachine")).await;
    until("condition=FormerInfrastructureDeleted=False").await;
    until("condition=InfrastructureReady").await;
    let object = format!("smallmachines.{small}/web");
    kubectl(&["get", &object], "").await;

    kubectl(&["label", &definition, "contract.example.com/v1=v1"], "").await;
    kubectl(&["wait", "--timeout=120s", "--for=delete", &object], "").await;
    until("jsonpath={.status.infrastructure.kind}=BigMachine").await;
    let instances = kubectl(&["get", "configmaps", "-o", "name"], "").await;
    check_instances(
        &instances.lines().collect::<Vec<_>>(),
        &["configmap/big-web-", "configmap/kube-root-ca.crt"],
    );
}

#[tokio::test]
async fn a_demo_starts_its_own_control_plane_and_ends_by_itself() {
    // On a new machine the programs are built first, which takes minutes.
    tokio::task::spawn_blocking(ControlPlane::programs).await.unwrap().unwrap();
    let mut command = Command::new(program("api_contract"));
    let begun = Instant::now();
    let output = timeout(Duration::from_secs(300), command.arg("--demo").kill_on_drop(true).output());
    let output = output.await.expect("it must end").unwrap();
    println!("the demo took {:.1} s", begun.elapsed().as_secs_f64());
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.ends_with("The end.\n"), "{printed}");
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("api_contract", &["core", "small", "big"]).await).await;
}

/// As a virtual machine that is moved: it goes on with a write that another process has made superfluous long ago.
#[tokio::test]
async fn a_process_that_was_frozen_before_any_write_does_no_damage_when_it_goes_on() {
    for role in ["core", "small", "small-v2", "big"] {
        freeze_at_every_write("api_contract", role, check).await;
    }
}
