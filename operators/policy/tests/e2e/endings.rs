//! Tests of how the operator ends and starts again: killed, it loses nothing and writes nothing twice; asked to end, it
//! answers every request that it was sent.

use admission_server::ServingCertificate;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::https::{Connection, authority, deployment_review, post};
use crate::operator::Operator;

/// Everything that the operator writes, by name, with what tells one writing from another.
async fn written(cluster: &Cluster) -> Vec<String> {
    let kinds = "crd,constrainttemplates,k8sreplicalimits,validatingwebhookconfigurations,secrets";
    let columns = "custom-columns=K:.kind,N:.metadata.name,U:.metadata.uid,G:.metadata.generation";
    let list = cluster.must(&["get", kinds, "-A", "--no-headers", "-o", columns]).await;
    let mut lines: Vec<_> = list.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_killed_operator_loses_nothing_and_creates_nothing_twice() {
    let cluster = Cluster::start().await;
    let first = cluster.operator().await;
    cluster.quickstart().await;
    let reports = ["get", "podreports", "-n", NAMESPACE, "-o", "name"];
    let (before, reports_before) = (written(&cluster).await, cluster.must(&reports).await);
    first.kill().await;

    let second = cluster.operator().await;
    // Ready means in force, so there is nothing to wait for.
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let refused = cluster.kubectl(&["create", "--dry-run=server", "-f", bad.to_str().unwrap()]).await;
    assert!(refused.stderr.contains("[three-to-ten-replicas]"), "{}", refused.stderr);
    cluster.enforced("k8sreplicalimits/three-to-ten-replicas").await;
    let port = |lines: &[String]| {
        lines.iter().filter(|line| !line.contains("WebhookConfiguration")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(port(&written(&cluster).await), port(&before), "only the webhook's port may have changed");
    assert_eq!(cluster.must(&reports).await, reports_before);
    second.stop().await;
}

/// A rollout that is taken back: the pods of the former settings are those that are left.
#[tokio::test]
async fn settings_that_are_taken_back_do_not_stay_registered() {
    let cluster = Cluster::start().await;
    let former = cluster.operator().await;
    let uid = cluster.pod("webtroller-1").await;
    let other = Operator::start_ready(&cluster.shipped, ["webtroller-1", NAMESPACE, &uid]).await;
    let configuration = ["validatingwebhookconfiguration", "gatekeeper-validating-webhook-configuration"];
    let (epoch, url) =
        ("{.metadata.annotations.webtroller\\.dev/registration-epoch}", "{.webhooks[0].clientConfig.url}");
    cluster.until(&configuration, epoch, "2").await;
    let of = |operator: &Operator| format!("https://{}/v1/admit", operator.webhook);
    assert_eq!(cluster.get(&configuration, url).await, of(&other));
    other.stop().await;
    cluster.until(&configuration, epoch, "3").await;
    assert_eq!(cluster.get(&configuration, url).await, of(&former));
    former.stop().await;
}

/// A normal state is not a warning: neither of an empty cluster, nor of one with policies.
#[tokio::test]
async fn a_start_and_a_first_policy_are_no_reason_to_warn() {
    let cluster = Cluster::start().await;
    for first in [true, false] {
        let operator = cluster.operator().await;
        if first {
            cluster.quickstart().await;
        }
        let lines = operator.stop_and_read().await;
        let is_warning = |line: &&String| line.contains("\"WARN\"") && line.contains("not ingested");
        assert_eq!(lines.iter().find(is_warning), None);
    }
}

#[tokio::test]
async fn a_pod_is_not_ready_before_its_policies_are_in_force() {
    let cluster = Cluster::start().await;
    let first = cluster.operator().await;
    cluster.quickstart().await;
    first.stop().await;

    let mut second = cluster.starting_operator().await;
    let trusted = authority(&cluster).await;
    // Whatever moment this request hits, it is never admitted by a pod that does not know its policies.
    let mut connection = Connection::open(&second.webhook, &trusted).await.unwrap();
    let (status, _, body) =
        connection.send(post("application/json", deployment_review("u", 2))).await.unwrap();
    let review: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(review["response"]["allowed"], false, "{status}: {body}");
    second.log("ready").await;
    assert_eq!(second.readyz().await.0, 200);
    second.stop().await;
}

#[tokio::test]
async fn a_constraint_crd_deleted_by_hand_comes_back() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let crd = "crd/k8sreplicalimits.constraints.gatekeeper.sh";
    cluster.must(&["delete", crd]).await;
    cluster.must(&["wait", "--for=create", "--timeout=120s", crd]).await;
    cluster.must(&["wait", "--for=condition=Established", "--timeout=120s", crd]).await;
    cluster.quickstart().await;
    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let refused = cluster.kubectl(&["create", "--dry-run=server", "-f", bad.to_str().unwrap()]).await;
    assert!(refused.stderr.contains("[three-to-ten-replicas]"), "{}", refused.stderr);
    operator.stop().await;
}

#[tokio::test]
async fn a_synced_kind_that_nobody_serves_keeps_no_pod_from_becoming_ready() {
    let cluster = Cluster::start().await;
    cluster.operator().await.stop().await;
    let sync = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: s}, \
                spec: {gvks: [{group: nope.example.com, version: v1, kind: Nope}]}}";
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.apply(sync).await;
    cluster.operator().await.stop().await;
}

/// The observations of one client: answered requests, and requests that were sent and never answered.
#[derive(Debug, Default)]
struct Seen {
    answered: usize,
    lost: usize,
}

/// Sends one request after the other, as an API server does: kept alive until told to close, then anew, until
/// nobody listens any more.
async fn client(address: String, trusted: ServingCertificate, first: CancellationToken) -> Seen {
    let mut seen = Seen::default();
    while let Ok(mut connection) = Connection::open(&address, &trusted).await {
        loop {
            match connection.send(post("application/json", deployment_review("u", 2))).await {
                Ok((status, closes, body)) => {
                    assert_eq!(status.as_u16(), 200, "{body}");
                    assert!(body.contains("asks for 2 replicas"), "{body}");
                    seen.answered += 1;
                    first.cancel();
                    if closes {
                        break;
                    }
                }
                Err(_) => {
                    seen.lost += 1;
                    break;
                }
            }
        }
    }
    seen
}

#[tokio::test]
async fn an_operator_that_is_asked_to_end_answers_every_request() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;
    let trusted = authority(&cluster).await;
    let running: Vec<_> = (0..4)
        .map(|_| {
            let begun = CancellationToken::new();
            (tokio::spawn(client(operator.webhook.clone(), trusted.clone(), begun.clone())), begun)
        })
        .collect();
    for (_, begun) in &running {
        begun.cancelled().await;
    }
    operator.stop().await;
    for (client, _) in running {
        let seen = client.await.unwrap();
        assert!(seen.lost == 0 && seen.answered > 1, "{seen:?}");
    }
}
