//! Certificates: one authority for all pods, rotated and repaired while requests keep coming.

use std::path::Path;
use std::process::Stdio;

use admission_server::ServingCertificate;
use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use tokio::time::timeout;

use crate::clock::Clocks;
use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::https::{Connection, authority, deployment_review, post};
use crate::operator::{Operator, PATIENCE, webtroller};

/// The advance of each pod's clock, in seconds: further than from one time zone to the next.
const AHEAD: [i64; 3] = [0, 12 * 60 * 60, -12 * 60 * 60];
const SECRET: &str = "gatekeeper-webhook-server-cert";

/// Returns what an API server trusts the webhook by at this moment.
async fn registered(client: &kube::Client) -> Option<ServingCertificate> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = api.get("gatekeeper-validating-webhook-configuration").await.ok()?;
    let bundle = configuration.webhooks?.first()?.client_config.ca_bundle.clone()?.0;
    let (certificate, key) = (String::new(), String::new());
    Some(ServingCertificate { authority: String::from_utf8(bundle).unwrap(), certificate, key })
}

/// One new connection to each operator, by the authority that is registered now. Each gives a denial.
async fn ask_all(client: &kube::Client, operators: &[Operator]) {
    let trusted = registered(client).await.unwrap();
    for operator in operators {
        let mut connection = Connection::open(&operator.webhook, &trusted).await.expect("a handshake failed");
        let request = post("application/json", deployment_review("u", 2));
        let (status, _, body) = connection.send(request).await.unwrap();
        assert!(status.is_success() && body.contains("asks for 2 replicas"), "{body}");
    }
}

