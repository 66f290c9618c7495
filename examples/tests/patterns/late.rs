//! A core that was frozen before a write, and a Machine that has left an object and come back to it meanwhile: the object is the
//! same, with the same uid, and nobody has written to it.

use std::future::Future;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::demo::{install, kubectl, namespace, plane, program, start};

const PATTERN: &str = "api_contract";
const MACHINE: &str = "machines.contract.example.com/web";

/// A core that stops before one of its writes.
struct Frozen {
    process: Child,
    /// The write, once it has stopped there.
    before: watch::Receiver<Option<String>>,
}

/// A Machine `web`, with an object of that name at either provider.
struct Stage {
    namespace: String,
    _providers: [Child; 2],
}

// === impl Frozen ===

impl Frozen {
    async fn start(namespace: &str, place: &str) -> Self {
        let mut command = Command::new(program(PATTERN));
        command.args(["--namespace", namespace, "--role", "core", place]);
        command.env("KUBECONFIG", plane().await.kubeconfig()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, before) = watch::channel(None);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some((_, write)) = line.split_once("frozen before ") {
                    sender.send_replace(Some(write.to_owned()));
                }
            }
        });
        Self { process, before }
    }

    /// Waits until the Machine is in a state, or this process has stopped; returns the write then.
    async fn or(&mut self, state: impl Future<Output = ()>) -> Option<String> {
        tokio::select! {
            () = state => None,
            // The sender goes when the process ends, which it does not by itself.
            stopped = self.before.wait_for(Option::is_some) => stopped.unwrap().clone(),
        }
    }

    /// Lets it go on, and ends it when it has finished what it had begun.
    async fn finish(mut self) {
        let id = self.process.id().unwrap().to_string();
        for signal in ["-TERM", "-CONT"] {
            assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
        }
        timeout(Duration::from_secs(60), self.process.wait()).await.expect("it must end").unwrap();
    }
}

// === impl Stage ===

impl Stage {
    async fn begin() -> Self {
        let namespace = namespace().await;
        install(PATTERN, &namespace).await;
        let _providers =
            [start(PATTERN, &["small"], &namespace).await, start(PATTERN, &["big"], &namespace).await];
        let stage = Self { namespace, _providers };
        stage.create("small", "SmallMachine").await;
        stage.create("big", "BigMachine").await;
        stage
    }

    async fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        kubectl(&self.namespace, arguments, input).await
    }

    async fn create(&self, provider: &str, kind: &str) {
        let group = format!("{provider}.{}.example.com", self.namespace);
        let object =
            format!("{{apiVersion: {group}/v1, kind: {kind}, metadata: {{name: web}}, spec: {{cores: 2}}}}");
        self.kubectl(&["apply", "--server-side", "-f", "-"], &object).await;
    }

    async fn refer(&self, machine: &str, provider: &str, kind: &str) {
        let group = format!("{provider}.{}.example.com", self.namespace);
        let text = format!(
            "{{apiVersion: contract.example.com/v1, kind: Machine, metadata: {{name: {machine}}}, \
             spec: {{infrastructureRef: {{apiGroup: {group}, kind: {kind}, name: web}}}}}}"
        );
        self.kubectl(&["apply", "--server-side", "-f", "-"], &text).await;
    }

    async fn until(&self, what: &str) {
        self.kubectl(&["wait", "--timeout=120s", &format!("--for={what}"), MACHINE], "").await;
    }

    async fn small(&self) -> Value {
        let kind = format!("smallmachines.small.{}.example.com", self.namespace);
        let found = self.kubectl(&["get", &kind, "web", "--ignore-not-found", "-o", "json"], "").await;
        if found.is_empty() { Value::Null } else { serde_json::from_str(&found).unwrap() }
    }

    /// Waits until a core has judged the Machine as it is now.
    async fn until_ready(&self, provider: &str) {
        let generation = self.kubectl(&["get", MACHINE, "-o", "jsonpath={.metadata.generation}"], "").await;
        self.until("condition=InfrastructureReady").await;
        self.until(&format!("jsonpath={{.status.conditions[0].observedGeneration}}={generation}")).await;
        let id = self.kubectl(&["get", MACHINE, "-o", "jsonpath={.status.providerId}"], "").await;
        assert!(id.starts_with(provider), "{id}");
    }
}

/// Moves the Machine to `big` and back, with a core that stops where this argument says. Returns the write before which it stopped,
/// or `None` if it made none there.
async fn away_and_back(place: &str) -> Option<String> {
    let stage = Stage::begin().await;
    let mut frozen = Frozen::start(&stage.namespace, place).await;
    stage.refer("web", "small", "SmallMachine").await;
    let mut stopped = frozen.or(stage.until("condition=InfrastructureReady")).await;
    stage.refer("web", "big", "BigMachine").await;
    if stopped.is_none() {
        stopped = frozen.or(stage.until("jsonpath={.status.infrastructure.kind}=BigMachine")).await;
    }
    let stopped = stopped?;
    // Only what it has deleted before it stopped may be gone.
    if !stage.small().await["metadata"]["deletionTimestamp"].is_null() {
        let kind = format!("smallmachines.small.{}.example.com/web", stage.namespace);
        stage.kubectl(&["wait", "--timeout=120s", "--for=delete", &kind], "").await;
    }
    stage.create("small", "SmallMachine").await;
    stage.refer("web", "small", "SmallMachine").await;
    let _other = start(PATTERN, &["core"], &stage.namespace).await;
    stage.until_ready("small://").await;
    let before = stage.small().await;

    frozen.finish().await;
    let after = stage.small().await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "late {stopped}: the object is gone");
    assert_eq!(after["metadata"]["deletionTimestamp"], Value::Null, "late {stopped}: it is in use");
    stage.until_ready("small://").await;
    Some(stopped)
}

#[tokio::test]
async fn a_core_that_was_frozen_does_not_delete_what_a_machine_has_come_back_to() {
    let mut writes = Vec::new();
    while let Some(write) = away_and_back(&format!("--freeze-before={}", writes.len() + 1)).await {
        writes.push(write);
    }
    println!("a core was frozen before {writes:#?}");
    // The number of writes before the deletion varies with the states that the core reads, so counting may miss it.
    let deletion = away_and_back("--freeze-before-delete").await.unwrap();
    assert!(deletion.starts_with("DELETE"), "{deletion}");
}

/// The object is for one Machine: another that refers to it waits, and takes nothing with it when it goes.
#[tokio::test]
async fn a_machine_does_not_take_away_what_another_uses() {
    let stage = Stage::begin().await;
    let _core = start(PATTERN, &["core"], &stage.namespace).await;
    stage.refer("web", "small", "SmallMachine").await;
    stage.until_ready("small://").await;
    let before = stage.small().await;
    stage.refer("other", "small", "SmallMachine").await;
    let other = "machines.contract.example.com/other";
    let until = async |what: &str| {
        stage.kubectl(&["wait", "--timeout=120s", &format!("--for={what}"), other], "").await;
    };
    until("jsonpath={.status.conditions[0].reason}=InUse").await;
    stage.refer("other", "big", "BigMachine").await;
    until("jsonpath={.status.infrastructure.kind}=BigMachine").await;
    let after = stage.small().await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"]["deletionTimestamp"], Value::Null);
}
