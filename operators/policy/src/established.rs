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
    if is_established(written) {
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
    crd.to_dynamic().is_ok_and(|crd| is_established(&crd))
}

/// Returns true if the API server serves the CRD, by its status.
pub(crate) fn is_established(crd: &DynamicObject) -> bool {
    condition(crd, "Established", "True").is_some()
}

/// The message of a condition that has this status.
pub(crate) fn condition<'a>(crd: &'a DynamicObject, kind: &str, status: &str) -> Option<&'a str> {
    let conditions = crd.data.pointer("/status/conditions").and_then(Value::as_array)?;
    let is = |condition: &Value, field: &str, value: &str| condition.get(field).is_some_and(|is| is == value);
    let found = conditions.iter().find(|entry| is(entry, "type", kind) && is(entry, "status", status))?;
    Some(found.get("message").and_then(Value::as_str).unwrap_or_default())
}
