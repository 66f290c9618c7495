//! One Pod as an admission request, for the scenario in which every constraint of a library sees the same object.
//!
//! It breaks some policies and keeps others, as Pods of real clusters do.

use conformance::library::{Case, Subject};
use serde_json::{Value as Json, json};

/// The case of a template whose constraint selects Pods: the parameters of its first such sample, and the Pod.
#[must_use]
pub fn case_of(subject: &Subject) -> Option<Case> {
    let selects = |case: &&Case| case.kinds.iter().any(|kind| kind == "Pod");
    let sample = subject.cases.iter().find(selects)?;
    let parameters = sample.input.get("parameters").cloned().unwrap_or_default();
    Some(Case {
        name: "pod".to_owned(),
        input: json!({"review": review(), "parameters": parameters}),
        data: json!({"inventory": {}}),
        kinds: sample.kinds.clone(),
    })
}

fn review() -> Json {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "orders-7d9c5b6f4-x2x7k",
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller",
                     "groups": ["system:serviceaccounts", "system:authenticated"]},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(), "spec": spec()},
        "oldObject": null,
        "dryRun": false,
    })
}

fn metadata() -> Json {
    json!({
        "name": "orders-7d9c5b6f4-x2x7k",
        "namespace": "shop",
        "labels": {"app": "orders", "owner": "me.agilebank.demo", "pod-template-hash": "7d9c5b6f4"},
        "annotations": {"prometheus.io/scrape": "true", "seccomp.security.alpha.kubernetes.io/pod": "runtime/default"},
    })
}

fn spec() -> Json {
    json!({
        "serviceAccountName": "orders",
        "securityContext": {"runAsNonRoot": true, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [container("migrate", "openpolicyagent/migrate:1.4.0")],
        "containers": [
            container("orders", "openpolicyagent/orders:1.4.0"),
            container("proxy", "registry.example.com/mesh/proxy@sha256:\
                      45b23dee08af5e43a7fea6c4cf9c25ccf269ee113168c19722f87876677c5cb2"),
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "orders"}},
            {"name": "scratch", "emptyDir": {}},
        ],
        "restartPolicy": "Always",
        "nodeSelector": {"kubernetes.io/os": "linux"},
    })
}

fn container(name: &str, image: &str) -> Json {
    json!({
        "name": name,
        "image": image,
        "args": ["--listen", ":8080", "--log-level", "info"],
        "env": [{"name": "REGION", "value": "eu-1"}],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "100Mi"},
            "limits": {"cpu": "200m", "memory": "1Gi", "ephemeral-storage": "500Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "runAsUser": 1000,
            "runAsGroup": 3000,
            "capabilities": {"drop": ["ALL"]},
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/orders"}],
    })
}
