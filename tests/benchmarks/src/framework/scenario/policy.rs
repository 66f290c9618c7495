//! Templates, constraints, objects and requests, written in numbers.

use serde_json::{Value, json};

use super::Policies;

/// Any object that carries labels.
pub(super) fn everywhere() -> Value {
    json!({"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]})
}

/// Match blocks that a Pod of ours is outside of, each in another way.
pub(super) fn elsewhere() -> [(&'static str, Value); 3] {
    [
        ("kind", json!({"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]})),
        ("namespace", json!({"namespaces": ["warehouse"]})),
        ("label", json!({"labelSelector": {"matchLabels": {"tier": "back"}}})),
    ]
}

/// Constraints of one template, each of which wants a label.
pub(super) fn labels(count: usize, label: &str, block: &Value) -> Policies {
    let constraint = |number| constraint("WantsLabel", number, block, json!({"labels": [label]}));
    Policies {
        templates: vec![template("WantsLabel", LABELS)],
        constraints: (0..count).map(constraint).collect(),
        inventory: Vec::new(),
    }
}

/// Templates with one constraint each; no two have the same text.
pub(super) fn templates(count: usize) -> Policies {
    let kind = |number: usize| format!("WantsLabel{number}");
    let text = |number: usize| LABELS.replace("lacks", &format!("({number}) lacks"));
    let constraint = |number| constraint(&kind(number), number, &everywhere(), json!({"labels": ["app"]}));
    Policies {
        templates: (0..count).map(|number| template(&kind(number), &text(number))).collect(),
        constraints: (0..count).map(constraint).collect(),
        inventory: Vec::new(),
    }
}

/// Ingresses with a host each, and a policy that no two may share one.
pub(super) fn unique_host(count: usize) -> Policies {
    let block = json!({"kinds": [{"apiGroups": ["networking.k8s.io"], "kinds": ["Ingress"]}]});
    Policies {
        templates: vec![template("UniqueHost", HOSTS)],
        constraints: vec![constraint("UniqueHost", 0, &block, json!({}))],
        inventory: (0..count).map(|number| ingress(number, "old")).collect(),
    }
}

/// Pods with an `id` each, and a policy that no two may share one.
pub(super) fn unique_label(count: usize) -> Policies {
    let object = |number: usize| {
        let mut pod = pod(1_000);
        if let Some(metadata) = pod.get_mut("metadata") {
            *metadata = json!({
                "name": format!("pod-{number}"), "namespace": format!("ns-{}", number % 50),
                "labels": {"id": format!("id-{number}")},
            });
        }
        pod
    };
    Policies {
        templates: vec![template("UniqueId", IDS)],
        constraints: vec![constraint("UniqueId", 0, &everywhere(), json!({}))],
        inventory: (0..count).map(object).collect(),
    }
}

/// A Pod of about so many bytes as JSON.
pub(super) fn pod(bytes: usize) -> Value {
    let mut containers = Vec::new();
    let mut size = 250;
    while size < bytes {
        let number = containers.len();
        let container = json!({
            "name": format!("app-{number}"), "image": format!("registry.example.com/shop/app-{number}:1.0.{number}"),
            "env": [{"name": "REGION", "value": "eu-central"}, {"name": "NUMBER", "value": number.to_string()}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "runAsNonRoot": true, "readOnlyRootFilesystem": true},
        });
        size = size.saturating_add(container.to_string().len());
        containers.push(container);
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "tier": "front", "id": "new"}},
        "spec": {"serviceAccountName": "web", "containers": containers},
    })
}

/// An Ingress of number `number`; its host depends on the number only.
pub(super) fn ingress(number: usize, name: &str) -> Value {
    let host = format!("shop-{number}.example.com");
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": format!("{name}-{number}"), "namespace": format!("ns-{}", number % 50)},
        "spec": {"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
    })
}

/// The AdmissionRequest of an object's creation, as text.
pub(super) fn request(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let request = json!({
        "uid": "7e1f6e0c-6a0c-4a58-9d6c-3f6e6b7c1c11", "operation": "CREATE", "dryRun": false,
        "kind": {"group": group, "version": version, "kind": text("/kind")},
        "resource": {"group": group, "version": version, "resource": format!("{}s", text("/kind").to_lowercase())},
        "name": text("/metadata/name"), "namespace": text("/metadata/namespace"),
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]}, "object": object, "options": null,
    });
    request.to_string()
}

fn template(kind: &str, rego: &str) -> Value {
    let labels = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"labels": labels}});
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": schema}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

fn constraint(kind: &str, number: usize, block: &Value, parameters: Value) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": format!("c-{number}")},
        "spec": {"match": block, "parameters": parameters},
    })
}

const LABELS: &str = r#"package wantslabel

violation[{"msg": msg, "details": {"missing_labels": missing}}] {
  provided := {label | input.review.object.metadata.labels[label]}
  required := {label | label := input.parameters.labels[_]}
  missing := required - provided
  count(missing) > 0
  msg := sprintf("%v lacks the labels %v", [input.review.object.metadata.name, missing])
}
"#;

const HOSTS: &str = r#"package uniquehost

identical(object, review) {
  object.metadata.namespace == review.object.metadata.namespace
  object.metadata.name == review.object.metadata.name
}

violation[{"msg": msg}] {
  input.review.kind.kind == "Ingress"
  re_match("^(extensions|networking.k8s.io)$", input.review.kind.group)
  host := input.review.object.spec.rules[_].host
  other := data.inventory.namespace[_][version]["Ingress"][name]
  re_match("^(extensions|networking.k8s.io)/.+$", version)
  other.spec.rules[_].host == host
  not identical(other, input.review)
  msg := sprintf("the host %v belongs to %v", [host, name])
}
"#;

const IDS: &str = r#"package uniqueid

violation[{"msg": msg}] {
  id := input.review.object.metadata.labels.id
  other := data.inventory.namespace[_].v1.Pod[name]
  other.metadata.labels.id == id
  msg := sprintf("the id %v belongs to %v", [id, name])
}
"#;
