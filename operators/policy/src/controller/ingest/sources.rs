//! SyncSets and the Config: the kinds that they ask for are watched, and each is reported by what became of its kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use constraint_framework::review::Document;
use constraint_framework::target::{AdmissionTarget, KindRead};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::core::{GroupVersion, GroupVersionKind};
use kube::error::DiscoveryError;
use pod_status::ParentKey;
use pod_status::readiness::{ErrorClass, ReadinessSource};
use serde_json::Value;
use watch_manager::{EventKind, WatchEvent, WatchedObject};

use crate::api_error::reason;
use crate::config::{CONFIG_NAME, ExcludedNamespaces, Process};
use crate::controller::kinds::{CONFIG, parent_kind};
use crate::controller::status::{Outcome, pod_error, retried};
use crate::controller::sync::SyncSources;
use crate::retry::Waits;

use super::templates::parent_key;
use super::{Ingest, gauges};

/// Answers that a kind is not served before that counts. An API server that starts serves some kinds late.
const CONFIRMATIONS: u32 = 2;
/// The waits between two questions.
const POLL_INTERVAL: Waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(15) };

/// The kinds that are synced, for which SyncSet or Config, and those of their objects that are in the inventory.
pub(super) struct Synced {
    source: ReadinessSource,
    sources: SyncSources,
    pending_lists: BTreeSet<String>,
    /// The namespaces that the Config excludes.
    pub(super) excluded: Arc<ExcludedNamespaces>,
    pub(super) kinds: BTreeMap<GvkKey, Kind>,
}

pub(super) type GvkKey = (String, String, String);

/// The namespace of an object, if it is in one, and its name.
pub(super) type ObjectName = (Option<String>, String);

/// A kind that is asked for.
#[derive(Default)]
pub(super) struct Kind {
    pub(super) waiting: Vec<ReadinessSource>,
    pub(super) objects: BTreeMap<ObjectName, Document>,
    /// The objects that exist and cannot be read, also those in Namespaces that the Config excludes.
    pub(super) unreadable: BTreeSet<ObjectName>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Listing,
    Synced,
    NotServed,
}

/// An answer of the API server: whether it serves a kind.
pub(super) struct DiscoveryResult {
    gvk: GroupVersionKind,
    served: Served,
    attempt: u32,
}

enum Served {
    Yes,
    No,
    Unknown(String),
}

impl Synced {
    pub(super) fn new(source: ReadinessSource) -> Self {
        source.list_begins();
        let pending_lists = ["SyncSet", "Config"].map(str::to_owned).into();
        Self {
            source,
            sources: SyncSources::default(),
            pending_lists,
            excluded: Arc::default(),
            kinds: BTreeMap::new(),
        }
    }

    /// Returns true if all SyncSets and Configs are known.
    pub(super) fn is_listed(&self) -> bool {
        self.pending_lists.is_empty()
    }

    /// Returns true if the Config excludes an object by its Namespace, or a Namespace by its own name.
    pub(super) fn leaves_out(&self, (group, _, kind): &GvkKey, (namespace, name): &ObjectName) -> bool {
        self.excluded.contains_named(
            Process::Sync,
            (group, kind),
            namespace.as_deref().unwrap_or_default(),
            name,
        )
    }

    /// Returns why objects of a kind are not all there; one version of the kind is enough where the policy takes any.
    fn lacks(&self, read: &KindRead) -> Option<String> {
        let is_meant = |(group, version, kind): &GvkKey| {
            let api_version = GroupVersion::gv(group, version).api_version();
            *kind == read.kind && read.api_version.as_ref().is_none_or(|wanted| *wanted == api_version)
        };
        let asked: Vec<_> = self.kinds.iter().filter(|(key, _)| is_meant(key)).collect();
        let kind = match &read.api_version {
            None => read.kind.clone(),
            Some(api_version) => format!("{} ({api_version})", read.kind),
        };
        if asked.is_empty() {
            return Some(format!("objects of kind {kind}, which no SyncSet names, nor the Config"));
        }
        if asked.iter().any(|(_, kind)| kind.state == State::Listing) {
            return Some(format!("objects of kind {kind}, which are being listed"));
        }
        let unreadable = |(key, kind): &(&GvkKey, &Kind)| {
            kind.unreadable.iter().find(|object| !self.leaves_out(key, object)).map(|(_, name)| name.clone())
        };
        let name = asked.iter().find_map(unreadable)?;
        Some(format!("objects of kind {kind}, of which {name} cannot be read"))
    }
}

