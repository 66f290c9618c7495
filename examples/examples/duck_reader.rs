//! Reads the conditions of objects of any kind, and writes one without touching anything else.
//!
//! ```text
//! cargo run -p examples --example duck_reader                                    # three objects in memory
//! cargo run -p examples --example duck_reader -- --cluster apps/v1/Deployment    # your cluster, read only
//! ```
//!
//! What is a "condition" is known here; what a Deployment or a Widget is, is not.

use std::error::Error;

use duck_types::contract::{FieldSpec, FieldType, check_crd};
use duck_types::{Duck, DuckError, DuckType, PatchPrecondition, duck_path};
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/status/conditions", list_map("", "type"))]
struct Conditions(Vec<Condition>);

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--cluster", kind] => in_a_cluster(kind).await,
        _ => in_memory(),
    }
}

async fn in_a_cluster(kind: &str) -> Result<(), Box<dyn Error>> {
    let parts: Vec<&str> = kind.split('/').collect();
    let (group, version, kind) = match parts.as_slice() {
        [group, version, kind] => (*group, *version, *kind),
        [version, kind] => ("", *version, *kind),
        _ => return Err("name a kind as group/version/Kind, such as apps/v1/Deployment".into()),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<Duck<Conditions>> = Api::all_with(Client::try_default().await?, &resource);
    for object in api.list(&ListParams::default()).await? {
        tell(kind, &object);
    }
    Ok(())
}

fn in_memory() -> Result<(), Box<dyn Error>> {
    for object in objects() {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        tell(&kind, &serde_json::from_value(object)?);
    }

    println!("\nOne condition changes. The patch names nothing but the conditions:");
    let [widget, ..] = objects();
    let widget: Duck<Conditions> = serde_json::from_value(widget)?;
    let diff = widget.edit(|conditions| {
        for condition in &mut conditions.0 {
            condition.status = "False".into();
        }
    })?;
    for request in diff.json(PatchPrecondition::Version)? {
        println!("{:?}: {}", request.endpoint, serde_json::to_string_pretty(&request.body()?)?);
    }

    println!("\nWhat a definition must change before its objects can carry conditions:");
    let wanted = [FieldSpec::write(duck_path!("/status/conditions"), FieldType::Array)];
    for violation in check_crd(&definition(), "v1", &wanted).violations {
        println!("- {violation}");
    }
    Ok(())
}

fn tell(kind: &str, object: &Duck<Conditions>) {
    let name = object.name_any();
    match object.view() {
        Ok(conditions) => {
            let texts: Vec<String> = conditions
                .0
                .iter()
                .map(|condition| format!("{}={}", condition.r#type, condition.status))
                .collect();
            println!("{kind} {name}: {}", texts.join(", "));
        }
        Err(DuckError::Absent { .. } | DuckError::Null { .. }) => println!("{kind} {name}: no conditions"),
        Err(error) => println!("{kind} {name}: {error}"),
    }
}

/// Three kinds; the last object is malformed, which hides none of the others.
fn objects() -> [Value; 3] {
    let object = |kind: &str, status: Value| {
        json!({
            "apiVersion": "example.com/v1", "kind": kind,
            "metadata": {"name": "one", "uid": "u", "resourceVersion": "7"}, "status": status,
        })
    };
    [
        object(
            "Widget",
            json!({"conditions": [{"type": "Ready", "status": "True", "owner": "kept"}], "size": 3}),
        ),
        object("Gadget", json!({})),
        object("Gizmo", json!({"conditions": [{"type": "Ready", "status": true}]})),
    ]
}

/// A definition that forgot the conditions and the status subresource.
fn definition() -> Value {
    let status = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    json!({"spec": {"versions": [{
        "name": "v1", "served": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
    }]}})
}
