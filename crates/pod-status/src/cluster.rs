//! The aggregator's requests: consistent reads, and writes that fail when the decision is outdated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, PartialObjectMeta};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::activation::Rollout;
use crate::aggregate::{Decision, Parent, Reported, aggregate};
use crate::aggregator::AggregatorConfig;
use crate::decisions::{Count, Job};
use crate::direct;
use crate::follow::{Event, follow};
use crate::gatekeeper::PodStatusKind;
use crate::pace::{LONGEST_REQUEST, answered, answered_patiently};
use crate::pod::{self, UNFINISHED};
use crate::reason::{code, reason};
use crate::report::{Member, PodReport, REGISTRATION, SHARD_LABEL};
use crate::report_store::about_parent;
use crate::shape::Shape;
use crate::watermark::Standing;

/// The result for one parent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// The stored status is right.
    Done(Standing, Option<Held>),
    /// There is no such parent any more.
    Gone,
    /// The parent was written by another client after it was read.
    Stale,
}

/// A generation that waits to be activated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    uid: String,
    generation: i64,
    pub(crate) since: Instant,
    pub(crate) deadline: Duration,
}

impl Held {
    /// How long `parent` has waited at this generation, if this is about it.
    fn waited(&self, parent: &Parent) -> Option<Duration> {
        let is_same = self.uid == parent.key.uid && self.generation == parent.generation;
        is_same.then(|| self.since.elapsed())
    }
}

pub(crate) struct Cluster {
    client: kube::Client,
    reports: Api<DynamicObject>,
    /// The kind of `reports`.
    kind: String,
    /// The collections with reports, by plural name.
    collections: BTreeMap<String, (Api<DynamicObject>, Option<PodStatusKind>)>,
    pod_metadata: Api<PartialObjectMeta<Pod>>,
    pods: Api<Pod>,
    manager: String,
    params: PatchParams,
}

impl Cluster {
    pub(crate) fn new(client: kube::Client, config: &AggregatorConfig) -> Self {
        let api = |resource: &ApiResource| Api::namespaced_with(client.clone(), &config.namespace, resource);
        let reports: Api<DynamicObject> = api(&config.kind.api_resource());
        let mut collections = BTreeMap::from([(config.kind.plural.clone(), (reports.clone(), None))]);
        for kind in &config.per_parent {
            let resource = kind.api_resource();
            collections.insert(resource.plural.clone(), (api(&resource), Some(*kind)));
        }
        Self {
            reports,
            kind: config.kind.kind.clone(),
            collections,
            pod_metadata: Api::namespaced(client.clone(), &config.namespace),
            pods: Api::namespaced(client.clone(), &config.namespace),
            client,
            manager: config.field_manager.clone(),
            // Forced: the fields are this crate's own. A status written by the software it replaces is owned
            // by another manager and must be taken over.
            params: PatchParams::apply(&config.field_manager).force(),
        }
    }

