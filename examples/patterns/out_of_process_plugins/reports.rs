//! This process's knowledge about each plug-in. A circuit and its places are those of one process, so each
//! reports its own.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use examples::Cluster;
use kube::ResourceExt;
use pod_status::readiness::ErrorClass;
use pod_status::{ParentKey, PodError, PodIdentity, ReporterConfig, StatusReporter};

use crate::endpoint::Endpoint;
use crate::kinds::{Extension, Known};

pub(crate) const GROUP: &str = "status.webtroller.dev";
pub(crate) const RESOURCE: &str = "podreports";

pub(crate) struct Reports {
    cluster: Cluster,
    reporter: StatusReporter,
    /// The line that was printed last.
    said: Mutex<HashMap<ParentKey, String>>,
}

/// The reason why a plug-in is not called, or not where its Extension says: one word, and a sentence.
pub(crate) type Reason = (&'static str, String);

/// The pod that this process runs in, or this process where the downward API names none.
pub(crate) fn identity(cluster: &Cluster) -> Result<PodIdentity> {
    if std::env::var_os("POD_NAME").is_some() {
        return Ok(PodIdentity::from_downward_api([cluster.role.as_str()])?);
    }
    // Another process has another name: on this machine by its number, on another by the time of its start.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}-{:x}-{}", cluster.role, since.as_micros(), std::process::id());
    Ok(PodIdentity::detached(&cluster.namespace, name, [cluster.role.as_str()]))
}

// === impl Reports ===

impl Reports {
    /// The reports, and what stores them until the process is asked to end.
    pub(crate) fn new(cluster: &Cluster) -> Result<(Self, impl Future<Output = ()> + use<>)> {
        let config = ReporterConfig::default();
        let (reporter, driver) = StatusReporter::new(cluster.client.clone(), identity(cluster)?, config);
        let driven = driver.run(cluster.shutdown.clone());
        Ok((Self { cluster: cluster.clone(), reporter, said: Mutex::default() }, driven))
    }

    /// Waits until this process counts: what it reports is waited for from then on.
    pub(crate) async fn registered(&self) -> Result<()> {
        Ok(self.reporter.registered().await?)
    }

    /// Reports the plug-in that is called, if there is one, and why it is not the one of the spec.
    pub(crate) fn report(&self, of: &Extension, called: Option<&Endpoint>, failure: Option<Reason>) {
        let known = called.map(Endpoint::known).unwrap_or_default();
        let reason = failure.as_ref().map_or("Discovered", |(reason, _)| reason);
        self.say(of, format!("Extension {}: {reason}{known}", of.name_any()));
        // A plug-in that comes later, or back, is called then: the Extension needs no repair.
        let error = |(reason, message)| PodError::new(reason, message).class(ErrorClass::Transient);
        let outcome = failure.map_or(Ok(()), |failure| Err(error(failure).into()));
        let generation = of.metadata.generation.unwrap_or_default();
        self.reporter.ingested(&ParentKey::of(of, &()), generation, outcome, known);
    }

    /// Returns true if anything has been reported about it: it is called, or was tried to be.
    pub(crate) fn has(&self, extension: &Extension) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.contains_key(&ParentKey::of(extension, &()))
    }

    fn say(&self, of: &Extension, text: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let before = said.insert(ParentKey::of(of, &()), text.clone());
        if before.as_ref() != Some(&text) {
            self.cluster.say(text);
        }
    }

    /// Withdraws what was reported about Extensions that are gone.
    pub(crate) fn keep(&self, live: &[Arc<Extension>]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|key, _| {
            let is_live = live.iter().any(|extension| extension.uid().as_ref() == Some(&key.uid));
            if !is_live {
                self.reporter.removed(key);
            }
            is_live
        });
    }
}

/// As a line of the demo's output.
impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.endpoint.is_empty() {
            return Ok(());
        }
        let busy = if self.saturated { ", saturated" } else { "" };
        write!(f, " {}, circuit {}{busy}", self.version, self.circuit)
    }
}
