//! Plug-ins in WebAssembly: one in WAT, one in Go, loaded by digest, and some that misbehave.
//!
//! ```sh
//! cargo run -p examples --example wasm_plugins -- --demo     # needs Go, to build the Go plug-in
//! cargo run -p examples --example wasm_plugins               # the same plug-ins, in your kubeconfig's cluster
//! ```

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::prelude::{BASE64_STANDARD, Engine};
use controller_declaration::{Declaration, DeclaredAccess};
use examples::ranking::{Question, Zone};
use examples::{Cluster, Condition, Demo, Pattern, drive, no_role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::controller::Action;
use kube::{CustomResource, CustomResourceExt, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasm_plugins::{Layout, Limits, PlugIn, Sandbox, Signer, Trust};

const AGAIN: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "wasm.example.com", version = "v1", kind = "Machine", namespaced, status = "MachineStatus")]
#[serde(rename_all = "camelCase")]
struct MachineSpec {
    cores: u32,
    /// The digest of the manifest of a plug-in.
    plug_in: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
struct MachineStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    conditions: Vec<Condition>,
}

struct Placement {
    cluster: Cluster,
    layout: Layout,
    trust: Trust,
    sandbox: Sandbox,
    /// By digest, so an entry is never out of date.
    loaded: Mutex<HashMap<String, PlugIn>>,
}

async fn reconcile(machine: Arc<Machine>, placement: Arc<Placement>) -> Result<Action> {
    let (machine, cluster) = (machine.as_ref(), &placement.cluster);
    let before = machine.status.clone().unwrap_or_default();
    if before.zone.is_some() {
        return Ok(Action::await_change());
    }
    let question = Question::new(&machine.name_any(), machine.spec.cores);
    let (digest, asked) = (machine.spec.plug_in.clone(), Arc::clone(&placement));
    // Compiling and running take a thread, for as long as the limits allow.
    let answer = tokio::task::spawn_blocking(move || asked.ask(&digest, &question)).await?;
    let (zone, reason, message) = match answer {
        Ok(zones) => (zones.into_iter().next().map(|zone| zone.name), "Placed", "by its plug-in".to_owned()),
        Err(error) => (None, "PlugInFailed", format!("the plug-in {error}")),
    };
    let generation = machine.metadata.generation;
    let condition =
        Condition::new(&before.conditions, "Placed", zone.is_some(), (reason, &message), generation);
    let after = MachineStatus { zone, conditions: vec![condition] };
    if after != before {
        let zone = after.zone.as_deref().unwrap_or("nowhere");
        if cluster.decide_status(&cluster.api(), machine, &after).await? {
            cluster.say(format!("Machine {}: {zone} ({reason}: {message})", machine.name_any()));
        }
    }
    Ok(if after.zone.is_some() { Action::await_change() } else { Action::requeue(AGAIN) })
}

// === impl Placement ===

impl Placement {
    fn ask(&self, digest: &str, question: &Question) -> Result<Vec<Zone>, String> {
        let plug_in = self.plug_in(digest)?;
        let answer = plug_in.rank(question).map_err(|error| error.to_string())?;
        question.check(&answer)
    }

    fn plug_in(&self, digest: &str) -> Result<PlugIn, String> {
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(digest) {
            return Ok(known.clone());
        }
        let module =
            self.trust.module(&self.layout, digest).map_err(|error| format!("is refused: {error}"))?;
        let plug_in = self.sandbox.load(&module).map_err(|error| error.to_string())?;
        lock().insert(digest.to_owned(), plug_in.clone());
        Ok(plug_in)
    }
}

struct WasmPlugins;

impl Pattern for WasmPlugins {
    const ROLES: &'static [&'static str] = &["placement"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Machine::crd()])
    }

    fn declarations(_: &str) -> Vec<Declaration> {
        let machines = DeclaredAccess::to("wasm.example.com", "machines").watches().writes(["/status"]);
        vec![Declaration::new("placement", "Asks the module that a Machine names.").access(machines)]
    }

    async fn control(role: String, options: Vec<String>, cluster: Cluster) -> Result<()> {
        if role != "placement" {
            return Err(no_role::<Self>(&role));
        }
        let ours = tempfile::tempdir()?;
        let (folder, key) = match options.as_slice() {
            [folder, key] => {
                (PathBuf::from(folder), BASE64_STANDARD.decode(key).context("the key is not base64")?)
            }
            [] => {
                let made = Made::new(ours.path())?;
                cluster.say(made.to_string());
                (ours.path().to_owned(), made.signer.public())
            }
            _ => bail!("say where the image layout is, and who may sign plug-ins: -- FOLDER PUBLIC-KEY"),
        };
        let machines = examples::controller::<Machine>(&cluster, ());
        let trust = Trust::new([key]);
        let (layout, sandbox) = (Layout::new(folder), Sandbox::new(Limits::default())?);
        drive(machines, Placement { cluster, layout, trust, sandbox, loaded: Mutex::default() }, reconcile)
            .await
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        let folder = tempfile::tempdir()?;
        demo.cluster().install(&[Machine::crd()]).await?;
        demo.chapter("1. Two plug-ins in an image layout: one written in WAT, one in Go.");
        let made = Made::new(folder.path())?;
        demo.cluster().say(made.to_string());
        let Made { layout, signer, wat, go } = &made;
        let signed = |module: &[u8]| sign(layout, signer, module);
        let key = BASE64_STANDARD.encode(signer.public());
        demo.start_as("placement", "placement", &[&folder.path().display().to_string(), &key]);
        placed(demo, "in-wat", wat, "eu-1").await?;
        placed(demo, "in-go", go, "us-1").await?;

        demo.chapter("2. Plug-ins that loop, hoard memory, read outside, trap, and ask for files.");
        for (name, body) in MISBEHAVING {
            let digest = signed(body.as_bytes())?;
            refused(demo, name, &digest).await?;
        }

        demo.chapter("3. A blob that was changed after its digest was written down.");
        let changed = signed(b"(module)")?;
        change_blob(folder.path(), &changed)?;
        refused(demo, "changed", &changed).await?;

        demo.chapter("4. A plug-in that nobody has signed, and one that a stranger has.");
        refused(demo, "unsigned", &layout.add(b"(module (memory 2))")?).await?;
        let strange = layout.add(b"(module (memory 3))")?;
        Signer::generate()?.sign(layout, &strange)?;
        refused(demo, "strange", &strange).await?;

        demo.chapter("5. The controller is alive.");
        placed(demo, "after", go, "us-1").await?;
        // Before its folder goes: the layout without an index would say that nothing is signed.
        demo.stop("placement").await;
        Ok(())
    }
}

