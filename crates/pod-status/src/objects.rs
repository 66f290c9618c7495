//! The report objects of one run in the API server, and its Pod.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::ready;
use futures::stream::BoxStream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use crate::desired::{Write, Written};
use crate::direct_status::DirectEntries;
use crate::follow::{Changes, FollowSelection, Followed};
use crate::gatekeeper::{self, PodStatusKind};
use crate::identity::PodIdentity;
use crate::name::{label_value, pack};
use crate::pace::{LONGEST_REQUEST, answered_within};
use crate::pod;
use crate::reason::code;
use crate::registration::acknowledged;
use crate::report::{POD_LABEL, PodReport, REGISTRATION, SHARD_LABEL};
use crate::reporter_config::ReporterConfig;

/// Versions of own writes that are remembered, to distinguish them from those of other clients.
const VERSIONS: usize = 64;

/// A kind of which parents have an object of their own.
struct OwnKind {
    kind: PodStatusKind,
    objects: Api<DynamicObject>,
}

/// Objects that a previous run has left get numbers from here on.
const LEFT_OVER: u32 = 1 << 31;

pub(crate) struct Objects {
    reports: Api<DynamicObject>,
    changes: Changes,
    pods: Api<DynamicObject>,
    identity: PodIdentity,
    params: PatchParams,
    kind: ApiResource,
    type_meta: Value,
    /// The time after which this run counts as gone without a heartbeat.
    ttl: Option<Duration>,
    /// The kinds of which parents have an object of their own.
    kinds: Vec<Arc<OwnKind>>,
    /// The objects of single parents, by the number of their report: the kind, and the name.
    places: BTreeMap<u32, (Arc<OwnKind>, String)>,
    /// The entries that this run applies to parents.
    direct: DirectEntries,
    /// The uids of the objects that this run has written.
    uids: BTreeMap<u32, String>,
    versions: VecDeque<String>,
    /// Shards in the list that is followed and not complete.
    found: usize,
}

impl Objects {
    pub(crate) fn new(
        client: kube::Client,
        identity: PodIdentity,
        config: &ReporterConfig,
        ttl: Option<Duration>,
    ) -> Self {
        let (resource, namespace) = (config.kind.api_resource(), identity.namespace.clone());
        let own = |kind: &PodStatusKind| {
            let objects = Api::namespaced_with(client.clone(), &namespace, &kind.api_resource());
            Arc::new(OwnKind { kind: *kind, objects })
        };
        Self {
            kinds: config.per_parent.iter().map(own).collect(),
            places: BTreeMap::new(),
            direct: DirectEntries::new(
                client.clone(),
                &identity,
                &config.field_manager,
                config.direct.clone(),
            ),
            reports: Api::namespaced_with(client.clone(), &namespace, &resource),
            changes: Changes::new(client.clone(), config.follow.clone()),
            pods: Api::namespaced_with(client, &namespace, &pod::resource()),
            identity,
            // Forced: the objects are this run's own, and what another client wrote into them is to go.
            params: PatchParams::apply(&config.field_manager).force(),
            type_meta: json!({"apiVersion": resource.api_version, "kind": resource.kind}),
            kind: resource,
            ttl,
            uids: BTreeMap::new(),
            versions: VecDeque::new(),
            found: 0,
        }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.identity.uid.is_none()
    }

    /// The period of the heartbeats: two may get lost before the run counts as gone.
    pub(crate) fn heartbeat_period(&self) -> Option<Duration> {
        self.ttl?.checked_div(3)
    }

    /// Returns how long an answer is waited for: a lost one must not cost the heartbeat.
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

    /// The collection and the name of an object.
    fn place(&self, shard: u32) -> (&Api<DynamicObject>, String) {
        match self.places.get(&shard) {
            Some((own, name)) => (&own.objects, name.clone()),
            None => (&self.reports, self.name(shard)),
        }
    }

    /// Notes the object of a single parent. A previous run may have left it under another number.
    fn settle(&mut self, write: &Write) {
        let Some([entry]) = write.report.as_ref().map(|report| report.entries.as_slice()) else { return };
        let parent = &entry.parent.reference;
        let Some(own) = self.kinds.iter().find(|own| own.kind.is_for(parent)) else { return };
        let name = own.kind.object_name(&self.identity.name, parent);
        self.places.retain(|shard, known| *shard == write.shard || !is_at(known, own, &name));
        self.places.insert(write.shard, (Arc::clone(own), name));
    }

    /// Writes or deletes one object. An object that this run has written before is only updated: a process
    /// whose pod is gone must not create again what the garbage collector deletes.
    pub(crate) async fn carry_out(&mut self, write: &Write) -> kube::Result<Written> {
        let written = self.send(write).await;
        count(write, &written);
        written
    }

