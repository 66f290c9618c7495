//! The dozen Deployments, and what is done with each.

use http::Method;
use serde_json::{Value, json};

/// A request to the API server, always a dry run: nothing changes between two of them.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    /// Behind `…/deployments`.
    pub(crate) path: &'static str,
    pub(crate) body: Value,
}

/// The Deployments that exist before there is any policy: `two` and `five`, named after their replicas.
pub(crate) const BEFORE: [(&str, i64); 2] = [("two", 2), ("five", 5)];

pub(crate) fn cases() -> Vec<Case> {
    let create = |name, replicas: Value| Case {
        name,
        method: Method::POST,
        path: "",
        body: deployment("web", replicas),
    };
    let patch = |name, path, body| Case { name, method: Method::PATCH, path, body };
    let replicas = |replicas: i64| json!({"spec": {"replicas": replicas}});
    vec![
        create("3 replicas", json!(3)),
        create("10 replicas", json!(10)),
        create("2 replicas", json!(2)),
        create("11 replicas", json!(11)),
        create("0 replicas", json!(0)),
        create("replicas missing", Value::Null),
        patch("UPDATE from 5 to 6", "/five", replicas(6)),
        patch("UPDATE from 5 to 2", "/five", replicas(2)),
        patch("UPDATE from 5 to 11", "/five", replicas(11)),
        patch("UPDATE, 2 before and after", "/two", json!({"metadata": {"labels": {"touched": "yes"}}})),
        patch("scale subresource, 5 to 1", "/five/scale", replicas(1)),
        Case { name: "DELETE, 2 replicas", method: Method::DELETE, path: "/two", body: Value::Null },
    ]
}

/// A Deployment; without the field where `replicas` is null.
pub(crate) fn deployment(name: &str, replicas: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "example.com/c"}]}},
        },
    });
    if let (Some(spec), false) =
        (deployment.get_mut("spec").and_then(Value::as_object_mut), replicas.is_null())
    {
        spec.insert("replicas".to_owned(), replicas);
    }
    deployment
}
