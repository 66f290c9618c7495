//! The cost of a start next to many policies: requests to the API server, time and memory.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::future::join_all;

use crate::cluster::Cluster;
use crate::fleet::{Fleet, is_operator};
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

/// Resident memory of a process in MiB.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
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
    let (elapsed, memory) = (started.elapsed(), resident(operator.child.id().unwrap()));
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
