//! The demo on a real API server; the end state is read from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../tests/patterns/demo.rs"]
#[allow(dead_code, reason = "the rest is for the other patterns")]
mod demo;
#[path = "../../../tests/patterns/reader.rs"]
mod reader;

use std::path::Path;

use tokio::process::Command;
use wasm_plugins::{Limits, Sandbox};

use demo::{DemoRun, kill_at_every_write, plane, program, run_demo, run_demo_doubled};
use reader::Reader;

const PATTERN: &str = "wasm-plugins";

#[tokio::test]
async fn plug_ins_in_two_languages_are_asked_and_misbehaving_ones_are_named() {
    let run = run_demo(PATTERN, &[]).await;
    run.check_declarations(&[]).await;
    check(&run).await;
    let committed = include_str!("../objects.yaml").lines().find_map(|line| line.split_once("plugIn: "));
    let (_, digest) = committed.unwrap();
    assert!(
        run.output.contains(&format!("only-eu is {digest}")),
        "objects.yaml has another digest:\n{}",
        run.output
    );
}

#[tokio::test]
async fn a_controller_that_is_killed_at_any_write_converges_at_its_next_start() {
    kill_at_every_write(PATTERN, "placement", check).await;
}

/// The steps are those of the page, see `examples/tests/patterns/kubeconfig.rs`.
#[tokio::test]
async fn the_pattern_runs_in_the_cluster_of_a_kubeconfig() {
    let visible = ("machines.wasm.example.com/a", "jsonpath={.status.zone}=eu-1");
    let (reader, folder) = (Reader::start().await, Path::new(env!("CARGO_MANIFEST_DIR")));
    let _running = reader.follow(PATTERN, folder, &[], visible).await;
    reader.type_in_the_rest(include_str!("../../../../docs/patterns/wasm-plugins.md")).await;
}

/// As during an update of a Deployment: both act on the same objects, and neither knows of the other.
#[tokio::test]
async fn two_processes_of_a_controller_agree() {
    check(&run_demo_doubled(PATTERN, &["placement"]).await).await;
}

async fn check(run: &DemoRun) {
    let machines = run.objects("wasm.example.com", "v1", "Machine").await;
    let message = |name: &str| {
        let conditions = machines[name]["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 1, "{name}: {conditions:?}");
        conditions[0]["message"].as_str().unwrap().to_owned()
    };
    for (name, zone) in [("in-wat", "eu-1"), ("in-go", "us-1"), ("after", "us-1")] {
        assert_eq!(message(name), "by its plug-in", "{}", run.output);
        assert_eq!(machines[name]["status"]["zone"], zone, "{}", run.output);
    }
    for (name, why) in [
        ("loops", "was stopped: wasm trap: all fuel consumed"),
        ("hoards", "was stopped: memory minimum size of 5000 pages exceeds memory limits"),
        ("outside", "gave a bad answer: it points outside its memory"),
        ("traps", "was stopped: wasm trap: wasm `unreachable` instruction executed"),
        ("files", "imports env.open, and plug-ins are given nothing"),
        ("changed", "it was changed, refuse it"),
        ("unsigned", "is not signed"),
        ("strange", "has no signature of a trusted key"),
    ] {
        assert!(message(name).contains(why), "{name}: {}", message(name));
    }
}

/// `PATTERNS_UPDATE=1` writes them.
#[tokio::test]
async fn the_committed_manifests_are_those_of_the_program_and_the_api_server_accepts_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        ("--definitions", "definitions.yaml"),
        ("--roles", "roles.yaml"),
        ("--declarations", "controllers.md"),
    ];
    for (argument, file) in files {
        let printed = Command::new(program(PATTERN)).arg(argument).output().await.unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        if std::env::var_os("PATTERNS_UPDATE").is_some() {
            std::fs::write(folder.join(file), &printed).unwrap();
        }
        let committed = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        assert_eq!(committed, printed, "{file}: run with PATTERNS_UPDATE=1");
    }
    let plane = plane().await;
    let kubectl = async |arguments: &[&str], file: &str| {
        let output = plane.kubectl().args(arguments).arg(folder.join(file)).output().await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    kubectl(&["apply", "--server-side", "-f"], "definitions.yaml").await;
    kubectl(&["wait", "--for=condition=Established", "-f"], "definitions.yaml").await;
    kubectl(&["apply", "--server-side", "--dry-run=server", "-f"], "objects.yaml").await;
}

/// A table has eight bytes of the host for each element, which the limit on memory does not count.
#[test]
fn tables_are_bounded_when_they_are_made_and_when_they_grow() {
    let sandbox = Sandbox::new(Limits::default()).unwrap();
    let module = |tables: &str, version: &str| {
        let module = format!(
            r#"(module {tables} (memory (export "memory") 1)
            (func (export "abi_version") (result i32) {version}))"#
        );
        sandbox.load(module.as_bytes()).map(drop).map_err(|error| error.to_string())
    };
    let grow = |by: u32| format!("(table.grow 0 (table.get 0 (i32.const 0)) (i32.const {by}))");
    assert_eq!(module("(table 10 funcref)", "(i32.const 1)"), Ok(()));
    let refused = module("(table 100000000 funcref)", "(i32.const 1)").unwrap_err();
    assert!(refused.starts_with("was stopped: table minimum size"), "{refused}");
    // `table.grow` answers -1, which is then the version.
    let grown = module("(table 10 funcref)", &grow(100_000_000)).unwrap_err();
    assert_eq!(grown, "has ABI version -1, and 1 is spoken here");
    assert!(module(&"(table 10 funcref)".repeat(100), "(i32.const 1)").is_err());
}
