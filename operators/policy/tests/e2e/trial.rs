//! Many policies in force at once, tried by `kubectl` on the objects of their own suites.

use std::path::{Path, PathBuf};

use serde_json::Value;
use webtroller::cli::load_file;

use crate::cluster::Cluster;

/// The SyncSet of what the referential policies refer to.
const SYNC_SET: &str = r#"{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: all}, spec: {gvks: [
    {group: "", version: v1, kind: Service}, {group: networking.k8s.io, version: v1, kind: Ingress}]}}"#;

/// One policy, and the cases of its suite that can be tried on an API server.
pub(crate) struct Policy {
    folder: PathBuf,
    template: String,
    constraint: PathBuf,
    constraint_name: String,
    inventory: Vec<PathBuf>,
    cases: Vec<Case>,
}

struct Case {
    object: PathBuf,
    violates: bool,
}

impl Policy {
    /// Reads the first test of a suite. Of the cases that need an inventory, those are kept that share the one of
    /// the first case which is violated because of it: a cluster has one state at a time.
    pub(crate) fn read(folder: PathBuf) -> Self {
        let suite = object(&folder.join("suite.yaml"));
        let test = &suite["tests"][0];
        let file = |name: &Value| folder.join(name.as_str().unwrap());
        let files =
            |case: &Value| case["inventory"].as_array().into_iter().flatten().map(file).collect::<Vec<_>>();
        let cases: Vec<&Value> = test["cases"].as_array().unwrap().iter().collect();
        let violated = |case: &Value| {
            case["assertions"].as_array().unwrap().iter().any(|assertion| !is_no(&assertion["violations"]))
        };
        let inventory =
            cases.iter().find(|case| violated(case) && !files(case).is_empty()).map(|case| files(case));
        let inventory = inventory.unwrap_or_default();
        let shares = |case: &&&Value| files(case) == inventory;
        let passes_alone = |case: &&&Value| files(case).is_empty() && !violated(case);
        let mut tried: Vec<&Value> = cases.iter().filter(shares).copied().collect();
        // Where no case passes beside that inventory, those that pass without any do: their objects share nothing.
        if tried.iter().all(|case| violated(case)) {
            tried.extend(cases.iter().filter(passes_alone));
        }
        let constraint = file(&test["constraint"]);
        Self {
            template: object(&file(&test["template"]))["metadata"]["name"].as_str().unwrap().to_owned(),
            constraint_name: object(&constraint)["metadata"]["name"].as_str().unwrap().to_owned(),
            cases: tried
                .iter()
                .map(|case| Case { object: file(&case["object"]), violates: violated(case) })
                .collect(),
            constraint,
            inventory,
            folder,
        }
    }
}

fn is_no(violations: &Value) -> bool {
    matches!(violations, Value::Bool(false)) || violations == "no" || violations == 0
}

fn object(path: &Path) -> Value {
    load_file(path).unwrap().remove(0).object
}

pub(crate) async fn check(policies: Vec<Policy>) {
    let cluster = Cluster::start().await;
    // What is there before the operator is what the referential policies must see.
    for policy in &policies {
        for path in policy.inventory.iter().chain(policy.cases.iter().map(|case| &case.object)) {
            ensure_namespace(&cluster, path).await;
        }
        for path in &policy.inventory {
            cluster.apply_file(path).await;
        }
    }
    let first = cluster.operator().await;
    for policy in &policies {
        cluster.apply_file(&policy.folder.join("template.yaml")).await;
    }
    for policy in &policies {
        cluster.enforced(&format!("constrainttemplate/{}", policy.template)).await;
        cluster.apply_file(&policy.constraint).await;
    }
    cluster.apply(SYNC_SET).await;
    // A pod that starts is ready only when all of this is in force, the inventory included.
    first.stop().await;
    let operator = cluster.operator().await;
    for policy in &policies {
        try_cases(&cluster, policy).await;
    }
    operator.stop().await;
}

async fn ensure_namespace(cluster: &Cluster, path: &Path) {
    let namespace = object(path)["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
    let manifest = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
    cluster.apply(&manifest).await;
}

/// Other policies may object too; what counts is whether this one does. A case that the API server refuses before
/// any policy sees it proves nothing, so each policy must have been tried both ways without those.
async fn try_cases(cluster: &Cluster, policy: &Policy) {
    let mut tried = [0, 0];
    for case in &policy.cases {
        if object(&case.object)["kind"] == "AdmissionReview" {
            continue;
        }
        let answer =
            cluster.kubectl(&["create", "--dry-run=server", "-f", case.object.to_str().unwrap()]).await;
        let reached = answer.success
            || answer.stderr.contains("denied the request")
            || answer.stderr.contains("AlreadyExists");
        if !reached {
            continue;
        }
        let objects = answer.stderr.contains(&format!("[{}] ", policy.constraint_name));
        assert_eq!(objects, case.violates, "{}: {}", case.object.display(), answer.stderr);
        tried[usize::from(objects)] += 1;
    }
    assert!(tried[0] > 0 && tried[1] > 0, "{}: tried {tried:?}", policy.folder.display());
}