    /// The changes of all report objects, with the name of their collection.
    pub(crate) fn follow_reports(&self) -> BoxStream<'static, (String, Event<DynamicObject>)> {
        let streams = self.collections.iter().map(|(plural, (api, kind))| {
            let plural = plural.clone();
            let kind = kind.map_or_else(|| self.kind.clone(), |kind| kind.api_resource().kind);
            let changes = follow(&kind, api.clone(), ListParams::default());
            changes.map(move |event| (plural.clone(), event)).boxed()
        });
        futures::stream::select_all(streams).boxed()
    }

    /// The number of collections with reports.
    pub(crate) fn collections(&self) -> usize {
        self.collections.len()
    }

    /// The report in an object of a collection.
    pub(crate) fn read(&self, collection: &str, object: DynamicObject) -> Option<PodReport> {
        let name = object.metadata.name.clone();
        let report = match self.collections.get(collection)?.1 {
            Some(kind) => kind.read(&object),
            None => serde_json::from_value(object.data).ok(),
        };
        if report.is_none() {
            tracing::warn!(collection, name, "a pod report is unreadable; its pod counts as silent");
        }
        report
    }

    /// The changes of the pods that are not finished.
    pub(crate) fn follow_pods(&self) -> BoxStream<'static, Event<PartialObjectMeta<Pod>>> {
        follow("Pod", self.pod_metadata.clone(), ListParams::default().fields(UNFINISHED)).boxed()
    }

    /// Every registration, by a list that is as new as the request. One that cannot be read is a member
    /// that never reports: a process is there, and nothing is known about it.
    pub(crate) async fn registrations(&self) -> kube::Result<Vec<Member>> {
        let params = ListParams::default().labels(&format!("{SHARD_LABEL}={REGISTRATION}"));
        let objects = answered_patiently(|| self.reports.list(&params)).await?;
        let member = |object: DynamicObject| {
            let name = object.metadata.name.unwrap_or_default();
            let report: Result<PodReport, _> = serde_json::from_value(object.data);
            report.map(|report| report.pod).unwrap_or_else(|_| Member { id: name, ..Member::default() })
        };
        Ok(objects.items.into_iter().map(member).collect())
    }

    /// Whether the pod with this uid has ceased to run anything.
    pub(crate) async fn is_pod_gone(&self, name: &str, uid: &str) -> kube::Result<bool> {
        pod::is_gone(&self.pods, name, uid, LONGEST_REQUEST).await
    }

    /// Deletes what a run has left behind. Does not rely on the garbage collector, which one broken API
    /// service can stop in the whole cluster. What fails is swept with the next batch.
    pub(crate) async fn sweep(&self, run: &Member, objects: &[(String, String)]) {
        for (name, uid) in objects {
            let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let params = DeleteParams::default().preconditions(preconditions);
            let Some((collection, name)) = name.split_once('/') else { continue };
            let Some((api, _)) = self.collections.get(collection) else { continue };
            match answered(api.delete(name, &params)).await {
                Ok(_) => {
                    metrics::counter!("pod_status_orphans_swept_total").increment(1);
                    tracing::info!(name, pod = run.id, "swept a report of a pod that is gone");
                }
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
                Err(error) => {
                    tracing::warn!(
                        name,
                        reason = reason(&error),
                        "cannot sweep a report of a pod that is gone"
                    );
                }
            }
        }
    }

    /// Reads the parent, decides, and writes if that changes anything.
    pub(crate) async fn reconcile(&self, job: &Job) -> kube::Result<Written> {
        let (shape, reference) = (&job.shape, &job.parent);
        let api = shape.api(&self.client, reference);
        let object = match answered_patiently(|| api.get_opt(&reference.name)).await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(Written::Gone),
            // A kind that is not served any more is answered without a Status object: only the code tells.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Written::Gone),
            Err(error) => return Err(error),
        };
        let mut parent = Parent::of(&object, reference, &self.manager);
        parent.waited = job.held.as_ref().and_then(|held| held.waited(&parent)).unwrap_or_default();
        let now = Time(Timestamp::now());
        let mut members = Cow::Borrowed(job.count.members.as_slice());
        let reported = if shape.direct {
            let applied = direct::read(shape, reference, &parent.stored.status);
            let sorted = self.sort_applied(&job.count, applied).await?;
            if !sorted.dead.is_empty() {
                return self.remove_applied(&api, &object, &sorted.dead).await;
            }
            members.to_mut().extend(sorted.unregistered);
            sorted.reported
        } else {
            about_parent(reference, &job.reports)
        };
        let status = match aggregate(shape, &parent, &members, &reported, &now) {
            Decision::Unchanged => {
                let stored = parent.stored.status.as_object().cloned().unwrap_or_default();
                return Ok(done(shape, &parent, &stored));
            }
            Decision::Write(status) => status,
        };
        // Here the entries were read after the members were counted. If no run has registered since, no pod
        // can have listed the parents in between and hold an older generation.
        if shape.direct && !self.is_complete(&job.count).await? {
            return Ok(Written::Stale);
        }
        let done = done(shape, &parent, &status);
        let body = body(shape, &parent, object.metadata.resource_version.as_deref(), status);
        let patch = Patch::Apply(&body);
        let written = answered_patiently(|| api.patch_status(&reference.name, &self.params, &patch)).await;
        count_write("apply", &written);
        match written {
            Ok(_) => Ok(done),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Written::Stale),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Written::Gone),
            Err(error) => Err(error),
        }
    }
}

