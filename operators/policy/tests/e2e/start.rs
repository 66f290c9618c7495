//! The cost of a start next to many policies: requests to the API server, time and memory.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::future::join_all;

use crate::cluster::{Cluster, NAMESPACE};
use crate::fleet::{Fleet, is_operator};
use crate::operator::{Operator, kibibytes};
use crate::prober;

/// Templates, with a constraint each; few in CI.
fn policies() -> usize {
    std::env::var("WEBTROLLER_POLICIES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

fn template(index: usize) -> String {
    format!(
        "
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {{name: many{index}}}
spec:
  crd:
    spec:
      names: {{kind: Many{index}}}
      validation: {{openAPIV3Schema: {{type: object, properties: {{names: {{type: array, items: {{type: string}}}}}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package many{index}
      violation[{{\"msg\": msg}}] {{
        name := input.parameters.names[_]
        input.review.object.metadata.name == name
        msg := sprintf(\"%v is not allowed by {index}\", [name])
      }}
"
    )
}

fn constraint(index: usize) -> String {
    format!(
        "\n---\n{{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Many{index}, metadata: {{name: a}}, \
         spec: {{match: {{kinds: [{{apiGroups: [''], kinds: [ConfigMap]}}]}}, parameters: {{names: [forbidden]}}}}}}"
    )
}

#[tokio::test]
async fn a_start_next_to_many_policies_takes_a_bounded_number_of_requests() {
    let count = policies();
    let cluster = Cluster::start().await;
    let first = cluster.operator().await;
    cluster.apply(&(0..count).map(template).collect::<String>()).await;
    for index in 0..count {
        cluster.enforced(&format!("constrainttemplate/many{index}")).await;
    }
    cluster.apply(&(0..count).map(constraint).collect::<String>()).await;
    for index in 0..count {
        cluster.enforced(&format!("many{index}/a")).await;
    }
    first.stop().await;

    let before = cluster.plane.audit_log().unwrap().len();
    let started = Instant::now();
    let operator = cluster.starting_operator().await;
    operator.until_readyz(|code, _| code == 200).await;
    let (elapsed, memory) = (started.elapsed(), kibibytes(operator.child.id().unwrap(), "VmRSS") / 1024);
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for event in cluster.plane.audit_log().unwrap().iter().skip(before).filter(|event| is_operator(event)) {
        let kind = if event["objectRef"]["apiGroup"] == "constraints.gatekeeper.sh" {
            "constraints"
        } else {
            event["objectRef"]["resource"].as_str().unwrap_or("discovery")
        };
        *requests.entry(format!("{} {kind}", event["verb"].as_str().unwrap_or_default())).or_default() += 1;
    }
    let total: usize = requests.values().sum();
    println!("{count} policies: ready after {elapsed:?}, {memory} MiB, {total} requests: {requests:?}");
    // The pod that holds the Lease reads and writes the statuses. How many of them before this point depends on the machine.
    let made = |name: &str| requests.get(name).copied().unwrap_or(0);
    let statuses: usize = ["templates", "s"]
        .iter()
        .map(|kind| made(&format!("get constraint{kind}")) + made(&format!("patch constraint{kind}")))
        .sum();
    assert!(statuses <= 4 * count, "{statuses} requests for statuses: {requests:?}");
    assert!(total - statuses <= 4 * count + 60, "{total} requests: {requests:?}");
    let crds = |verb: &str| made(&format!("{verb} customresourcedefinitions"));
    assert_eq!(crds("create") + crds("update"), 0, "a start writes no constraint CRD");
    operator.stop().await;
}

/// It had written into each that the object is not ingested, and then that it is.
#[tokio::test]
async fn a_pod_that_starts_alone_leaves_the_statuses_as_they_are() {
    let cluster = Cluster::start().await;
    let first = cluster.operator().await;
    let port = first.webhook.rsplit_once(':').unwrap().1.to_owned();
    cluster.quickstart().await;
    first.stop().await;

    let before = cluster.plane.audit_log().unwrap().len();
    // The name and the address are those of the one before.
    let identity = ["webtroller-0", NAMESPACE, &cluster.pod_uid];
    let operator = Operator::start_with(&cluster.shipped, identity, &["--port", &port]).await;
    operator.until_readyz(|code, _| code == 200).await;
    // Decided about after all that existed.
    cluster.apply(&template(0)).await;
    cluster.enforced("constrainttemplate/many0").await;
    let log = cluster.plane.audit_log().unwrap();
    let written = log.iter().skip(before).filter(|event| {
        let object = &event["objectRef"];
        is_operator(event)
            && event["verb"] == "patch"
            && object["subresource"] == "status"
            && object["name"] != "many0"
    });
    let written: Vec<_> = written.map(|event| event["requestURI"].to_string()).collect();
    assert!(written.is_empty(), "{written:?}");
    operator.stop().await;
}

/// A kubelet's probe, and a Service's endpoints, come after a pod is ready by its own account.
#[tokio::test]
async fn the_webhook_is_registered_once_a_pod_is_reachable_at_its_address() {
    let mut fleet = Fleet::start_unreachable().await;
    let waits = join_all(fleet.pods.iter_mut().map(|(_, _, operator)| async {
        operator.until_readyz(|code, _| code == 200).await;
        operator.log("webhook not registered yet").await
    }));
    for wait in waits.await {
        let reason = wait["reason"].as_str().unwrap();
        assert!(reason.contains("no pod could be seen behind its address yet"), "{reason}");
    }
    fleet.balance().await;
    fleet.cluster.apply(&prober::template(1)).await;
    fleet.cluster.enforced("constrainttemplate/numbered").await;
}