/// An image layout with the two plug-ins of this example, and a key that has signed both.
struct Made {
    layout: Layout,
    signer: Signer,
    wat: String,
    go: String,
}

impl Made {
    fn new(folder: &Path) -> Result<Self> {
        let (layout, signer) = (Layout::new(folder), Signer::generate()?);
        let wat = sign(&layout, &signer, include_bytes!("../plug-ins/only-eu.wat"))?;
        let go = sign(&layout, &signer, &build_go(folder)?)?;
        Ok(Self { layout, signer, wat, go })
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only-eu is {}, cheapest is {}", self.wat, self.go)
    }
}

fn sign(layout: &Layout, signer: &Signer, module: &[u8]) -> std::io::Result<String> {
    let digest = layout.add(module)?;
    signer.sign(layout, &digest).map(|()| digest)
}

/// Each differs in one place from a plug-in that behaves.
const MISBEHAVING: [(&str, &str); 5] = [
    (
        "loops",
        r#"(module (memory (export "memory") 1) (func (export "abi_version") (result i32) (loop (br 0)) (i32.const 1)))"#,
    ),
    (
        "hoards",
        r#"(module (memory (export "memory") 5000) (func (export "abi_version") (result i32) (i32.const 1)))"#,
    ),
    (
        "outside",
        r#"(module (memory (export "memory") 1) (func (export "abi_version") (result i32) (i32.const 1))
        (func (export "allocate") (param i32) (result i32) (i32.const 0))
        (func (export "rank") (param i32 i32) (result i64) (i64.const 0x7fff000000000010)))"#,
    ),
    (
        "traps",
        r#"(module (memory (export "memory") 1) (func (export "abi_version") (result i32) unreachable))"#,
    ),
    (
        "files",
        r#"(module (import "env" "open" (func (param i32) (result i32))) (memory (export "memory") 1)
        (func (export "abi_version") (result i32) (i32.const 1)))"#,
    ),
];

/// Go's compiler, as a plug-in author runs it. It takes no other version than the one installed.
fn build_go(folder: &Path) -> Result<Vec<u8>> {
    let module = folder.join("cheapest.wasm");
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("plug-ins/cheapest");
    let mut go = Command::new("go");
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-o"]).arg(&module).arg(".").current_dir(source);
    go.env("GOOS", "wasip1").env("GOARCH", "wasm").env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
    let status = go.status().context("the plug-in `cheapest` is in Go: install Go 1.24 or later")?;
    ensure!(status.success(), "go build: {status}; the plug-in `cheapest` needs Go 1.24 or later");
    Ok(std::fs::read(module)?)
}

/// Writes something else into the module's blob.
fn change_blob(folder: &Path, manifest: &str) -> Result<()> {
    let blobs = folder.join("blobs/sha256");
    let manifest = std::fs::read(blobs.join(manifest.trim_start_matches("sha256:")))?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
    let digest = manifest.pointer("/layers/0/digest").and_then(serde_json::Value::as_str);
    let module = digest.context("no module")?;
    Ok(std::fs::write(blobs.join(module.trim_start_matches("sha256:")), "(module (memory 1))")?)
}

async fn machine(demo: &Demo, name: &str, digest: &str) -> Result<()> {
    let fields = json!({"spec": {"cores": 2, "plugIn": digest}});
    demo.cluster().apply::<Machine>(name, fields).await.map(drop)
}

async fn placed(demo: &mut Demo, name: &str, digest: &str, zone: &str) -> Result<()> {
    machine(demo, name, digest).await?;
    let there = |machine: &Machine| {
        machine.status.as_ref().is_some_and(|status| status.zone.as_deref() == Some(zone))
    };
    demo.until(name, &format!("be placed in {zone}"), there).await.map(drop)
}

async fn refused(demo: &mut Demo, name: &str, digest: &str) -> Result<()> {
    machine(demo, name, digest).await?;
    let named = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        Condition::says(&conditions, "Placed", "PlugInFailed", machine.metadata.generation)
    };
    demo.until(name, "say that its plug-in failed", named).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<WasmPlugins>().await
}
