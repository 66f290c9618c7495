//! The API contract: any provider, two contract versions, and a provider that is swapped.

use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::time::timeout;

use crate::stage::{Told, kill_at_every_write, program, tell};

async fn check(told: &Told) {
    let machines = told.objects("contract.example.com", "v1", "Machine").await;
    let reasons = ["db", "huge", "lab", "vast", "web"]
        .map(|name| (name, Told::reason(&machines[name], "InfrastructureReady")));
    let expected = [
        ("db", "Provisioned"),
        ("huge", "TooLarge"),
        ("lab", "ContractBroken"),
        ("vast", "TooLarge"),
        ("web", "Provisioned"),
    ];
    assert_eq!(reasons, expected.map(|(name, reason)| (name, reason.to_owned())), "{}", told.story);
    assert_eq!(machines["web"]["status"]["providerId"], "big://big-web");
    assert_eq!(machines["web"]["status"]["infrastructure"]["kind"], "BigMachine");
    assert_eq!(
        told.config_maps().await,
        ["big-db", "big-web"],
        "no instance is left behind, none is missing"
    );
}

#[tokio::test]
async fn the_core_reads_any_provider_that_keeps_the_contract() {
    let told = tell("api_contract", &[]).await;
    // The core never leaves `big`, and none of its Machines is deleted.
    let delete =
        format!("core: declared and never made: delete bigmachines.big.{}.example.com", told.namespace);
    told.check_declarations(&[&delete, "big: declared and never made: delete configmaps"]).await;
    check(&told).await;
    let has = |text: &str| assert!(told.story.contains(text), "{text} is missing in\n{}", told.story);
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

#[tokio::test]
async fn a_demo_starts_its_own_control_plane_and_ends_by_itself() {
    let mut command = Command::new(program("api_contract"));
    let begun = Instant::now();
    let output = timeout(Duration::from_secs(300), command.arg("--demo").kill_on_drop(true).output());
    let output = output.await.expect("it must end").unwrap();
    println!("the demo took {:.1} s", begun.elapsed().as_secs_f64());
    let story = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && story.ends_with("The end.\n"), "{story}");
}