    async fn send(&mut self, write: &Write) -> kube::Result<Written> {
        if let Some(done) = self.direct.carry_out(write, self.deadline()).await {
            return done;
        }
        self.settle(write);
        let Some(report) = &write.report else {
            return self.delete(write.shard).await;
        };
        let (api, name) = self.place(write.shard);
        let body = self.body(&name, report, write.shard)?;
        let patch = Patch::Apply(&body);
        let stored = answered_within(self.deadline(), api.patch(&name, &self.params, &patch)).await;
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

    async fn delete(&mut self, shard: u32) -> kube::Result<Written> {
        self.uids.remove(&shard);
        if shard >= LEFT_OVER && !self.places.contains_key(&shard) {
            // This run has taken the object over.
            return Ok(Written::Done);
        }
        let (api, name) = self.place(shard);
        match answered_within(self.deadline(), api.delete(&name, &DeleteParams::default())).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Written::Done),
            other => other.map(|_| Written::Done),
        }
    }

    fn body(&self, name: &str, report: &PodReport, shard: u32) -> kube::Result<Value> {
        let own = self.places.get(&shard).map(|(own, _)| own);
        let (mut body, labels) = match (own, report.entries.first()) {
            (Some(own), Some(entry)) => {
                let resource = own.kind.api_resource();
                let body = json!({
                    "apiVersion": resource.api_version, "kind": resource.kind, "status": own.kind.status(report),
                });
                (body, own.kind.labels(&self.identity.name, &entry.parent.reference))
            }
            _ => {
                let mut body = serde_json::to_value(report).map_err(kube::Error::SerdeError)?;
                if let (Some(fields), Some(type_meta)) = (body.as_object_mut(), self.type_meta.as_object()) {
                    fields.extend(type_meta.clone());
                }
                let pod = (POD_LABEL.to_owned(), label_value(&self.identity.name));
                (body, BTreeMap::from([pod, (SHARD_LABEL.to_owned(), shard.to_string())]))
            }
        };
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.identity.namespace.clone()),
            labels: Some(labels),
            annotations: own.map(|_| PodStatusKind::annotations(report)),
            owner_references: self.owner(report).map(|owner| vec![owner]),
            uid: self.uids.get(&shard).cloned(),
            ..ObjectMeta::default()
        };
        if let Some(fields) = body.as_object_mut() {
            let metadata = serde_json::to_value(metadata).map_err(kube::Error::SerdeError)?;
            fields.insert("metadata".to_owned(), metadata);
        }
        Ok(body)
    }

    /// The registration of a run with a fence has no owner. It outlives a Pod object that is deleted by
    /// force, so that every aggregator knows of a process that may still run, until the process says that it
    /// has stopped or its time is over. The aggregator deletes it.
    fn owner(&self, report: &PodReport) -> Option<OwnerReference> {
        let is_kept = report.shard == REGISTRATION && report.pod.ttl_seconds.is_some();
        self.identity.owner_reference().filter(|_| !is_kept)
    }

    /// This pod's objects by shard, including those that another run of the same pod has left.
    pub(crate) async fn list(&mut self) -> kube::Result<BTreeMap<u32, Option<PodReport>>> {
        let objects = answered_within(self.deadline(), self.reports.list(&self.selector(POD_LABEL))).await?;
        let own = objects.items.into_iter().filter_map(|object| {
            let shard = self.shard_of(&object)?;
            Some((shard, serde_json::from_value(object.data).ok()))
        });
        let mut found: BTreeMap<u32, Option<PodReport>> = own.collect();
        for own in self.kinds.clone() {
            for (name, report) in self.list_own(&own).await? {
                let shard = self.number(&own, name);
                // One that cannot be read differs from every report that this run wants.
                found.insert(shard, Some(report.unwrap_or_default()));
            }
        }
        found.extend(self.direct.list(self.deadline()).await?);
        Ok(found)
    }

    /// The objects of one kind of which parents have their own.
    async fn list_own(&self, own: &OwnKind) -> kube::Result<Vec<(String, Option<PodReport>)>> {
        let selector = self.selector(gatekeeper::POD_LABEL);
        let objects = answered_within(self.deadline(), own.objects.list(&selector)).await?;
        Ok(objects.items.iter().map(|object| (object.name_any(), own.kind.read(object))).collect())
    }

    /// The number of the object of a single parent, or a new one for an object that a previous run has left.
    fn number(&mut self, own: &Arc<OwnKind>, name: String) -> u32 {
        if let Some((shard, _)) = self.places.iter().find(|(_, known)| is_at(known, own, &name)) {
            return *shard;
        }
        let last = self.places.keys().next_back().copied().unwrap_or_default();
        let number = last.saturating_add(1).max(LEFT_OVER);
        self.places.insert(number, (Arc::clone(own), name));
        number
    }

    /// Returns true if the pod of this process is gone, so that the process is left over. Never so outside a pod.
    pub(crate) async fn is_pod_gone(&self) -> kube::Result<bool> {
        match &self.identity.uid {
            Some(uid) => pod::is_gone(&self.pods, &self.identity.name, uid, self.deadline()).await,
            None => Ok(false),
        }
    }

    /// The changes of this pod's objects, by any client. Only the shards' lists have a beginning and an end.
    pub(crate) fn follow(&self) -> BoxStream<'static, Followed> {
        let follow = |resource: ApiResource, label: &str| {
            let objects =
                FollowSelection::new(resource, &self.identity.namespace).label(label, self.own_label());
            self.changes.follow(&objects.metadata_only())
        };
        let own = self.kinds.iter().map(|own| {
            let changes = follow(own.kind.api_resource(), gatekeeper::POD_LABEL);
            changes.filter(|step| ready(!matches!(step, Followed::Begin | Followed::End))).boxed()
        });
        let shards = follow(self.kind.clone(), POD_LABEL);
        futures::stream::select_all(own.chain([shards])).boxed()
    }

    pub(crate) fn incarnation(&self) -> &str {
        &self.identity.incarnation
    }

    /// Returns true if something is not as this run left it: an object, or a list that lacks one.
    pub(crate) fn is_wrong(&mut self, event: &Followed) -> bool {
        match event {
            Followed::Begin => self.found = 0,
            Followed::Found(object) if self.is_shard(object) => self.found = self.found.saturating_add(1),
            Followed::End => return self.found < self.shards(),
            _ => {}
        }
        self.is_foreign(event)
    }

    /// Returns true if an object that this run wrote is now as another client left it.
    fn is_foreign(&self, event: &Followed) -> bool {
        match event {
            Followed::Found(object) | Followed::Applied(object) => {
                let version = object.resource_version().unwrap_or_default();
                self.shard_of(object).is_some() && !self.versions.contains(&version)
            }
            Followed::Deleted(object) => self
                .shard_of(object)
                .is_some_and(|shard| self.uids.get(&shard).map(String::as_str) == object.uid().as_deref()),
            Followed::Begin | Followed::End | Followed::Alive => false,
        }
    }

    /// Returns true if it is acknowledged in the registration of this run that no status claims of it what it has given
    /// up.
    pub(crate) fn is_acknowledged(&self, event: &Followed) -> bool {
        let (Followed::Found(object) | Followed::Applied(object)) = event else { return false };
        self.shard_of(object) == Some(REGISTRATION)
            && acknowledged(object) == Some(&self.identity.incarnation)
    }

    /// Returns true if the object is a shard of this pod, by whichever run of it.
    fn is_shard(&self, object: &DynamicObject) -> bool {
        self.shard_of(object).is_some_and(|shard| !self.places.contains_key(&shard))
    }

    /// The number of shards that this run has written and holds to exist.
    fn shards(&self) -> usize {
        self.uids.keys().filter(|shard| !self.places.contains_key(shard)).count()
    }

    /// Returns true if this run has written the object and holds it to exist.
    pub(crate) fn has_written(&self, shard: u32) -> bool {
        self.uids.contains_key(&shard)
    }

    fn selector(&self, label: &str) -> ListParams {
        ListParams::default().labels(&format!("{label}={}", self.own_label()))
    }

    /// The value of the label by which this pod's objects are found.
    fn own_label(&self) -> String {
        label_value(&self.identity.name)
    }

    /// The shard that an object of this pod holds; nothing for an object of a namesake.
    fn shard_of(&self, object: &impl ResourceExt) -> Option<u32> {
        if object.labels().contains_key(gatekeeper::POD_LABEL) {
            let name = object.name_any();
            return self.places.iter().find(|(_, (_, known))| *known == name).map(|(shard, _)| *shard);
        }
        let shard = object.labels().get(SHARD_LABEL)?.parse().ok()?;
        (object.name_any() == self.name(shard)).then_some(shard)
    }
}

fn is_at(place: &(Arc<OwnKind>, String), own: &OwnKind, name: &str) -> bool {
    place.0.kind == own.kind && place.1 == name
}

fn count(write: &Write, written: &kube::Result<Written>) {
    let verb = if write.report.is_some() { "apply" } else { "delete" };
    let code = match written {
        // The precondition of the uid failed.
        Ok(Written::Deleted) => "409".to_owned(),
        other => code(other),
    };
    metrics::counter!("pod_status_report_writes_total", "verb" => verb, "code" => code).increment(1);
}