impl Kind {
    /// Notes that an object cannot be read. Returns the version of it that could be and was stored, and whether it was not
    /// known already that the object cannot be read.
    pub(super) fn set_unreadable(&mut self, name: ObjectName) -> (Option<Document>, bool) {
        (self.objects.remove(&name), self.unreadable.insert(name))
    }
}

pub(super) fn gvk_key(gvk: &GroupVersionKind) -> GvkKey {
    (gvk.group.clone(), gvk.version.clone(), gvk.kind.clone())
}

impl Ingest {
    pub(super) fn on_sync(&mut self, event: WatchEvent) {
        match event.kind {
            EventKind::Applied(object) => self.sync_applied(&object),
            EventKind::Deleted(object) => self.sync_deleted(&object),
            EventKind::Synced => {
                self.parents.listed(parent_kind(&event.gvk));
                self.sync.pending_lists.remove(&event.gvk.kind);
                if self.sync.is_listed() {
                    self.lists.push(self.sync.source.clone());
                }
            }
            EventKind::Status(status) if !status.is_ready() => {
                self.sync.source.list_fails(ErrorClass::Transient, format!("{}: {status}", event.gvk.kind));
            }
            _ => {}
        }
    }

    fn sync_deleted(&mut self, object: &WatchedObject) {
        let key = parent_key(object);
        self.sync.sources.remove(&key);
        self.sync.source.cancel(&key);
        self.reporter.removed(&key);
        self.parents.removed(&key.reference);
        if self.does_not_count(&key).is_none() && key.reference.kind == CONFIG.kind {
            self.exclude(ExcludedNamespaces::default());
        }
        self.follow_sync();
        self.report_referential();
    }

    fn sync_applied(&mut self, object: &WatchedObject) {
        let key = parent_key(object);
        let generation = object.generation().unwrap_or_default();
        self.parent_changed(&key.reference, object);
        if let Some(reason) = self.does_not_count(&key) {
            let failure = Some((ErrorClass::Permanent, vec![pod_error("ignored", reason)]));
            let source = self.sync.source.clone();
            return self.outcomes.push(Outcome {
                parent: key,
                generation,
                source,
                failure,
                detail: Value::Null,
            });
        }
        self.sync.source.expect(&key, generation);
        if let Err(reason) = self.take_source(&key, object) {
            self.sync.sources.refuse(key, generation, pod_error("ingest_error", reason));
            return self.report_sync();
        }
        self.follow_sync();
        for gvk in self.sync.sources.kinds() {
            let kind = self.sync.kinds.entry(gvk_key(&gvk)).or_default();
            if kind.state == State::Listing {
                let name = format!("objects of kind {} ({}/{})", gvk.kind, gvk.group, gvk.version);
                let data = self.sync.source.child(&key, name);
                data.list_begins();
                kind.waiting.push(data);
                self.discoveries.push(discover(self.client.clone(), gvk, 0));
            }
        }
        self.sync.source.observe(&key, generation);
        self.report_sync();
    }

    /// Takes the kinds to sync, and the exclusions of the Config: all of them, or nothing.
    fn take_source(&mut self, key: &ParentKey, object: &WatchedObject) -> Result<(), String> {
        let excluded = (key.reference.kind == CONFIG.kind).then(|| excluded(object)).transpose()?;
        let taken = self.sync.sources.put(key.clone(), object);
        taken.map_err(|reason| format!("not readable: {reason}"))?;
        excluded.into_iter().for_each(|excluded| self.exclude(excluded));
        Ok(())
    }

    /// Only one Config counts, as in Gatekeeper; another one says so in its status.
    fn does_not_count(&self, key: &ParentKey) -> Option<String> {
        let reference = &key.reference;
        let counts = reference.kind != CONFIG.kind
            || (reference.name == CONFIG_NAME && reference.namespace.as_ref() == Some(&self.namespace));
        (!counts).then(|| {
            format!("only the Config {}/{CONFIG_NAME} counts; move these settings there", self.namespace)
        })
    }

