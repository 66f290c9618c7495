//! One rule, four ways: replicas between 3 and 10, as an admission controller of our own, a Gatekeeper template, a Kyverno pattern,
//! and a ValidatingAdmissionPolicy, asked about the same dozen Deployments.
//!
//! ```sh
//! cargo run -p examples --example one_rule -- --demo    # starts a control plane
//! cargo run -p examples --example one_rule              # takes the cluster of your kubeconfig, which must reach this process
//! ```
//!
//! Our own controller and the ValidatingAdmissionPolicy are enforced by the API server. The requests that it sends to the former are
//! what the other two are asked about, and the ValidatingAdmissionPolicy once more, without the server.

mod cases;
mod declaration;
mod kyverno;
mod live;
mod manifests;
mod offline;
mod own;
mod verdict;

use admission_server::{CancellationToken, Server, ServingCertificate, Tls, TlsOptions};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use control_plane::ControlPlane;
use examples::{Cluster, Declared};
use kube::Config;
use serde_json::{Value, json};

use crate::cases::{Case, cases, deployment};
use crate::live::{FORMS, Live};
use crate::offline::{ENFORCED, Modes, Offline};
use crate::own::LastRequest;
use crate::verdict::{Verdict, print_table};

#[derive(Parser)]
struct Arguments {
    /// Starts a control plane instead of taking the cluster of the kubeconfig.
    #[arg(long)]
    demo: bool,
    /// The program's declaration.
    #[command(flatten)]
    declared: Declared,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.declared.print(&declaration::declarations(), "default")? {
        return Ok(());
    }
    let plane = if arguments.demo { Some(ControlPlane::start().await?) } else { None };
    let config = match &plane {
        Some(plane) => plane.config(),
        None => Config::infer().await.context("no cluster: set KUBECONFIG, or add `-- --demo`")?,
    };
    let live = Live::new(Cluster::connect(config, "one-rule", "one-rule", None)?);
    live.withdraw().await?;
    for form in FORMS {
        live.prepare(form).await?;
    }

    let requests = LastRequest::default();
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()])?;
    let tls = Tls::new(&certificate, TlsOptions::default())?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("https://{}", listener.local_addr()?);
    let serving = Server::new(listener, requests.routes()).with_tls(tls).run(CancellationToken::new());
    let asking = async {
        live.register_webhook(&url, &certificate.authority).await?;
        ask(&live, &requests).await
    };
    let asked = tokio::select! {
        asked = asking => asked,
        () = serving => Err(anyhow!("the webhook has ended")),
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
    };
    // Nobody answers the webhook after that.
    asked.and(live.withdraw().await)
}

async fn ask(live: &Live, requests: &LastRequest) -> Result<()> {
    let two = create(2);
    enforce(live, &two).await?;
    examples::print("Replicas between 3 and 10. `inverted` is the ValidatingAdmissionPolicy of the slide.\n");
    let offline = Offline::new(ENFORCED)?;
    let head = ["", "own", "Gatekeeper", "Kyverno", "VAP", "VAP offline", "inverted"];
    let mut rows = Vec::new();
    for case in cases() {
        requests.take();
        let own = live.ask("own", &case).await?;
        let request = requests.take().with_context(|| format!("{}: the webhook was not asked", case.name))?;
        let [gatekeeper, kyverno, judged] = offline.request(&request)?;
        let (native, inverted) = (live.ask("native", &case).await?, live.ask("inverted", &case).await?);
        let same = std::mem::discriminant(&native) == std::mem::discriminant(&judged);
        ensure!(same, "{}: the API server {native:?}, offline {judged:?}", case.name);
        rows.push((case.name.to_owned(), vec![own, gatekeeper, kyverno, native, judged, inverted]));
    }
    for (name, replicas) in [("file: replicas missing", Value::Null), ("file: 2 replicas", json!(2))] {
        let [gatekeeper, kyverno, judged] = offline.file(&deployment("web", replicas))?;
        let asked = [Verdict::NotAsked, gatekeeper, kyverno, Verdict::NotAsked, judged, Verdict::NotAsked];
        rows.push((name.to_owned(), asked.to_vec()));
    }
    print_table(&head, &rows);
    examples::print(WHY.trim_end());

    examples::print("\nThe modes, for a Deployment with 2 replicas:\n");
    let request = modes_request(live, requests, &two).await?;
    let mut rows = Vec::new();
    let modes = [
        ("deny, Enforce, Deny", ENFORCED, "native"),
        (
            "warn, Audit with emitWarning, Warn",
            Modes { gatekeeper: "warn", kyverno: "Audit", warns: true },
            "warn",
        ),
        ("dryrun, Audit, Audit", Modes { gatekeeper: "dryrun", kyverno: "Audit", warns: false }, "audit"),
    ];
    for (name, modes, form) in modes {
        let [gatekeeper, kyverno, _] = Offline::new(modes)?.request(&request)?;
        rows.push((name.to_owned(), vec![gatekeeper, kyverno, live.ask(form, &two).await?]));
    }
    print_table(&["", "Gatekeeper", "Kyverno", "VAP"], &rows);
    examples::print(MODES.trim_end());
    Ok(())
}

/// Puts the policies in force, and waits until the API server asks all of them; `two` is a case that the rule refuses.
async fn enforce(live: &Live, two: &Case) -> Result<()> {
    // That this one is enforced cannot be seen in an answer. The API server learns of policies in the order in which they were
    // stored, so it is in force when a later one is.
    live.bind("audit", manifests::ADMISSION_POLICY, &["Audit"]).await?;
    live.bind("native", manifests::ADMISSION_POLICY, &["Deny"]).await?;
    live.bind("inverted", manifests::INVERTED, &["Deny"]).await?;
    live.bind("warn", manifests::ADMISSION_POLICY, &["Warn"]).await?;
    let denied = |verdict: &Verdict| matches!(verdict, Verdict::Denied(_));
    live.until("own", two, denied).await?;
    live.until("native", two, denied).await?;
    live.until("inverted", &create(5), denied).await?;
    live.until("warn", two, |verdict| matches!(verdict, Verdict::Warned(_))).await?;
    Ok(())
}

async fn modes_request(live: &Live, requests: &LastRequest, case: &Case) -> Result<String> {
    live.ask("own", case).await?;
    requests.take().context("the webhook was not asked")
}

fn create(replicas: i64) -> Case {
    let body = deployment("web", json!(replicas));
    Case { name: "probe", method: http::Method::POST, path: "", body }
}

const MODES: &str = "
  warn          All three admit, and tell the user why they would have refused.
  audit         All three admit without a word: what they found is in the constraint's status, in a report, or in the API server's
                audit log.
";

const WHY: &str = "
  11            The pattern \">2\" has no upper end; \"3-10\" would have.
  0             All agree: 0 is a number like others, for Rego too, where it is true.
  missing       The API server fills in 1 before it asks any of them. In a file the field is missing: the template looks at a field that is
                not there, finds no violation and admits; the pattern reads a missing number as 0; the expression fails, and
                `failurePolicy: Fail` denies.
  2 before      Kyverno lets an update through when the object was in violation before (allowExistingViolations). The others do
                not, so that a label of such a Deployment cannot be changed before its replicas are.
  scale         A policy for `deployments` is not asked about `deployments/scale`: only our own controller was
                registered for both. `kubectl scale` and the autoscaler write there.
  DELETE        None of the rules is for it. A rule that was would keep what it forbids.
  inverted      `object.spec.replicas <= 2` says what is refused. An expression says what is allowed, so it does the opposite.
";
