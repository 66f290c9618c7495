//! A demo whose reader goes, or that is interrupted; and the command of the pattern that is in a package of its own.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::demo::{namespace, plane, program};

/// A demo on the shared API server, as a terminal starts it: a process group of its own.
async fn demo(pattern: &str) -> Command {
    let mut command = Command::new(program(pattern));
    command.args(["--demo", "--here", "--namespace", &namespace().await]);
    command.env("KUBECONFIG", plane().await.kubeconfig()).process_group(0);
    command
}

/// As with `| head`: what is printed is lost, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_demo_whose_reader_has_gone_ends_well() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let errors = writer.try_clone().unwrap();
    let status = demo("one_object").await.stdout(writer).stderr(errors).status().unwrap();
    assert!(status.success(), "{status}");
}

/// As with `| head`, what is left out is left out, and nothing panics.
#[test]
fn what_a_pattern_prints_may_be_read_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    std::fs::write(&log, "").unwrap();
    let (log, failed) = (log.to_str().unwrap(), Some(1));
    for (arguments, code) in [
        (vec!["--definitions"], Some(0)),
        (vec!["--declarations"], Some(0)),
        (vec!["--roles"], Some(0)),
        (vec!["--check-audit", log], failed),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = Command::new(program("one_object")).args(&arguments).stdout(writer).status().unwrap();
        assert_eq!(status.code(), code, "{arguments:?}");
    }
}

#[test]
fn a_line_that_is_not_an_event_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    std::fs::write(&log, "{}\n{\"verb\":\n").unwrap();
    let output = Command::new(program("one_object")).arg("--check-audit").arg(&log).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("audit.log: line 2"), "{error}");
    assert!(error.contains("it is not an event"), "{error}");
}

/// The shell of a user has the address of a collector that this program cannot send to, and no cluster.
#[test]
fn a_collector_that_nothing_can_be_sent_to_ends_no_program() {
    let mut command = Command::new(program("one_object"));
    command.args(["--role", "nosuch"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example.com");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], \
                users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a}}]}";
    std::fs::write(&kubeconfig, text).unwrap();
    let output = command.env("KUBECONFIG", kubeconfig).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("warning: no spans are exported: OTEL_EXPORTER_OTLP_ENDPOINT is https://"),
        "{error}"
    );
    assert!(error.contains("there is no role nosuch: the roles are machine, drain, cost"), "{error}");
}

/// Ctrl-C while a plug-in hangs: its controller does not wait for it, and the folder of the demo goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    for (pattern, place) in [("in_process_plugins", "3. "), ("sidecar_plugins", "2. ")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = demo(pattern).await;
        let (reader, writer) = std::io::pipe().unwrap();
        command.env("TMPDIR", folder.path()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut lines = BufReader::new(reader);
        let mut line = String::new();
        while !line.starts_with(place) {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "{pattern} has ended before {place}");
        }
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        let mut rest = String::new();
        // The controllers hold the other end too, so this ends when they have.
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
        assert!(rest.contains("Error: the demo was interrupted"), "{rest}");
        assert!(!rest.contains("did not answer"), "it has waited for a plug-in:\n{rest}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{pattern}");
    }
}

/// The program of the pattern takes minutes to build with the features that it has alone. So another program is its Cargo here.
#[test]
fn the_wasm_pattern_runs_from_its_package_with_the_arguments_and_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    std::fs::write(&cargo, "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(program("wasm_plugins"));
    command.args(["--demo", "--kill", "placement:3"]).env("CARGO", cargo).current_dir(&folder);
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let printed = String::from_utf8(output.stdout).unwrap();
    let [run, example, name, manifest_path, manifest, rest @ ..] = &printed.lines().collect::<Vec<_>>()[..]
    else {
        panic!("{printed}")
    };
    assert_eq!([*run, *example, *manifest_path], ["run", "--example", "--manifest-path"]);
    assert_eq!(rest, ["--", "--demo", "--kill", "placement:3"]);
    let package = Path::new(manifest).parent().unwrap();
    assert!(
        Path::new(manifest).exists() && package.join(format!("examples/{name}.rs")).exists(),
        "{printed}"
    );
}
