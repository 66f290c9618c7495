//! Processes of the operator that would register the webhook again.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use pod_status::{Member, PodReport, ReportKind, SHARD_LABEL};
use serde_json::{Value, json};
use tokio::time::{Instant, interval};

use super::target::{LABEL, deployments};
use super::{POLL, UninstallError, pods, step_if_allowed};

/// Refuses while a Deployment of the operator has pods, in whatever namespace. An account that may only list those of one
/// namespace, or none, is taken at its word.
pub(super) async fn refuse_deployed(client: &kube::Client, namespace: &str) -> Result<(), UninstallError> {
    let own = ListParams::default().labels(LABEL);
    let list =
        async |api: Api<DynamicObject>| step_if_allowed("list Deployments".to_owned(), api.list(&own)).await;
    let listed = match list(Api::all_with(client.clone(), &deployments())).await? {
        None => list(Api::namespaced_with(client.clone(), namespace, &deployments())).await?,
        listed => listed,
    };
    let is_running =
        |deployment: &DynamicObject| deployment.data.pointer("/spec/replicas") != Some(&json!(0));
    let found = listed.into_iter().flatten().find(is_running);
    found.map_or(Ok(()), |found| {
        let namespace = found.namespace().unwrap_or_default();
        Err(UninstallError::Deployed { namespace, deployment: found.name_any() })
    })
}

/// Waits until no process is registered that may run, at most for `patience`: one that was asked to end takes a while.
pub(super) async fn until_none(
    client: &kube::Client,
    patience: Duration,
    notify: impl Fn(&str),
) -> Result<(), UninstallError> {
    let (begun, mut beats, mut tick) = (Instant::now(), BTreeMap::new(), interval(POLL));
    let mut notified = false;
    loop {
        tick.tick().await;
        let left = running(client, &mut beats).await?;
        if left.is_empty() {
            return Ok(());
        }
        let runs = left.join(", ");
        if begun.elapsed() >= patience {
            return Err(UninstallError::Running { runs });
        }
        if !std::mem::replace(&mut notified, true) {
            notify(&format!("waiting until webtroller has ended that runs as {runs}"));
        }
    }
}

/// The last heartbeat of each run outside any pod, and when it was first seen.
type Beats = BTreeMap<String, (Option<u64>, Instant)>;

/// The runs that are registered and may go on, with their namespaces.
async fn running(client: &kube::Client, beats: &mut Beats) -> Result<Vec<String>, UninstallError> {
    let reports: Api<DynamicObject> = Api::all_with(client.clone(), &ReportKind::default().api_resource());
    let registrations = ListParams::default().labels(&format!("{SHARD_LABEL}=0"));
    let listed = step_if_allowed("list the registrations of pods".to_owned(), reports.list(&registrations));
    let mut left = Vec::new();
    for object in listed.await?.into_iter().flatten() {
        let namespace = object.namespace().unwrap_or_default();
        // What cannot be read is not known to be of a process.
        let Ok(PodReport { pod: run, .. }) = serde_json::from_value(object.data) else { continue };
        let goes_on = match &run.uid {
            _ if run.stopped => false,
            Some(uid) => is_there(client, &namespace, &run.id, uid).await?,
            None => beats_on(&run, beats),
        };
        if goes_on {
            left.push(format!("{namespace}/{}", run.id));
        }
    }
    Ok(left)
}

/// The pod exists and is not finished: its container would be started again.
async fn is_there(
    client: &kube::Client,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<bool, UninstallError> {
    let pods = pods(client, namespace);
    let found = step_if_allowed(format!("read the Pod {name}"), pods.get(name)).await?;
    Ok(found.is_some_and(|pod| {
        let phase = pod.data.pointer("/status/phase").and_then(Value::as_str);
        pod.uid().as_deref() == Some(uid) && !matches!(phase, Some("Failed" | "Succeeded"))
    }))
}

/// A process outside any pod sends three heartbeats in its time to live. One that is killed sends none, and its registration
/// stays.
fn beats_on(run: &Member, beats: &mut Beats) -> bool {
    let beat = beats.entry(run.incarnation.clone()).or_insert((run.heartbeat, Instant::now()));
    if beat.0 != run.heartbeat {
        *beat = (run.heartbeat, Instant::now());
    }
    let ttl = Duration::from_secs(run.ttl_seconds.unwrap_or_default());
    beat.1.elapsed() < ttl.mul_f32(0.4)
}
