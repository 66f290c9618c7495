//! Resolves where to send events: an Addressable of any kind, as Knative's sources do.
//!
//! ```text
//! cargo run -p examples --example duck_sink
//! ```
//!
//! The sender knows a reference to a sink and nothing about its kind. What it may read is decided by an aggregated role,
//! to which each provider adds its own kind.

use std::error::Error;

use duck_types::Duck;
use duck_types::rbac::{Access, aggregated_cluster_role, provider_role};
use duck_types::ready::Addressable;
use kube::ResourceExt;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    for sink in sinks() {
        let sink: Duck<Addressable> = serde_json::from_value(sink)?;
        let kind = sink.object().types.as_ref().map_or("", |types| types.kind.as_str());
        let address = match sink.view() {
            Ok(found) => found.preferred().and_then(|address| address.url.clone()),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        println!("{kind} {}: {}", sink.name_any(), address.as_deref().unwrap_or("no address yet"));
    }

    println!("\nThe roles that let the resolver read them:");
    let label = [("duck.example.com/addressable", "true")];
    let consumer = aggregated_cluster_role("resolver", label);
    let provider = provider_role("brokers", label).allow("example.com", "brokers", Access::Read).build();
    let selector = consumer.pointer("/aggregationRule/clusterRoleSelectors/0/matchLabels");
    let labels: Vec<String> = selector
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let name = consumer.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    println!("{name} aggregates {}", labels.join(", "));
    for rule in provider.get("rules").and_then(Value::as_array).into_iter().flatten() {
        let texts = |key: &str| -> Vec<&str> {
            rule.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let (resources, groups) = (texts("resources").join(","), texts("apiGroups").join(","));
        println!("{resources}.{groups}: {}", texts("verbs").join(", "));
    }
    Ok(())
}

/// A sink with several addresses, one of an older version, and one that is not ready.
fn sinks() -> [Value; 3] {
    let sink = |kind: &str, name: &str, status: Value| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "status": status});
    let (plain, encrypted) =
        (json!({"url": "http://orders.example.com"}), json!({"url": "https://orders.example.com"}));
    [
        sink("Broker", "orders", json!({"address": plain, "addresses": [encrypted, plain]})),
        sink("Channel", "old", json!({"address": {"url": "http://old.example.com"}})),
        sink("Queue", "starting", json!({})),
    ]
}
