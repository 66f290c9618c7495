//! One object, several controllers: order, absence, ownership.

use tokio::process::Command;

use crate::demo::{
    DemoRun, freeze_at_every_write, kill_at_every_write, namespace, plane, program, run_demo,
    run_demo_doubled,
};

async fn check(run: &DemoRun) {
    let machines = run.objects("one-object.example.com", "v1", "Machine").await;
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["c"], "{}", run.output);
    let c = &machines["c"]["metadata"];
    let finalizers = c["finalizers"].as_array().unwrap();
    for name in ["instance", "drain"] {
        assert!(finalizers.contains(&format!("one-object.example.com/{name}").into()), "{c}");
    }
    assert_eq!(c["annotations"]["one-object.example.com/cents-per-hour"], "12");
    assert_eq!(DemoRun::reason(&machines["c"], "Ready"), "Running");
    let uid = c["uid"].as_str().unwrap().split('-').next().unwrap();
    let left = [format!("instance-c-{uid}"), "job-c".to_owned()];
    assert_eq!(run.config_maps().await, left, "nothing is left behind, c is untouched");
}

#[tokio::test]
async fn three_controllers_share_a_machine() {
    let run = run_demo("one_object", &[]).await;
    run.check_declarations(&[]).await;
    check(&run).await;
    let output = &run.output;
    let at = |text: &str| output.find(text).unwrap_or_else(|| panic!("{text} is missing in\n{output}"));
    let released = |name: &str| {
        let is_it = |line: &str| line.contains(&format!("instance-{name}-")) && line.ends_with("is released");
        at(output.lines().find(|line| is_it(line)).expect("a release"))
    };
    assert!(at("c has fields of") < at("conflict"), "{output}");
    assert!(at("job-a leaves a") < released("a"), "drained first:\n{output}");
    assert!(at("which `drain` has set and must remove") < at("job-b leaves b"), "{output}");
    assert!(at("job-b leaves b") < released("b"), "{output}");
}

#[tokio::test]
async fn controllers_that_are_killed_at_any_write_converge_at_their_next_start() {
    for role in ["machine", "drain", "drain again", "cost"] {
        kill_at_every_write("one_object", role, check).await;
    }
}

#[tokio::test]
async fn a_role_that_is_not_in_the_story_cannot_be_killed_or_frozen() {
    for (fault, fate) in [("--kill", "killed"), ("--freeze", "frozen")] {
        let namespace = namespace().await;
        let mut command = Command::new(program("one_object"));
        command.args(["--demo", "--here", "--namespace", &namespace, fault, "machin:1"]);
        let output = command.env("KUBECONFIG", plane().await.kubeconfig()).output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        let message = format!("`machin` was to be {fate}, and this demo starts no such role");
        assert!(errors.contains(&message), "{errors}");
    }
}

#[tokio::test]
async fn a_write_that_never_comes_is_named() {
    for (fault, fate) in [("--kill", "killed"), ("--freeze", "frozen")] {
        let run = run_demo("one_object", &[fault, "machine:9999"]).await;
        let line = format!("  !! machine was never {fate}: it made fewer than 9999 writes");
        assert!(run.output.lines().any(|said| said == line), "{}", run.output);
    }
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("one_object", &["machine", "drain", "cost"]).await).await;
}

/// As a virtual machine that is moved: it goes on with a write that another process has made superfluous long ago.
#[tokio::test]
async fn a_process_that_was_frozen_before_any_write_does_no_damage_when_it_goes_on() {
    for role in ["machine", "drain", "drain again", "cost"] {
        freeze_at_every_write("one_object", role, check).await;
    }
}
