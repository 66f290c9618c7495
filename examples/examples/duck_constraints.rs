//! Reads constraints of any kind, and changes the enforcement action of one without knowing its parameters.
//!
//! ```text
//! cargo run -p examples --example duck_constraints
//! ```
//!
//! The kinds are made by templates at run time, so no Rust type can exist for them; all of them have the same `spec`
//! around their own `parameters`.

use std::error::Error;

use duck_types::{Duck, DuckStreamExt, DuckType, PatchPrecondition};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The part of a constraint that does not depend on its template.
#[derive(Deserialize, PartialEq, Serialize, DuckType)]
#[serde(rename_all = "camelCase")]
#[duck(path = "/spec")]
struct Policy {
    #[serde(default = "deny")]
    enforcement_action: String,
    #[serde(default)]
    r#match: Match,
}

#[derive(Default, Deserialize, PartialEq, Serialize)]
struct Match {
    #[serde(default)]
    kinds: Vec<Kinds>,
}

#[derive(Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kinds {
    #[serde(default)]
    api_groups: Vec<String>,
    kinds: Vec<String>,
}

fn deny() -> String {
    "deny".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let objects: Vec<DynamicObject> =
        constraints().into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?;
    // In a cluster this stream is `watcher(api, config).applied_objects()`.
    let found = stream::iter(objects.clone()).map(Ok::<_, kube::Error>);
    let mut seen = std::pin::pin!(found.ducks::<Policy>());
    while let Some(constraint) = seen.next().await {
        match constraint {
            Ok(constraint) => show(&constraint.view, constraint.object.object()),
            // One malformed constraint hides none of the others.
            Err(error) => println!("{error}"),
        }
    }

    println!("\nowners is denied from now on, and its parameters stay:");
    let [owners, ..] = constraints();
    let owners: Duck<Policy> = serde_json::from_value(owners)?;
    let diff = owners.edit(|policy| policy.enforcement_action = deny())?;
    // With a client: `owners.apply(&api, Write::Json { … }, |policy| …).await?`.
    let mut stored = serde_json::to_value(&owners)?;
    for request in diff.json(PatchPrecondition::Version)? {
        let patch: json_patch::Patch = serde_json::from_value(request.body()?)?;
        json_patch::patch(&mut stored, &patch)?;
    }
    println!("{}", stored.get("spec").unwrap_or(&Value::Null));
    Ok(())
}

fn show(policy: &Policy, object: &DynamicObject) {
    let kind = object.types.as_ref().map_or("", |types| types.kind.as_str());
    let kinds: Vec<&str> =
        policy.r#match.kinds.iter().flat_map(|kinds| &kinds.kinds).map(String::as_str).collect();
    println!("{kind} {}: {} on {}", object.name_any(), policy.enforcement_action, kinds.join(", "));
}

fn constraints() -> [Value; 3] {
    let constraint = |kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
            "metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": spec,
        })
    };
    let on = |kinds: Value| json!({"kinds": [{"apiGroups": [""], "kinds": kinds}]});
    let labels = json!({"labels": ["owner"]});
    let owners =
        json!({"enforcementAction": "warn", "match": on(json!(["Pod", "Service"])), "parameters": labels});
    [
        constraint("K8sRequiredLabels", "owners", owners),
        constraint(
            "K8sAllowedRepos",
            "repos",
            json!({"match": on(json!(["Pod"])), "parameters": {"repos": ["r/"]}}),
        ),
        constraint("K8sBroken", "broken", json!({"match": on(json!("Pod"))})),
    ]
}
