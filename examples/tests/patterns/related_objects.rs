//! Fleet, MachineSet, Machine: rollout, rollback, adoption, release, and both ways to delete.

use serde_json::Value;

use crate::stage::{Told, freeze_at_every_write, kill_at_every_write, tell, tell_twice};

const GROUP: &str = "related-objects.example.com";

async fn check(told: &Told) {
    let fleets = told.objects(GROUP, "v1", "Fleet").await;
    assert_eq!(fleets.keys().collect::<Vec<_>>(), ["db"], "{}", told.story);
    let sets = told.objects(GROUP, "v1", "MachineSet").await;
    assert_eq!(sets.len(), 1, "{sets:?}");
    let owner = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"].clone();
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let set = sets.values().next().unwrap();
    assert_eq!(owner(set), uid(&fleets["db"]));
    let machines = told.objects(GROUP, "v1", "Machine").await;
    assert_eq!(machines.len(), 2, "{machines:?}");
    assert!(machines.values().all(|machine| owner(machine) == uid(set)), "{machines:?}");
}

#[tokio::test]
async fn a_fleet_rolls_out_and_back_and_is_deleted_both_ways() {
    let told = tell("related_objects", &[]).await;
    told.check_declarations(&[]).await;
    check(&told).await;
    for text in ["is released", "is adopted", "(revision 2) is forgotten", "(revision 4, v1)"] {
        assert!(told.story.contains(text), "{text} is missing in\n{}", told.story);
    }
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
    check(&tell_twice("related_objects", &["fleet", "machineset", "machine"]).await).await;
}

/// As a virtual machine that is moved: it goes on with a write that another process has made superfluous long ago.
#[tokio::test]
async fn a_process_that_was_frozen_before_any_write_does_no_damage_when_it_goes_on() {
    for role in ["fleet", "machineset", "machine"] {
        freeze_at_every_write("related_objects", role, check).await;
    }
}
