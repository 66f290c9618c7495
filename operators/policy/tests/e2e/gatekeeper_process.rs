//! Gatekeeper's manager as the process of a pod.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use admission_server::ServingCertificate;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::cluster::{Cluster, NAMESPACE};
use crate::gatekeeper::manager;
use crate::https::Connection;
use crate::operator::PATIENCE;

/// The manager as a process that only serves the webhook.
pub(crate) struct Webhook {
    pub(crate) child: Child,
    /// `host:port` of `/v1/admit`.
    pub(crate) address: String,
    pub(crate) certificate: ServingCertificate,
    pub(crate) folder: TempDir,
}

/// Starts the manager's webhook as the pod `name`, until it takes connections.
pub(crate) async fn webhook(cluster: &Cluster, name: &str) -> Webhook {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), &certificate.certificate).unwrap();
    std::fs::write(folder.path().join("tls.key"), &certificate.key).unwrap();
    let serve = [
        "--operation=webhook".to_owned(),
        "--host=127.0.0.1".to_owned(),
        format!("--port={port}"),
        format!("--cert-dir={}", folder.path().display()),
    ];
    let child = process(cluster, name, &serve).await;
    let address = format!("127.0.0.1:{port}");
    answers(&address, &certificate).await;
    Webhook { child, address, certificate, folder }
}

/// The manager, as the pod `name`, with these arguments.
pub(crate) async fn process(cluster: &Cluster, name: &str, args: &[String]) -> Child {
    cluster.pod(name).await;
    let mut command = Command::new(manager().await);
    command
        .args(args)
        .args(["--disable-cert-rotation", "--audit-interval=5", "--enable-external-data=false"])
        .args(["--health-addr=127.0.0.1:0", "--prometheus-port=0"])
        .env("KUBECONFIG", cluster.plane.kubeconfig())
        .envs([("POD_NAME", name), ("POD_NAMESPACE", NAMESPACE), ("NAMESPACE", NAMESPACE)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(std::env::temp_dir().join(format!("{name}.log"))).unwrap())
        .kill_on_drop(true);
    command.spawn().unwrap()
}

/// Waits until a webhook takes connections.
async fn answers(address: &str, trusted: &ServingCertificate) {
    let connecting = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        while Connection::open(address, trusted).await.is_err() {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, connecting).await.expect("Gatekeeper must start");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
