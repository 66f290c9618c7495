//! Waits until the API server serves a CRD that this process has written.

use std::time::Duration;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use tokio::time::timeout;
use watch_manager::WatchedObject;

use crate::own_watch::{OwnEvent, OwnWatches, crds};

/// An API server serves a CRD within a second, a loaded one within a few. One that takes this long is not going to.
pub(crate) const ESTABLISH: Duration = Duration::from_secs(30);

/// Returns true once the API server serves the CRD, and false if it does not within [`ESTABLISH`]. A CRD that was
/// established when it was written takes no request.
///
/// Cancel-safe: a watch that has begun ends.
pub(crate) async fn until_established(client: &kube::Client, written: &DynamicObject) -> bool {
    if is_established(&written.data) {
        return true;
    }
    let this = crds().fields(format!("metadata.name={}", written.name_any()));
    let events = OwnWatches::new(client.clone()).watch(this);
    let established = events.any(|event| {
        std::future::ready(match event {
            OwnEvent::Listed(crds) => crds.iter().any(|crd| is_served(crd)),
            OwnEvent::Changed(crd) => is_served(&crd),
            OwnEvent::Gone(_) | OwnEvent::Failed(_) => false,
        })
    });
    timeout(ESTABLISH, established).await.unwrap_or(false)
}

fn is_served(crd: &WatchedObject) -> bool {
    crd.to_dynamic().is_ok_and(|crd| is_established(&crd.data))
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|entry| entry["type"] == "Established" && entry["status"] == "True")
}
