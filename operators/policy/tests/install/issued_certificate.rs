//! The chart's cert-manager mode with cert-manager's own controllers.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::process::{Child, Command};
use tokio::time::{interval, timeout};

use crate::cluster::{Cluster, must};
use crate::helm::{NAMESPACE, RELEASE, chart, helm, workspace};
use crate::traffic::Traffic;

const PATIENCE: Duration = Duration::from_secs(120);
const SECRET: &str = "gatekeeper-webhook-server-cert";
const CONFIGURATION: &str = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";

/// Installs cert-manager's CRDs and starts its controllers.
async fn cert_manager(cluster: &Cluster) -> Child {
    let source = workspace("operators/policy/tests/install/cert-manager");
    let built = tokio::task::spawn_blocking(move || {
        let definitions = go_program::module_folder(&source, "github.com/cert-manager/cert-manager")?;
        let program = go_program::build(&source, ".", "install", "cert-manager")?;
        Ok::<_, go_program::Error>((definitions.join("deploy/crds"), program))
    });
    let (definitions, program): (PathBuf, _) = built.await.unwrap().unwrap();
    let kubectl = || cluster.plane.kubectl();
    must(kubectl().args(["apply", "--server-side", "-f", definitions.to_str().unwrap()])).await;
    let established =
        ["wait", "--for=condition=Established", "--timeout=60s", "crd/certificates.cert-manager.io"];
    must(kubectl().args(established)).await;
    let log = std::fs::File::create(cluster.folder.path().join("cert-manager.log")).unwrap();
    Command::new(program)
        .env("KUBECONFIG", cluster.plane.kubeconfig())
        .stdin(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Has cert-manager issue a certificate anew, as `cmctl renew` does, and waits for the Secret.
async fn renew(cluster: &Cluster, certificate: &str, secret: &str) {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let before = secrets.get(secret).await.unwrap().data;
    let issuing = r#"{"status": {"conditions": [{"type": "Issuing", "status": "True", "reason": "ManuallyTriggered"}]}}"#;
    let name = format!("certificate/{certificate}");
    let patch = ["patch", "-n", NAMESPACE, &name, "--subresource=status", "--type=merge", "-p", issuing];
    must(cluster.plane.kubectl().args(patch)).await;
    let renewed = async {
        let mut ticks = interval(Duration::from_millis(200));
        while secrets.get(secret).await.unwrap().data == before {
            ticks.tick().await;
        }
    };
    timeout(PATIENCE, renewed).await.expect("cert-manager must renew the certificate");
}

/// Waits until the API server trusts the authority in the Secret, and all pods serve its certificate.
async fn followed(cluster: &Cluster) {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let authority = secrets.get(SECRET).await.unwrap().data.unwrap()["ca.crt"].clone();
    let authority = String::from_utf8(authority.0).unwrap();
    let registered = async {
        let mut ticks = interval(Duration::from_millis(200));
        let path = "jsonpath={.webhooks[0].clientConfig.caBundle}";
        loop {
            let bundle =
                cluster.plane.kubectl().args(["get", CONFIGURATION, "-o", path]).output().await.unwrap();
            let quoted = format!("\"{}\"", String::from_utf8_lossy(&bundle.stdout));
            let bundle: k8s_openapi::ByteString = serde_json::from_str(&quoted).unwrap();
            if String::from_utf8_lossy(&bundle.0).contains(authority.trim()) {
                return;
            }
            ticks.tick().await;
        }
    };
    timeout(PATIENCE, registered).await.expect("the authority must be registered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_cert_manager_is_served_and_renewed_without_a_failed_request() {
    let mut cluster = Cluster::start().await;
    let mut manager = cert_manager(&cluster).await;
    let chart = chart();
    let set = "certManager.enabled=true,validatingWebhookFailurePolicy=Fail";
    let install = [
        "install",
        RELEASE,
        chart.to_str().unwrap(),
        "-n",
        NAMESPACE,
        "--create-namespace",
        "--wait",
        "--set",
        set,
    ];
    helm(Some(cluster.plane.kubeconfig()), &install).await;
    for (file, object) in [
        ("template", "constrainttemplate/k8sreplicalimits"),
        ("constraint", "k8sreplicalimits/three-to-ten-replicas"),
    ] {
        let path = workspace(&format!("examples/quickstart/{file}.yaml"));
        must(cluster.plane.kubectl().args(["apply", "-f", path.to_str().unwrap()])).await;
        must(cluster.plane.kubectl().args(["wait", "--for=condition=Enforced", "--timeout=120s", object]))
            .await;
    }
    followed(&cluster).await;

    let traffic = Traffic::default();
    cluster.background.spawn(traffic.clone().run(cluster.client.clone()));
    // The certificate alone, then its authority, and the certificate by the new authority.
    renew(&cluster, "webtroller-webhook", SECRET).await;
    followed(&cluster).await;
    renew(&cluster, "webtroller-webhook-ca", "webtroller-webhook-ca").await;
    renew(&cluster, "webtroller-webhook", SECRET).await;
    followed(&cluster).await;
    // Pods look at their files every 5 s, and serve the next certificate a round after they announced it.
    traffic.until_denied(300).await;
    let answers = traffic.take();
    assert_eq!((answers.slipped, answers.failed.as_slice()), (0, [].as_slice()));
    println!("{} admitted, {} denied, 0 failed", answers.admitted, answers.denied);

    assert!(manager.try_wait().unwrap().is_none(), "cert-manager has ended");
    cluster.background.shutdown().await;
}
