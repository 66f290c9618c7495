//! The report objects of one run in the API server, and its Pod.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};

use crate::follow::{Event, follow};
use crate::identity::PodIdentity;
use crate::ledger::Write;
use crate::name::{label_value, pack};
use crate::pace::{LONGEST_REQUEST, answered_within};
use crate::pod;
use crate::report::{POD_LABEL, PodReport, SHARD_LABEL};
use crate::reporter::ReporterConfig;

/// Versions of own writes that are remembered, to tell them from those of other clients.
const VERSIONS: usize = 64;

/// The result of a write that the API server has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The object is as wanted.
    Done,
    /// Another client has deleted the object since this run wrote it; nothing was written.
    Deleted,
}

pub(crate) struct Objects {
    reports: Api<DynamicObject>,
    metadata: Api<PartialObjectMeta<DynamicObject>>,
    pods: Api<Pod>,
    identity: PodIdentity,
    params: PatchParams,
    type_meta: Value,
    /// The time after which this run counts as gone without a heartbeat.
    ttl: Option<Duration>,
    /// The uids of the objects that this run has written.
    uids: BTreeMap<u32, String>,
    versions: VecDeque<String>,
}

impl Objects {
    pub(crate) fn new(
        client: kube::Client,
        identity: PodIdentity,
        config: &ReporterConfig,
        ttl: Option<Duration>,
    ) -> Self {
        let (resource, namespace) = (config.kind.api_resource(), identity.namespace.clone());
        Self {
            reports: Api::namespaced_with(client.clone(), &namespace, &resource),
            metadata: Api::namespaced_with(client.clone(), &namespace, &resource),
            pods: Api::namespaced(client, &namespace),
            identity,
            // Forced: the objects are this run's own, and what another client wrote into them is to go.
            params: PatchParams::apply(&config.field_manager).force(),
            type_meta: json!({"apiVersion": resource.api_version, "kind": resource.kind}),
            ttl,
            uids: BTreeMap::new(),
            versions: VecDeque::new(),
        }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.identity.uid.is_none()
    }

    /// The period of the heartbeats: two may get lost before the run counts as gone.
    pub(crate) fn heartbeat_period(&self) -> Option<Duration> {
        self.ttl?.checked_div(3)
    }

    /// How long an answer is waited for: a lost one must not cost the heartbeat.
    fn deadline(&self) -> Duration {
        let share = self.ttl.and_then(|ttl| ttl.checked_div(4));
        share.map_or(LONGEST_REQUEST, |share| share.min(LONGEST_REQUEST))
    }

    /// The pod's uid is part of the name, so that a pod on a lost node cannot write into the objects of the
    /// pod that took its name.
    fn name(&self, shard: u32) -> String {
        let shard = shard.to_string();
        match &self.identity.uid {
            Some(uid) => pack(&[&self.identity.name, uid, &shard]),
            None => pack(&[&self.identity.name, &shard]),
        }
    }

