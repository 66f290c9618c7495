//! Sidecar plug-ins: start order, crashes of either side, and callers of another user.

use crate::stage::{Told, tell};

#[tokio::test]
async fn either_side_may_start_first_crash_or_be_refused() {
    let told = tell("sidecar_plugins", &[]).await;
    told.check_declarations(&[]).await;
    let machines = told.objects("sidecar.example.com", "v1", "Machine").await;
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["early", "later", "meanwhile", "refused"]);
    for (name, machine) in &machines {
        assert_eq!(Told::reason(machine, "Placed"), "Placed", "{name}: {}", told.story);
        assert_eq!(machine["status"]["zone"], "us-1");
    }
    for text in [
        "early: nowhere yet (WaitingForSidecar",
        "refused a caller with user id",
        "the sidecar refused the call",
    ] {
        assert!(told.story.contains(text), "{text} is missing in\n{}", told.story);
    }
}
