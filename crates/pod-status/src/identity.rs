//! The identity of a reporter: a pod, and one run of its process.
//!
//! A pod's name is reused by StatefulSets and its uid survives a container restart, so neither alone identifies
//! a run. The *incarnation* does: it is new in every process.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::error::Error;

/// The time after its last heartbeat after which a process without a pod counts as gone.
const DETACHED_TTL: Duration = Duration::from_secs(60);

/// One run of one reporting process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodIdentity {
    /// The namespace of the pod and of its reports.
    pub namespace: String,
    /// The pod's name: what `byPod` calls `id`.
    pub name: String,
    /// The pod's uid; nothing for a process outside any pod.
    pub uid: Option<String>,
    /// Different in every run of the process.
    pub incarnation: String,
    /// The uses that the process makes of what it ingests, such as `webhook` or `audit`.
    pub operations: BTreeSet<String>,
}

impl PodIdentity {
    /// Reads the identity in `POD_NAME`, `POD_NAMESPACE` and `POD_UID`, which the pod's manifest sets from
    /// `metadata.name`, `metadata.namespace` and `metadata.uid` (the downward API).
    ///
    /// # Errors
    ///
    /// [`Error::Environment`] naming every variable that is missing or empty.
    pub fn from_downward_api(operations: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Error> {
        Self::from_variables(|name| std::env::var(name).ok(), operations)
    }

    /// Reads the identity as [`PodIdentity::from_downward_api`], with `variable` in place of the process environment.
    ///
    /// # Errors
    ///
    /// [`Error::Environment`] naming every variable that is missing or empty.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, Error> {
        let mut missing = Vec::new();
        let mut read = |name: &'static str| {
            let value = variable(name).filter(|value| !value.is_empty());
            if value.is_none() {
                missing.push(name);
            }
            value.unwrap_or_default()
        };
        let (name, namespace, uid) = (read("POD_NAME"), read("POD_NAMESPACE"), read("POD_UID"));
        if !missing.is_empty() {
            return Err(Error::Environment { missing });
        }
        Ok(Self::new(namespace, name, Some(uid), operations))
    }

    /// Returns the identity of a process that is not a pod of this cluster.
    ///
    /// Its reports have no owner (a reference to a pod that does not exist would have them garbage-collected
    /// again and again); instead the process sends heartbeats, and its reports are swept when there has been
    /// none for 60 seconds.
    pub fn detached(
        namespace: impl Into<String>,
        name: impl Into<String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::new(namespace.into(), name.into(), None, operations)
    }

    fn new(
        namespace: String,
        name: String,
        uid: Option<String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let operations = operations.into_iter().map(Into::into).collect();
        Self { namespace, name, uid, incarnation: new_incarnation(), operations }
    }

    /// Returns the owner of the reports: the pod, so that they are deleted with it. `None` for a detached process.
    pub fn owner_reference(&self) -> Option<OwnerReference> {
        self.uid.as_ref().map(|uid| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.name.clone(),
            uid: uid.clone(),
            ..OwnerReference::default()
        })
    }

    /// Returns the time without a heartbeat after which a detached process counts as gone; `None` for a pod, which is gone when its
    /// object is, unless [`crate::ReporterConfig::fence`] is set.
    pub fn ttl(&self) -> Option<Duration> {
        self.uid.is_none().then_some(DETACHED_TTL)
    }

    /// Returns a name that is different in every run, such as the holder of a Lease.
    pub fn holder(&self) -> String {
        format!("{}_{}", self.name, self.incarnation)
    }

    /// Returns the identity of another run of the same pod: for tests and for processes that start over without ending.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.incarnation = new_incarnation();
        self
    }
}

/// 64 random bits from the keys the standard library draws for its hash maps.
fn new_incarnation() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_variable_is_named_at_once() {
        let set = |name: &str| (name == "POD_NAME").then(|| "a".to_owned());
        let error = PodIdentity::from_variables(set, ["webhook"]).unwrap_err();
        assert!(error.to_string().contains("POD_NAMESPACE, POD_UID"), "{error}");
    }

    #[test]
    fn an_empty_variable_is_missing() {
        let set = |name: &str| Some(if name == "POD_UID" { "" } else { "a" }.to_owned());
        assert!(PodIdentity::from_variables(set, ["webhook"]).is_err());
    }

    #[test]
    fn a_pod_owns_its_reports_and_a_detached_process_has_a_ttl() {
        let pod = PodIdentity::from_variables(|name| Some(name.to_lowercase()), ["webhook"]).unwrap();
        assert_eq!(pod.owner_reference().unwrap().uid, "pod_uid");
        assert_eq!(pod.ttl(), None);
        let process = PodIdentity::detached("ns", "laptop", ["audit"]);
        assert_eq!(process.owner_reference(), None);
        assert!(process.ttl().is_some());
    }

    #[test]
    fn two_runs_have_two_incarnations() {
        let run = || PodIdentity::detached("ns", "laptop", ["audit"]).incarnation;
        assert_ne!(run(), run());
    }
}
