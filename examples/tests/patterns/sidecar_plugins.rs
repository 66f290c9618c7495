//! Sidecar plug-ins: start order, crashes of either side, and callers of another user.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;

use crate::demo::{DemoRun, kill_at_every_write, plane, program, run_demo, run_demo_doubled};

async fn check(run: &DemoRun) {
    let machines = run.objects("sidecar.example.com", "v1", "Machine").await;
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["early", "later", "meanwhile", "refused"]);
    for (name, machine) in &machines {
        assert_eq!(DemoRun::reason(machine, "Placed"), "Placed", "{name}: {}", run.output);
        assert_eq!(machine["status"]["zone"], "us-1");
    }
}

#[tokio::test]
async fn either_side_may_start_first_crash_or_be_refused() {
    let run = run_demo("sidecar_plugins", &[]).await;
    run.check_declarations(&[]).await;
    check(&run).await;
    for text in [
        "early: nowhere yet (WaitingForSidecar",
        "refused a caller with user id",
        "the sidecar refused the call",
    ] {
        assert!(run.output.contains(text), "{text} is missing in\n{}", run.output);
    }
}

#[tokio::test]
async fn a_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write("sidecar_plugins", "placement", check).await;
}

/// As a kubelet ends a container: SIGTERM, then it waits.
#[tokio::test]
async fn a_sidecar_that_is_asked_to_end_answers_what_it_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    let mut command = Command::new(program("sidecar_plugins"));
    command.args(["--role", "sidecar", "--"]).arg(&shared).env("KUBECONFIG", plane().await.kubeconfig());
    let mut sidecar = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(sidecar.stdout.take().unwrap()).lines();
    assert!(said.next_line().await.unwrap().unwrap().contains("listens"));

    let (reader, mut writer) = UnixStream::connect(shared.join("rank.sock")).await.unwrap().into_split();
    let mut lines = BufReader::new(reader).lines();
    lines.next_line().await.unwrap().expect("a greeting");
    let process = Pid::from_raw(i32::try_from(sidecar.id().unwrap()).unwrap()).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    writer.write_all(b"{\"machine\": \"a\", \"cores\": 2, \"zones\": []}\n").await.unwrap();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(r#"{"zones":[]}"#));
    assert_eq!(sidecar.wait().await.unwrap().code(), Some(0));
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled("sidecar_plugins", &["placement"]).await).await;
}
