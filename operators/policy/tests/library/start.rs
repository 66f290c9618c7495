//! Starts beside many policies, and how soon many new ones are in force.
//!
//! Run it with `--release`, on a machine that does nothing else.

use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::audit::{Library, SYNC, library, load_yaml};
use crate::audit_costs::{Cost, Requests};
use crate::cluster::Cluster;

/// Policies for another kind than those of the library.
const OTHERS: usize = 500;

/// Starts that are measured; `WEBTROLLER_STARTS` sets it, 3 by default.
fn starts() -> usize {
    std::env::var("WEBTROLLER_STARTS").map_or(3, |count| count.parse().unwrap())
}

/// The template and the constraint of a policy for ConfigMaps.
pub(crate) fn other(number: usize) -> [Value; 2] {
    let rego =
        "package other\nviolation[{\"msg\": \"no\"}] { input.review.object.data.a == input.parameters.b }";
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"b": {"type": "string"}}}});
    let template = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": format!("other{number}")},
        "spec": {
            "crd": {"spec": {"names": {"kind": format!("Other{number}")}, "validation": schema}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    });
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": format!("Other{number}"), "metadata": {"name": "other"},
        "spec": {"match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}]}, "parameters": {"b": "c"}},
    });
    [template, constraint]
}

/// Applies objects in one call, and waits until all of these kinds are in force. Returns the time from the last of these writes to
/// the last status, and the number of statuses that were written for an object.
async fn enforce(cluster: &Cluster, objects: Vec<Value>, kind: &str) -> (Duration, f64) {
    let (count, before) = (objects.len(), Timestamp::now());
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    cluster.apply(&list.to_string()).await;
    // kubectl looks at one object after the other, and pauses in between: the times are those of the API server.
    cluster.must(&["wait", "--for=condition=Enforced", "--timeout=600s", kind, "--all"]).await;
    let log = cluster.plane.audit_log().unwrap();
    let writes = |subresource: Value| {
        let is_write = move |event: &&Value| {
            (event["verb"] == "patch" || event["verb"] == "create")
                && event["stage"] == "ResponseComplete"
                && event["objectRef"]["apiGroup"]
                    .as_str()
                    .is_some_and(|group| group.ends_with(".gatekeeper.sh"))
                && event["objectRef"]["subresource"] == subresource
                // Those of the audit have their own pace.
                && !event["requestURI"].as_str().unwrap().contains("fieldManager=webtroller-audit")
        };
        let time = |event: &Value| event["stageTimestamp"].as_str().unwrap().parse::<Timestamp>().unwrap();
        log.iter().filter(is_write).map(time).filter(|at| *at > before).collect::<Vec<_>>()
    };
    let (objects, statuses) = (writes(Value::Null), writes("status".into()));
    let took = statuses.iter().max().unwrap().duration_since(*objects.iter().max().unwrap());
    (took.unsigned_abs(), statuses.len() as f64 / count as f64)
}

/// Puts the templates and constraints of the library in force, which only warn.
pub(crate) async fn add_library(cluster: &Cluster, root: &Path) {
    let Library { templates, mut constraints, .. } = library(root);
    for constraint in &mut constraints {
        constraint["spec"]["enforcementAction"] = json!("warn");
    }
    cluster.apply(&load_yaml(SYNC).to_string()).await;
    enforce(cluster, templates, "constrainttemplates").await;
    for constraint in &constraints {
        cluster.feed(&["apply", "--server-side", "-f", "-"], &constraint.to_string()).await;
    }
    cluster.must(&["wait", "--for=condition=Enforced", "--timeout=600s", "constraints", "--all"]).await;
}

/// Puts policies for another kind than the library's in force.
pub(crate) async fn add_others(cluster: &Cluster) {
    let (others, of_others): (Vec<_>, Vec<_>) =
        (0..OTHERS).map(other).map(|[template, constraint]| (template, constraint)).unzip();
    for (objects, kind) in [(others, "constrainttemplates"), (of_others, "constraints")] {
        let (took, statuses) = enforce(cluster, objects, kind).await;
        let took = took.as_secs_f64();
        println!(
            "{OTHERS} new {kind} are Enforced {took:.1} s after the last was written, with {statuses:.2} writes of each status"
        );
    }
}

/// A start with all policies: until `/readyz` says so, with what it cost.
pub(crate) async fn start(cluster: &Cluster) {
    let (began, before) = (Instant::now(), Requests::of(cluster).await);
    let operator = cluster.starting_operator().await;
    operator.until_readyz(|status, _| status == 200).await;
    let cost = Cost::of(operator.child.id().unwrap());
    let took = began.elapsed();
    println!(
        "a start with all of them: ready after {:.1} s, {cost}, {}",
        took.as_secs_f64(),
        Requests::of(cluster).await.since(&before)
    );
    operator.stop().await;
}

pub(crate) async fn beside_many_policies(root: &Path) {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    add_library(&cluster, root).await;
    add_others(&cluster).await;
    operator.stop().await;
    for _ in 0..starts() {
        start(&cluster).await;
    }
}