    /// Returns why the inventory lacks objects that the constraints of a kind refer to; `None` when it lacks none.
    ///
    /// A kind that the API server does not serve has no objects, so that none are missing.
    pub(super) fn unsynced(&self, constraint_kind: &str) -> Option<String> {
        let reads = self.policies.inventory_paths(constraint_kind).filter_map(AdmissionTarget::kind_read);
        let reads: BTreeSet<_> = reads.collect();
        let missing = reads.iter().find_map(|read| self.sync.lacks(read))?;
        Some(format!("its template refers to {missing}"))
    }

    /// Reports constraints that refer to the inventory anew after what is synced has changed.
    fn report_referential(&mut self) {
        for kind in self.constraints.kinds() {
            if self.policies.inventory_paths(&kind).next().is_some() {
                self.report_constraints(&kind);
            }
        }
    }

    /// Watches what is asked for now. The objects of a kind that is not asked for any more leave the inventory, and
    /// those of all other kinds stay as they are. Readiness no longer waits for a kind that is gone.
    fn follow_sync(&mut self) {
        let wanted = self.sync.sources.kinds();
        let keys: BTreeSet<_> = wanted.iter().map(gvk_key).collect();
        self.registrars.inventory.replace(wanted);
        let gone: Vec<_> = self.sync.kinds.keys().filter(|key| !keys.contains(*key)).cloned().collect();
        gone.iter().for_each(|(_, _, kind)| gauges::forget_synced(kind));
        for kind in gone.iter().filter_map(|key| self.sync.kinds.remove(key)).collect::<Vec<_>>() {
            self.lists.extend(kind.waiting);
            kind.objects.values().for_each(|object| self.drop_object(object));
        }
    }

    /// A kind that is not served keeps no pod from becoming ready; it is watched as soon as it is served. A question
    /// that failed is asked again, and the pod is not ready meanwhile.
    pub(super) fn on_discovery(&mut self, DiscoveryResult { gvk, served, attempt }: DiscoveryResult) {
        let Some(kind) = self.sync.kinds.get_mut(&gvk_key(&gvk)).filter(|kind| kind.state == State::Listing)
        else {
            return;
        };
        let next = attempt.saturating_add(1);
        match served {
            Served::Yes => {}
            Served::No if next >= CONFIRMATIONS => {
                kind.state = State::NotServed;
                self.lists.append(&mut kind.waiting);
                self.report_sync();
            }
            Served::No => self.discoveries.push(discover(self.client.clone(), gvk, next)),
            Served::Unknown(reason) => {
                kind.waiting
                    .iter()
                    .for_each(|source| source.list_fails(ErrorClass::Transient, reason.clone()));
                self.discoveries.push(discover(self.client.clone(), gvk, next));
            }
        }
    }

    pub(super) fn kind_synced(&mut self, key: &GvkKey) {
        let kind = self.sync.kinds.entry(key.clone()).or_default();
        kind.state = State::Synced;
        self.lists.append(&mut kind.waiting);
        self.report_sync();
    }

    /// A kind that cannot be listed or watched has no objects to wait for.
    pub(super) fn kind_unwatchable(&mut self, key: &GvkKey) {
        if let Some(kind) = self.sync.kinds.get_mut(key) {
            kind.state = State::NotServed;
            self.lists.append(&mut kind.waiting);
            self.report_sync();
        }
    }

    /// Reports each SyncSet and the Config that is refused, or whose kinds are decided: synced, or not served.
    pub(super) fn report_sync(&mut self) {
        self.report_referential();
        for source in self.sync.sources.iter() {
            let state = |gvk: &GroupVersionKind| {
                self.sync.kinds.get(&gvk_key(gvk)).map_or(State::Listing, |kind| kind.state)
            };
            if source.refused.is_none() && source.kinds().any(|gvk| state(&gvk) == State::Listing) {
                continue;
            }
            let missing = source.kinds().filter(|gvk| state(gvk) == State::NotServed);
            // Its CRD may come later. The kind is watched then.
            let error = |gvk| retried(pod_error("sync_error", not_served(&gvk)));
            let errors: Vec<_> = source.refused.iter().cloned().chain(missing.map(error)).collect();
            self.outcomes.push(Outcome {
                parent: source.key.clone(),
                generation: source.generation,
                source: self.sync.source.clone(),
                failure: (!errors.is_empty()).then_some((ErrorClass::Permanent, errors)),
                detail: Value::Null,
            });
        }
    }
}