fn count_write<T>(verb: &'static str, written: &kube::Result<T>) {
    let code = code(written);
    metrics::counter!("pod_status_status_writes_total", "verb" => verb, "code" => code).increment(1);
}

fn done(shape: &Shape, parent: &Parent, status: &Map<String, Value>) -> Written {
    let activated = status.get("activation").and_then(|activation| activation.get("generation"));
    let deadline = match shape.rollout {
        Rollout::Coordinated { deadline } => deadline,
        Rollout::Immediate => None,
    };
    let held = deadline.filter(|_| activated != Some(&json!(parent.generation))).map(|deadline| Held {
        uid: parent.key.uid.clone(),
        generation: parent.generation,
        since: Instant::now().checked_sub(parent.waited).unwrap_or_else(Instant::now),
        deadline,
    });
    Written::Done(Standing::of(status), held)
}

/// The apply of a status. The uid and the version that were read make it fail for a recreated parent, and
/// when another writer, such as an aggregator whose Lease is over, came in between.
fn body(shape: &Shape, parent: &Parent, version: Option<&str>, status: Map<String, Value>) -> Value {
    let mut body = json!({
        "apiVersion": shape.resource.api_version,
        "kind": shape.resource.kind,
        "metadata": {
            "name": parent.key.reference.name,
            "uid": parent.key.uid,
            "resourceVersion": version,
        },
        "status": status,
    });
    if let (Some(namespace), Some(metadata)) =
        (&parent.key.reference.namespace, body.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    body
}

/// The entries that pods have applied to a parent themselves.
struct Applied {
    reported: Vec<Reported>,
    /// Runs of pods that exist, although no registration of them is known: they are waited for.
    unregistered: Vec<Member>,
    /// The indices of the entries of pods that do not exist.
    dead: Vec<usize>,
}

impl Cluster {
    /// Tells the entries of dead pods from those of pods that count.
    async fn sort_applied(&self, count: &Count, entries: Vec<Option<Reported>>) -> kube::Result<Applied> {
        let mut applied = Applied { reported: Vec::new(), unregistered: Vec::new(), dead: Vec::new() };
        for (index, entry) in entries.into_iter().enumerate() {
            let Some(reported) = entry else { continue };
            let run = &reported.member;
            let is_pod = |known: &Member| known.id == run.id && known.uid == run.uid;
            let is_known = count.members.iter().chain(&count.excluded).any(is_pod);
            match &run.uid {
                _ if is_known => {}
                Some(uid) if !self.is_pod_gone(&run.id, uid).await? => applied.unregistered.push(run.clone()),
                _ => applied.dead.push(index),
            }
            applied.reported.push(reported);
        }
        Ok(applied)
    }

    /// Removes entries of dead pods, which nobody else does: their field managers have ended with them.
    async fn remove_applied(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
        dead: &[usize],
    ) -> kube::Result<Written> {
        let entries =
            object.data.get("status").and_then(|status| status.get("byPod")).and_then(Value::as_array);
        let entries = entries.into_iter().flatten().enumerate();
        let rest: Vec<&Value> =
            entries.filter(|(index, _)| !dead.contains(index)).map(|(_, entry)| entry).collect();
        let body = json!({
            "metadata": {"resourceVersion": object.metadata.resource_version},
            "status": {"byPod": rest},
        });
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let patch = Patch::Merge(&body);
        let written = answered_patiently(|| api.patch_status(name, &params, &patch)).await;
        count_write("patch", &written);
        match written {
            Ok(_) => {
                metrics::counter!("pod_status_orphans_swept_total").increment(1);
                tracing::info!(name, "removed the entries of pods that are gone");
                Ok(Written::Stale)
            }
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Written::Stale),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Written::Gone),
            Err(error) => Err(error),
        }
    }

    /// Whether every run that is registered now was known when the runs were counted.
    async fn is_complete(&self, count: &Count) -> kube::Result<bool> {
        let registered = self.registrations().await?;
        let known: Vec<&Member> = count.members.iter().chain(&count.excluded).chain(&count.gone).collect();
        Ok(registered.iter().all(|run| known.iter().any(|known| known.is_same_run(run))))
    }
}
