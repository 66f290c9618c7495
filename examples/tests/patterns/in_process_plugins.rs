//! In-process and executable plug-ins: a plug-in that misbehaves is named in a condition and does not affect the others.

use crate::demo::{DemoRun, kill_at_every_write, run_demo, run_demo_doubled};

async fn check(run: &DemoRun) {
    let machines = run.objects("strategies.example.com", "v1", "Machine").await;
    for name in ["builtin", "program", "nosy", "after"] {
        assert_eq!(DemoRun::reason(&machines[name], "Placed"), "Placed", "{name}: {}", run.output);
    }
    for (name, message) in [
        ("hangs", "hangs did not answer in 10 s"),
        ("floods", "floods answered with more than 65536 bytes"),
        ("crashes", "crashes ended with signal: 11"),
        ("lies", "lies its answer is not of protocol v1"),
        ("too-new", "too-new speaks protocol v7, and v1 is spoken here"),
        ("missing", "missing is not among"),
    ] {
        let condition = &machines[name]["status"]["conditions"][0];
        assert!(condition["message"].as_str().unwrap().starts_with(message), "{condition}");
    }
}

#[tokio::test]
async fn programs_that_misbehave_leave_the_controller_alive_and_are_named() {
    let run = run_demo("in_process_plugins", &[]).await;
    run.check_declarations(&[]).await;
    check(&run).await;
}

#[tokio::test]
async fn a_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("in_process_plugins", "placement", check).await;
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("in_process_plugins", &["placement"]).await).await;
}
