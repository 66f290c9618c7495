//! The aggregator's requests: consistent reads, and writes that fail when the decision is outdated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ApiResource;
use serde_json::{Map, Value, json};
use tracing::Span;

mod applied;
mod outcome;

pub(crate) use self::outcome::{Next, Written};

use crate::activation_decision::{self, Activated};
use crate::aggregate::{Decision, decide, waiting_for};
use crate::aggregator_config::AggregatorConfig;
use crate::decision::{DecisionJob, WaitingGeneration};
use crate::direct_status;
use crate::enforcement_states::EnforcementState;
use crate::epoch::Epochs;
use crate::expected::PodEvent;
use crate::follow::{Changes, FollowSelection, Followed};
use crate::gatekeeper::{POD_LABEL, PodStatusKind};
use crate::name::label_value;
use crate::pace::{LONGEST_REQUEST, answered, answered_patiently};
use crate::pod::{self, UNFINISHED};
use crate::reason::code;
use crate::registration::{Registration, acknowledgement};
use crate::report::{Member, PodReport, REGISTRATION, SHARD_LABEL};
use crate::report_store::{StoredEntry, about_parent};
use crate::shape::Shape;
use crate::strict_rollout::lead;
use crate::vote::{Parent, Vote, votes};

/// Time for the first report about a parent that has no status.
const FIRST_REPORT: Duration = Duration::from_secs(5);