/// Asks all operators until the Secret is as `done` wants it.
async fn until(
    cluster: &Cluster,
    client: &kube::Client,
    operators: &[Operator],
    done: impl Fn(&ServingCertificate) -> bool,
) -> ServingCertificate {
    let search = async {
        loop {
            ask_all(client, operators).await;
            if cluster.kubectl(&["get", "secret", SECRET, "-n", NAMESPACE]).await.success {
                let now = authority(cluster).await;
                if done(&now) {
                    return now;
                }
            }
        }
    };
    timeout(PATIENCE, search).await.expect("the Secret must change")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_share_one_authority_and_rotate_it_without_a_failed_handshake() {
    let cluster = Cluster::start().await;
    let client = cluster.plane.client().unwrap();
    let names = ["webtroller-0", "webtroller-1", "webtroller-2"];
    let mut uids = vec![cluster.pod_uid.clone()];
    for name in &names[1..] {
        uids.push(cluster.pod(name).await);
    }
    let clocks = Clocks::build();
    // All start at once on an empty cluster: one wins, and the others take its certificate, whatever their clocks say.
    let start = |((name, uid), ahead): ((&&'static str, &String), i64)| {
        let (name, uid, kubeconfig) = (*name, uid.clone(), cluster.shipped.clone());
        let environment = clocks.ahead(ahead);
        async move {
            let (identity, more) = ([name, NAMESPACE, uid.as_str()], ["--cert-overlap", "4s"]);
            let mut operator =
                Operator::launch_in(&environment, &kubeconfig, identity, "127.0.0.1", &more).await;
            operator.webhook = operator.log("serving").await["webhook"].as_str().unwrap().to_owned();
            operator.log("webhook registered").await;
            operator
        }
    };
    let operators = join_all(names.iter().zip(&uids).zip(AHEAD).map(start)).await;
    cluster.quickstart().await;
    let first = authority(&cluster).await;
    ask_all(&client, &operators).await;

    // Deleted or damaged by hand: the same certificates are back.
    cluster.must(&["delete", "secret", SECRET, "-n", NAMESPACE]).await;
    assert_eq!(until(&cluster, &client, &operators, |_| true).await, first);
    let damage = "{\"data\":{\"tls.key\":\"bm9uZQ==\"}}";
    cluster.must(&["patch", "secret", SECRET, "-n", NAMESPACE, "--type=merge", "-p", damage]).await;
    assert_eq!(until(&cluster, &client, &operators, |now| now.key != "none").await, first);

    // Rotated twice, with a handshake at each operator all the time.
    for _ in 0..2 {
        let before = authority(&cluster).await;
        cluster.must(&["annotate", "secret", SECRET, "-n", NAMESPACE, "webtroller.dev/renew=now"]).await;
        let after = until(&cluster, &client, &operators, |now| now.certificate != before.certificate).await;
        assert_eq!(
            after.authority.matches("BEGIN CERTIFICATE").count(),
            before.authority.matches("BEGIN").count() + 1
        );
        // Every pod serves the new certificate: a client that trusts only its authority is answered.
        let newest = after.authority.rsplit_once("-----BEGIN CERTIFICATE-----").unwrap().1;
        let newest =
            ServingCertificate { authority: format!("-----BEGIN CERTIFICATE-----{newest}"), ..after.clone() };
        for operator in &operators {
            let served = async { while Connection::open(&operator.webhook, &newest).await.is_err() {} };
            timeout(PATIENCE, served).await.expect("the new certificate must be served");
        }
        ask_all(&client, &operators).await;
    }
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let refused = cluster.kubectl(&["create", "--dry-run=server", "-f", bad.to_str().unwrap()]).await;
    assert!(refused.stderr.contains("[three-to-ten-replicas]"), "{}", refused.stderr);
    for operator in operators {
        operator.stop().await;
    }
}

fn write(folder: &Path, certificate: &ServingCertificate) {
    for (name, text) in [
        ("ca.crt", &certificate.authority),
        ("tls.crt", &certificate.certificate),
        ("tls.key", &certificate.key),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[tokio::test]
async fn certificates_of_others_are_used_or_refused_and_never_overwritten() {
    let cluster = Cluster::start().await;
    let identity = ["webtroller-0", NAMESPACE, &cluster.pod_uid];
    let kubeconfig = &cluster.shipped;
    let folder = tempfile::tempdir().unwrap();
    let theirs = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    write(folder.path(), &theirs);
    let from = format!("--from-file={}", folder.path().display());
    let version = ["secret", SECRET, "-n", NAMESPACE];

    // Another program's Secret is used as it is.
    cluster.must(&["create", "secret", "generic", SECRET, "-n", NAMESPACE, &from]).await;
    let before = cluster.get(&version, "{.metadata.resourceVersion}").await;
    let operator = Operator::start_ready(kubeconfig, identity).await;
    Connection::open(&operator.webhook, &theirs).await.unwrap();
    operator.stop().await;
    assert_eq!(cluster.get(&version, "{.metadata.resourceVersion}").await, before);

    // One that cannot be used is refused with the reason, and stays as it is.
    let other_host = ServingCertificate::generate(&["elsewhere.svc".to_owned()]).unwrap();
    write(folder.path(), &other_host);
    cluster.must(&["delete", "secret", SECRET, "-n", NAMESPACE]).await;
    cluster.must(&["create", "secret", "generic", SECRET, "-n", NAMESPACE, &from]).await;
    let before = cluster.get(&version, "{.metadata.resourceVersion}").await;
    let mut command = webtroller();
    command.args(["serve", "--host", "127.0.0.1", "--port", "0", "--health-port", "0"]);
    command.args(["--webhook-url-host", "127.0.0.1"]).env("KUBECONFIG", kubeconfig).stderr(Stdio::piped());
    command.envs([("POD_NAME", identity[0]), ("POD_NAMESPACE", identity[1]), ("POD_UID", identity[2])]);
    let ended = timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && message.contains("was not written by webtroller"), "{message}");
    assert!(message.contains("for 127.0.0.1") && message.contains("--cert-secret-name"), "{message}");
    assert_eq!(cluster.get(&version, "{.metadata.resourceVersion}").await, before);

    // Files, as cert-manager's Secret mounts them: read again when they change, and no Secret is written.
    cluster.must(&["delete", "secret", SECRET, "-n", NAMESPACE]).await;
    write(folder.path(), &theirs);
    let more = ["--disable-cert-rotation", "--cert-dir", folder.path().to_str().unwrap()];
    let mut operator = Operator::start_with(kubeconfig, identity, &more).await;
    operator.log("webhook registered").await;
    Connection::open(&operator.webhook, &theirs).await.unwrap();
    let next = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    write(folder.path(), &next);
    // The next certificate has another authority: clients that trust the registered ones are answered all the time.
    let client = cluster.plane.client().unwrap();
    let served = async {
        while Connection::open(&operator.webhook, &next).await.is_err() {
            let trusted = registered(&client).await.unwrap();
            Connection::open(&operator.webhook, &trusted).await.expect("a handshake failed");
        }
    };
    timeout(PATIENCE, served).await.expect("the new files must be served");
    let trusted = registered(&client).await.unwrap();
    for authority in [&theirs.authority, &next.authority] {
        assert!(trusted.authority.contains(authority.trim()), "pods that have the former files are trusted");
    }
    assert!(!cluster.kubectl(&["get", "secret", SECRET, "-n", NAMESPACE]).await.success);
    operator.stop().await;
}

/// The kubelet of one node brings a new authority before that of another does, and the pod on it has just started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_starts_with_other_files_is_trusted_before_it_is_ready_and_the_others_still_are() {
    let cluster = Cluster::start().await;
    let client = cluster.plane.client().unwrap();
    let mut uids = vec![cluster.pod_uid.clone()];
    for name in ["webtroller-1", "webtroller-2"] {
        uids.push(cluster.pod(name).await);
    }
    let mut operators: Vec<(Operator, ServingCertificate)> = Vec::new();
    let folders: Vec<_> = uids.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    for ((number, uid), folder) in uids.iter().enumerate().zip(&folders) {
        let own = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
        write(folder.path(), &own);
        let name = format!("webtroller-{number}");
        let identity = [name.as_str(), NAMESPACE, uid.as_str()];
        let more = ["--disable-cert-rotation", "--cert-dir", folder.path().to_str().unwrap()];
        let operator = Operator::start_with(&cluster.shipped, identity, &more).await;
        operators.push((operator, own));
        // From the moment of its start until it has registered its own form, every pod that is ready is trusted.
        let settled = async {
            loop {
                let mut ready = Vec::new();
                for (operator, own) in &operators {
                    let is_ready = operator.readyz().await.0 == 200;
                    ready.extend(is_ready.then_some((operator, own)));
                }
                let Some(trusted) = registered(&client).await else { continue };
                for (operator, _) in &ready {
                    Connection::open(&operator.webhook, &trusted).await.expect("a handshake failed");
                }
                let holds = |own: &ServingCertificate| trusted.authority.contains(own.authority.trim());
                if ready.len() == operators.len() && operators.iter().all(|(_, own)| holds(own)) {
                    return;
                }
            }
        };
        timeout(PATIENCE, settled).await.expect("the pod must be ready, and all must be trusted");
        operators.last_mut().unwrap().0.log("webhook registered").await;
    }
    // What an administrator adds is not an authority of a pod: it is taken back, and theirs stay.
    let alien = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    let bundle = registered(&client).await.unwrap().authority + &alien.authority;
    let bundle = serde_json::to_string(&k8s_openapi::ByteString(bundle.into_bytes())).unwrap();
    let edit =
        format!(r#"[{{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": {bundle}}}]"#);
    let configuration = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
    cluster.must(&["patch", configuration, "--type=json", "-p", &edit]).await;
    let restored = async {
        loop {
            let trusted = registered(&client).await.unwrap();
            for (operator, _) in &operators {
                Connection::open(&operator.webhook, &trusted).await.expect("a handshake failed");
            }
            if !trusted.authority.contains(alien.authority.trim()) {
                return;
            }
        }
    };
    timeout(PATIENCE, restored).await.expect("the edit must be undone");
    for (operator, _) in operators {
        operator.stop().await;
    }
}
