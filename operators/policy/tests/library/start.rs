//! Starts beside many policies, and how soon many new ones are in force.
//!
//! Run it with `--release`, on a machine that does nothing else.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit::{Library, SYNC, library, load_yaml};
use crate::audit_costs::{Cost, Requests};
use crate::cluster::Cluster;

/// Policies for another kind than those of the library.
pub(crate) const OTHERS: usize = 500;

/// Starts that are measured; `WEBTROLLER_STARTS` sets it, 3 by default.
fn starts() -> usize {
    std::env::var("WEBTROLLER_STARTS").map_or(3, |count| count.parse().unwrap())
}

/// The template and the constraint of a policy for ConfigMaps.
fn other(number: usize) -> [Value; 2] {
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

/// Applies objects in one call, and waits until all of these kinds are in force. Returns how long that took after the call.
async fn enforce(cluster: &Cluster, objects: Vec<Value>, kind: &str) -> Duration {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    cluster.apply(&list.to_string()).await;
    let applied = Instant::now();
    cluster.must(&["wait", "--for=condition=Enforced", "--timeout=600s", kind, "--all"]).await;
    applied.elapsed()
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
    let templates = enforce(cluster, others, "constrainttemplates").await;
    let constraints = enforce(cluster, of_others, "constraints").await;
    println!(
        "{OTHERS} new templates are Enforced {:.1} s after the last was written, their constraints after {:.1} s",
        templates.as_secs_f64(),
        constraints.as_secs_f64()
    );
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