pub(crate) struct Cluster {
    client: kube::Client,
    reports: Api<DynamicObject>,
    /// The kind of `reports`.
    kind: ApiResource,
    /// The collections with reports, by plural name.
    collections: BTreeMap<String, (Api<DynamicObject>, Option<PodStatusKind>)>,
    pods: Api<DynamicObject>,
    /// The pods that must register.
    expected: Option<FollowSelection>,
    changes: Changes,
    namespace: String,
    manager: String,
    params: PatchParams,
    pub(crate) epochs: Epochs,
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
            kind: config.kind.api_resource(),
            collections,
            pods: api(&pod::resource()),
            expected: config.expected.as_ref().map(|(labels, _)| {
                let pods = unfinished_pods(&config.namespace);
                labels.iter().fold(pods, |pods, (key, value)| pods.label(key, value.clone()))
            }),
            changes: Changes::new(client.clone(), config.follow.clone()),
            namespace: config.namespace.clone(),
            epochs: Epochs::new(client.clone(), &config.kind, &config.namespace),
            client,
            manager: config.field_manager.clone(),
            // Forced: the fields are this crate's own. A status written by the software it replaces is owned
            // by another manager and must be taken over.
            params: PatchParams::apply(&config.field_manager).force(),
        }
    }

    /// The changes of all report objects, with the name of their collection.
    pub(crate) fn follow_reports(&self) -> BoxStream<'static, (String, Followed)> {
        let streams = self.collections.iter().map(|(plural, (_, kind))| {
            let plural = plural.clone();
            let resource = kind.map_or_else(|| self.kind.clone(), |kind| kind.api_resource());
            let changes = self.changes.follow(&FollowSelection::new(resource, &self.namespace));
            changes.map(move |step| (plural.clone(), step)).boxed()
        });
        futures::stream::select_all(streams).boxed()
    }

    /// Returns true if entries are read that are stored beside the shards.
    pub(crate) fn has_single_entries(&self) -> bool {
        self.collections.len() > 1
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
    pub(crate) fn follow_pods(&self) -> BoxStream<'static, PodEvent> {
        let any = self.changes.follow(&unfinished_pods(&self.namespace).metadata_only());
        let expected = self.expected.as_ref().map(|pods| self.changes.follow(pods));
        let expected = expected.map(|events| events.map(PodEvent::Expected).boxed());
        futures::stream::select_all([any.map(PodEvent::Any).boxed()].into_iter().chain(expected)).boxed()
    }

    /// Every registration, by a list that is as new as the request.
    pub(crate) async fn registrations(&self) -> kube::Result<Vec<Registration>> {
        let params = ListParams::default().labels(&format!("{SHARD_LABEL}={REGISTRATION}"));
        let objects = answered_patiently(|| self.reports.list(&params)).await?;
        Ok(objects.items.into_iter().map(Registration::of).collect())
    }

    /// The entries that a run has stored by themselves, by lists that are as new as the request. One that cannot be read
    /// counts as absent, like everywhere.
    pub(crate) async fn stored_entries(&self, run: &Member) -> kube::Result<Vec<StoredEntry>> {
        let mut stored = Vec::new();
        for (plural, (api, kind)) in &self.collections {
            let Some(kind) = kind else { continue };
            let params = ListParams::default().labels(&format!("{POD_LABEL}={}", label_value(&run.id)));
            for object in answered_patiently(|| api.list(&params)).await? {
                let report = kind.read(&object).filter(|report| report.pod.is_same_run(run));
                let sequence = report.and_then(|report| report.entries.first().map(|entry| entry.sequence));
                let object = format!("{plural}/{}", object.name_any());
                stored.extend(sequence.map(|sequence| StoredEntry { object, sequence }));
            }
        }
        Ok(stored)
    }

    /// Notes in a registration that no status claims of this run what it lacks. One that is gone or another run's has to be
    /// looked at again.
    pub(crate) async fn acknowledge(&self, name: &str, uid: &str, incarnation: &str) -> kube::Result<()> {
        let body = json!({
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": name, "uid": uid, "annotations": acknowledgement(incarnation)},
        });
        match answered(self.reports.patch(name, &self.params, &Patch::Apply(&body))).await {
            Err(kube::Error::Api(status)) if status.is_conflict() || status.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }

    /// Returns true if the pod with this uid has ceased to run anything.
    pub(crate) async fn is_pod_gone(&self, name: &str, uid: &str) -> kube::Result<bool> {
        pod::is_gone(&self.pods, name, uid, LONGEST_REQUEST).await
    }

    /// Deletes `collection/name`, a report of a pod that does not exist any more. Returns false if this process follows no such
    /// collection, so that a retry would fail as well.
    pub(crate) async fn sweep(&self, name: &str, uid: String) -> kube::Result<bool> {
        let found = name.split_once('/');
        let found = found.and_then(|(collection, name)| Some((&self.collections.get(collection)?.0, name)));
        let Some((api, name)) = found else { return Ok(false) };
        let preconditions = Preconditions { uid: Some(uid), resource_version: None };
        let params = DeleteParams::default().preconditions(preconditions);
        match answered(api.delete(name, &params)).await {
            Ok(_) => {
                metrics::counter!("pod_status_orphans_swept_total").increment(1);
                tracing::info!(name, "swept a report of a pod that is gone");
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reads the parent, decides, and writes if that changes anything.
    pub(crate) async fn reconcile(&self, job: &DecisionJob) -> kube::Result<Written> {
        let (shape, reference) = (&job.shape, &job.parent);
        let api = shape.api(&self.client, reference);
        let Some(mut object) = read(&api, &reference.name).await? else { return Ok(Written::Gone) };
        let parent = known(job, Parent::of(&mut object, reference, shape, &self.manager));
        Span::current().record("generation", parent.generation);
        let now = Time(Timestamp::now());
        let mut members = Cow::Borrowed(job.count.members.as_slice());
        let (mut reports, mut applied) = (job.reports.as_slice(), Vec::new());
        if shape.direct {
            let sorted = self
                .sort_applied(&job.count, direct_status::read(shape, reference, &parent.stored.status))
                .await?;
            if !sorted.dead.is_empty() {
                return self.remove_applied(&api, &object, &parent, &sorted.dead).await;
            }
            members.to_mut().extend(sorted.unregistered);
            (reports, applied) = (&[], sorted.reported);
        }
        let applied = applied.iter().map(|report| (&report.member, &report.entry));
        let votes = votes(&parent, &members, applied.chain(about_parent(reference, reports)));
        let state = |status: &Map<String, Value>| {
            EnforcementState::of(status, &now).waiting_for(|| waiting_for(shape, &parent, &votes))
        };
        let next = next(job, &parent, &members, &votes);
        let status = match decide(shape, &parent, &votes, &now) {
            Decision::Unchanged => {
                let nothing = Map::new();
                let stored = parent.stored.status.as_object().unwrap_or(&nothing);
                let version = object.metadata.resource_version;
                return Ok(done(shape, &parent, state(stored), stored, next).at(version));
            }
            // A strict rollout that is under way has its own time, by which this wait would not end.
            Decision::Write(_) if next.waiting.is_none() && awaits_first_report(&parent, &votes) => {
                return Ok(settled(&parent, state(&Map::new()), next, Some(FIRST_REPORT)));
            }
            Decision::Write(status) => status,
        };
        // Here the entries were read after the members were counted. If no run has registered since, no pod
        // can have listed the parents in between and hold an older generation.
        if shape.direct && !self.is_complete(&job.count).await? {
            return Ok(Written::Stale);
        }
        let done = done(shape, &parent, state(&status), &status, next);
        let version = object.metadata.resource_version.as_deref();
        self.write(&api, body(shape, &parent, version, status), &parent, done).await
    }

    /// Applies a status. Returns `done` if that succeeds.
    async fn write(
        &self,
        api: &Api<DynamicObject>,
        body: Value,
        parent: &Parent,
        done: Written,
    ) -> kube::Result<Written> {
        let (name, patch) = (&parent.key.reference.name, Patch::Apply(&body));
        let written = answered_patiently(|| api.patch_status(name, &self.params, &patch)).await;
        count_write("apply", &written);
        match written {
            Ok(object) => {
                note_activation(parent, &body);
                Ok(done.at(object.metadata.resource_version))
            }
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Written::Stale),
            Err(kube::Error::Api(status)) if status.code == 404 => not_found(api, parent).await,
            Err(error) => Err(error),
        }
    }
}

fn unfinished_pods(namespace: &str) -> FollowSelection {
    FollowSelection::new(pod::resource(), namespace).fields(UNFINISHED)
}

/// The parent with what is known beside its status: how long this process has waited, and the activation of a strict rollout.
fn known(job: &DecisionJob, parent: Parent) -> Parent {
    let waited = job.waiting.as_ref().and_then(|waiting| waiting.waited(&parent)).unwrap_or_default();
    let announced = job.epoch.as_ref().and_then(|epoch| epoch.of(&parent.key));
    let before = Activated::read(&parent.stored.status, &parent.key.uid).waited(parent.generation);
    Parent { waited: before.max(waited), announced, ..parent }
}

/// The object; nothing if there is none, or its kind is not served any more.
async fn read(api: &Api<DynamicObject>, name: &str) -> kube::Result<Option<DynamicObject>> {
    match answered_patiently(|| api.get_opt(name)).await {
        // The API server answers 404 without a Status object for a kind that it no longer serves.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        read => read,
    }
}

/// Distinguishes a parent that is gone from a kind without the subresource `status`: the answer to a write of the status is the same.
async fn not_found(api: &Api<DynamicObject>, parent: &Parent) -> kube::Result<Written> {
    Ok(match read(api, &parent.key.reference.name).await? {
        None => Written::Gone,
        Some(found) if found.metadata.uid.as_ref() == Some(&parent.key.uid) => {
            let enforced = parent.stored.condition("Enforced");
            let claims = enforced.is_some_and(|enforced| enforced.get("status") == Some(&json!("True")));
            Written::NoSubresource { claims }
        }
        Some(_) => Written::Stale,
    })
}

fn count_write<T>(verb: &'static str, written: &kube::Result<T>) {
    let code = code(written);
    metrics::counter!("pod_status_status_writes_total", "verb" => verb, "code" => code).increment(1);
}

/// Logs that the pods are to switch.
fn note_activation(parent: &Parent, body: &Value) {
    let activated = body.pointer("/status/activation/generation");
    let is_new = activated != parent.stored.status.pointer("/activation/generation");
    if let Some(generation) = activated.and_then(Value::as_i64).filter(|_| is_new) {
        tracing::info!(generation, "activated: the pods switch to this generation");
    }
}

/// Returns true if the parent is new, and no pod has reported it yet. A status that says only that is another write for each of
/// hundreds of parents that are created together.
fn awaits_first_report(parent: &Parent, votes: &[Vote<'_>]) -> bool {
    parent.waited < FIRST_REPORT && parent.stored.is_empty() && votes.iter().all(|vote| vote.entry.is_none())
}

fn done(
    shape: &Shape,
    parent: &Parent,
    state: EnforcementState,
    status: &Map<String, Value>,
    next: Next,
) -> Written {
    let activated = status.get("activation").and_then(|activation| activation.get("generation"));
    let waits = activated != Some(&json!(parent.generation));
    let deadline = shape.deadline().filter(|_| waits);
    settled(parent, state, next, deadline.and_then(|deadline| deadline.next(parent.waited)))
}

/// The parent is decided about. If `wake` is given, it is decided about again when it has waited so long.
fn settled(parent: &Parent, state: EnforcementState, next: Next, wake: Option<Duration>) -> Written {
    let waiting = || Some(WaitingGeneration::new(parent, parent.generation, false, parent.waited, wake?));
    Written::Done(Box::new(state), Next { waiting: next.waiting.or_else(waiting), ..next })
}

/// The next step of a strict rollout.
fn next(job: &DecisionJob, parent: &Parent, members: &[Member], votes: &[Vote<'_>]) -> Next {
    let Some(epoch) = &job.epoch else { return Next::default() };
    let switching = job.waiting.as_ref().and_then(|waiting| waiting.switching(parent)).unwrap_or_default();
    let fences = members.iter().filter_map(|member| member.ttl_seconds);
    let lead = lead(Duration::from_secs(fences.max().unwrap_or_default()));
    let announced = activation_decision::announce(&job.shape, parent, votes, switching, lead);
    let pending = parent.announced.filter(|announced| !announced.settled);
    let wake = lead.saturating_mul(2);
    Next {
        waiting: pending
            .map(|pending| WaitingGeneration::new(parent, pending.generation, true, switching, wake)),
        plan: announced.map(|announced| Box::new(epoch.plan(parent.key.clone(), announced))),
        version: None,
    }
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