    /// Writes or deletes one object. An object that this run has written before is only updated: a process
    /// whose pod is gone must not create again what the garbage collector deletes.
    pub(crate) async fn carry_out(&mut self, write: &Write) -> kube::Result<Written> {
        let (name, deadline) = (self.name(write.shard), self.deadline());
        let Some(report) = &write.report else {
            self.uids.remove(&write.shard);
            let deleted =
                answered_within(deadline, self.reports.delete(&name, &DeleteParams::default())).await;
            return match deleted {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Written::Done),
                other => other.map(|_| Written::Done),
            };
        };
        let body = self.body(&name, report, self.uids.get(&write.shard))?;
        let patch = Patch::Apply(&body);
        let stored = answered_within(deadline, self.reports.patch(&name, &self.params, &patch)).await;
        let stored = match stored {
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                self.uids.remove(&write.shard);
                return Ok(Written::Deleted);
            }
            other => other?,
        };
        self.uids.insert(write.shard, stored.uid().unwrap_or_default());
        self.versions.push_back(stored.resource_version().unwrap_or_default());
        if self.versions.len() > VERSIONS {
            self.versions.pop_front();
        }
        Ok(Written::Done)
    }

    fn body(&self, name: &str, report: &PodReport, uid: Option<&String>) -> kube::Result<Value> {
        let mut body = serde_json::to_value(report).map_err(kube::Error::SerdeError)?;
        let mut metadata = json!({
            "name": name,
            "namespace": self.identity.namespace,
            "labels": {POD_LABEL: label_value(&self.identity.name), SHARD_LABEL: report.shard.to_string()},
        });
        if let Some(metadata) = metadata.as_object_mut() {
            if let Some(owner) = self.owner(report) {
                metadata.insert("ownerReferences".to_owned(), json!([owner]));
            }
            if let Some(uid) = uid {
                metadata.insert("uid".to_owned(), json!(uid));
            }
        }
        if let (Some(fields), Some(type_meta)) = (body.as_object_mut(), self.type_meta.as_object()) {
            fields.extend(type_meta.clone());
            fields.insert("metadata".to_owned(), metadata);
        }
        Ok(body)
    }

    /// The registration of a run with a fence has no owner. It outlives a Pod object that is deleted by
    /// force, so that every aggregator knows of a process that may still run, until the process says that it
    /// has stopped or its time is over. The aggregator deletes it.
    fn owner(&self, report: &PodReport) -> Option<Value> {
        let is_kept = report.shard == crate::report::REGISTRATION && report.pod.ttl_seconds.is_some();
        self.identity.owner_reference().filter(|_| !is_kept).map(|owner| json!(owner))
    }

    /// This pod's objects by shard, including those that another run of the same pod has left.
    pub(crate) async fn list(&self) -> kube::Result<BTreeMap<u32, Option<PodReport>>> {
        let objects = answered_within(self.deadline(), self.reports.list(&self.selector())).await?;
        let own = objects.items.into_iter().filter_map(|object| {
            let shard = self.shard_of(&object)?;
            Some((shard, serde_json::from_value(object.data).ok()))
        });
        Ok(own.collect())
    }

    /// Whether the pod of this process is gone, so that the process is left over. Never so outside a pod.
    pub(crate) async fn is_pod_gone(&self) -> kube::Result<bool> {
        match &self.identity.uid {
            Some(uid) => pod::is_gone(&self.pods, &self.identity.name, uid, self.deadline()).await,
            None => Ok(false),
        }
    }

    /// The changes of this pod's objects, whoever makes them.
    pub(crate) fn follow(&self) -> BoxStream<'static, Event<PartialObjectMeta<DynamicObject>>> {
        follow(self.metadata.clone(), self.selector()).boxed()
    }

    /// Whether an object that this run wrote is now as another client left it.
    pub(crate) fn is_foreign(&self, event: &Event<PartialObjectMeta<DynamicObject>>) -> bool {
        match event {
            Event::Found(object) | Event::Applied(object) => {
                let version = object.resource_version().unwrap_or_default();
                self.shard_of(object).is_some() && !self.versions.contains(&version)
            }
            Event::Deleted(object) => self
                .shard_of(object)
                .is_some_and(|shard| self.uids.get(&shard).map(String::as_str) == object.uid().as_deref()),
            Event::Begin | Event::End => false,
        }
    }

    /// Whether the object belongs to this pod, by whichever run of it.
    pub(crate) fn is_own(&self, object: &PartialObjectMeta<DynamicObject>) -> bool {
        self.shard_of(object).is_some()
    }

    /// The number of objects that this run has written and holds to exist.
    pub(crate) fn count(&self) -> usize {
        self.uids.len()
    }

    /// Whether this run has written the object and holds it to exist.
    pub(crate) fn has_written(&self, shard: u32) -> bool {
        self.uids.contains_key(&shard)
    }

    fn selector(&self) -> ListParams {
        ListParams::default().labels(&format!("{POD_LABEL}={}", label_value(&self.identity.name)))
    }

    /// The shard that an object of this pod holds; nothing for an object of a namesake.
    fn shard_of(&self, object: &impl ResourceExt) -> Option<u32> {
        let shard = object.labels().get(SHARD_LABEL)?.parse().ok()?;
        (object.name_any() == self.name(shard)).then_some(shard)
    }
}
