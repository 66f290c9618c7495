//! Generated objects and edits on the API server.

use futures::StreamExt;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::*;
use crate::family::AnyCase;

/// Creates the object of a case, and sends the patches of its edit as the object is stored.
async fn run(api: &Api<DynamicObject>, seed: u64, case: &dyn AnyCase) -> Result<(), String> {
    let fail = |what: &str, error: String| format!("seed {seed}: {what}: {error}");
    let name = format!("case-{seed}");
    let mut object = case.object().clone();
    object["metadata"] = json!({"name": name});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.map_err(|error| fail("create", error.to_string()))?;
    let status = Patch::Merge(json!({"status": object.data["status"]}));
    let stored = api.patch_status(&name, &PatchParams::default(), &status).await;
    let stored = stored.map_err(|error| fail("status", error.to_string()))?;
    let before = serde_json::to_value(&stored).unwrap();
    let patches = match case.patches(&before, usize::try_from(seed).unwrap()) {
        Ok(patches) => patches,
        // A merge patch of the status drops nulls, after which some objects are not readable.
        Err(error) if error.contains("expected shape") => return Ok(()),
        Err(error) => return Err(fail("edit", error)),
    };
    let mut last = stored;
    for (index, patch) in patches.into_iter().enumerate() {
        let patch = if index == 0 { patch } else { patch.follow(&last) };
        let sent = match patch.endpoint {
            duck_types::Endpoint::Object => api.patch(&name, &patch.params, &patch.patch).await,
            duck_types::Endpoint::Status => api.patch_status(&name, &patch.params, &patch.patch).await,
        };
        last = sent.map_err(|error| fail("patch", format!("{error}: {:?} of {before}", patch.patch)))?;
    }
    let after: Value = serde_json::to_value(&last).unwrap();
    let without_metadata = |mut object: Value| {
        object.as_object_mut().unwrap().remove("metadata");
        object
    };
    case.confirm(&without_metadata(before), &without_metadata(after)).map_err(|error| fail("result", error))
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_edits_do_on_the_server_what_the_type_says() {
    let wanted = std::env::var("DUCK_CLUSTER_CASES").map_or(500, |text| text.parse().unwrap());
    let (client, namespace) = pond("generated", json!({})).await;
    let api = plain(&client, &namespace);
    let cases = (0..).filter_map(|seed| Some((seed, family::case(seed)?))).take(wanted);
    let cases: Vec<(u64, Box<dyn AnyCase>)> = cases.collect();
    let results = cases.iter().map(|(seed, case)| run(&api, *seed, case.as_ref()));
    let results: Vec<Result<(), String>> = futures::stream::iter(results).buffer_unordered(8).collect().await;
    let failed: Vec<String> = results.iter().filter_map(|result| result.clone().err()).collect();
    println!("{} edits on the API server", results.len());
    let shown: Vec<_> = failed.iter().take(8).map(String::as_str).collect();
    assert!(failed.is_empty() && results.len() == wanted, "{} failed:\n{}", failed.len(), shown.join("\n"));
}