fn excluded(object: &WatchedObject) -> Result<ExcludedNamespaces, String> {
    let config = object.to_value().map_err(|error| error.to_string())?;
    ExcludedNamespaces::from_config(&config).map_err(|errors| errors.to_string())
}

fn not_served(gvk: &GroupVersionKind) -> String {
    let group = if gvk.group.is_empty() { "core" } else { &gvk.group };
    format!(
        "the API server does not serve the kind {} in {group}/{}, or not with list and watch",
        gvk.kind, gvk.version
    )
}

/// Asks whether the API server serves a kind, after a wait that grows with the attempts. Only an answer about the kind
/// counts: a request that is refused or lost says nothing about it.
fn discover(
    client: kube::Client,
    gvk: GroupVersionKind,
    attempt: u32,
) -> BoxFuture<'static, DiscoveryResult> {
    async move {
        POLL_INTERVAL.pause(attempt).await;
        let served = match kube::discovery::pinned_kind(&client, &gvk).await {
            Ok(_) => Served::Yes,
            Err(error) if is_not_served(&error) => Served::No,
            Err(error) => Served::Unknown(reason(&error)),
        };
        DiscoveryResult { gvk, served, attempt }
    }
    .boxed()
}

fn is_not_served(error: &kube::Error) -> bool {
    match error {
        kube::Error::Discovery(DiscoveryError::MissingKind(_) | DiscoveryError::MissingApiGroup(_)) => true,
        kube::Error::Api(status) => status.code == 404,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pod_status::ReadinessTracker;
    use pod_status::readiness::GiveUpPolicy;
    use serde_json::json;

    use super::*;

    fn name(namespace: &str, name: &str) -> ObjectName {
        (Some(namespace.to_owned()), name.to_owned())
    }

    #[test]
    fn an_object_that_stays_unreadable_leaves_the_inventory_once_and_is_news_once() {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "n"}});
        let mut kind = Kind::default();
        kind.objects.insert(name("n", "a"), Document::from_value(&secret).unwrap());
        let (stored, is_news) = kind.set_unreadable(name("n", "a"));
        assert!(stored.is_some() && is_news);
        let (stored, is_news) = kind.set_unreadable(name("n", "a"));
        assert!(stored.is_none() && !is_news, "reports of constraints would change back and forth");
    }

    #[test]
    fn an_unreadable_object_counts_unless_the_config_excludes_its_namespace() {
        let mut synced = Synced::new(ReadinessTracker::new(GiveUpPolicy::default()).source("sync"));
        let key = gvk_key(&GroupVersionKind::gvk("", "v1", "Secret"));
        let kind = synced.kinds.entry(key).or_default();
        kind.state = State::Synced;
        kind.set_unreadable(name("excluded", "a"));
        kind.set_unreadable(name("n", "b"));
        let key = gvk_key(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let kind = synced.kinds.entry(key).or_default();
        kind.state = State::Synced;
        kind.set_unreadable((None, "excluded".to_owned()));

        let read = |kind: &str| KindRead { api_version: None, kind: kind.to_owned() };
        let lacks = |synced: &Synced, kind: &str| synced.lacks(&read(kind)).unwrap_or_default();
        assert_eq!(lacks(&synced, "Secret"), "objects of kind Secret, of which a cannot be read");
        assert_eq!(
            lacks(&synced, "Namespace"),
            "objects of kind Namespace, of which excluded cannot be read"
        );
        let exclude = |namespaces: &[&str]| {
            let entry = json!({"excludedNamespaces": namespaces, "processes": ["sync"]});
            Arc::new(ExcludedNamespaces::from_config(&json!({"spec": {"match": [entry]}})).unwrap())
        };
        synced.excluded = exclude(&["excluded"]);
        assert_eq!(lacks(&synced, "Secret"), "objects of kind Secret, of which b cannot be read");
        assert_eq!(lacks(&synced, "Namespace"), "");
        synced.excluded = exclude(&["excluded", "n"]);
        assert_eq!(lacks(&synced, "Secret"), "");
    }
}
