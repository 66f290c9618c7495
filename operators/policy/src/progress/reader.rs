//! Reads the cluster; writes nothing. What cannot be read is remembered, so that no answer is given for it.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DynamicObject, ListParams, PartialObjectMeta};
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use crate::api_error::reason;

use super::finalizer::Declared;
use super::kinds::{Kind, Kinds};
use super::text;

/// Objects of a page of a list.
const PAGE: u32 = 500;
/// Pages of a kind; what is beyond is reported as not read.
const PAGES: usize = 20;
/// Lists that are read at once.
const AT_ONCE: usize = 8;
/// Events of an object that are shown.
const SHOWN_EVENTS: usize = 3;
/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

/// A client, the kinds, and what could not be read.
pub(super) struct Reader {
    client: Client,
    pub(super) kinds: Kinds,
    pub(super) errors: BTreeSet<String>,
}

/// An object of a list, of which only the metadata was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listed {
    /// Objects that wait for a controller come first.
    pub(super) is_free: bool,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    /// The finalizers that a role declares.
    declares: Option<String>,
}

/// Objects by the UIDs of their owners, and all of the namespace.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) by_owner: BTreeMap<String, Vec<Listed>>,
    pub(super) all: Vec<Listed>,
    /// Read from roles.
    pub(super) declared: Declared,
}

/// An Event about an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Event {
    pub(super) last: String,
    pub(super) r#type: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) count: i64,
}

// === impl Reader ===

impl Reader {
    /// Asks for the kinds.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub(super) async fn connect(client: Client) -> kube::Result<Self> {
        let lists =
            [client.list_core_api_versions_aggregated().await?, client.list_api_groups_aggregated().await?];
        let kinds = Kinds::of(lists);
        let stale = |version: &String| format!("the server of {version} does not answer: see its APIService");
        let errors = kinds.stale.iter().map(stale).collect();
        Ok(Self { client, kinds, errors })
    }

    pub(super) fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// The object, or `None` when there is none, or when it cannot be read, which is an error then.
    pub(super) async fn get(&mut self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Value> {
        let api = api(&self.client, kind, namespace);
        let read = api.get_opt(name).await.map_err(|error| reason(&error));
        let value = read
            .and_then(|found| found.map(serde_json::to_value).transpose().map_err(|error| error.to_string()));
        value.unwrap_or_else(|error| {
            self.errors.insert(format!("{} {name} cannot be read: {error}", kind.resource.kind));
            None
        })
    }

    /// The metadata of all objects of a namespace, or of the cluster.
    pub(super) async fn list(&mut self, namespace: Option<&str>) -> Listing {
        let client = &self.client;
        let kinds: Vec<_> = self.kinds.listable(namespace.is_some()).collect();
        let lists = futures::stream::iter(kinds).map(|kind| pages(client, kind, namespace));
        let lists: Vec<_> = lists.buffer_unordered(AT_ONCE).collect().await;
        let mut listing = Listing::default();
        let cluster_roles = self.kinds.of_type(Some(RBAC), "ClusterRole").filter(|_| namespace.is_some());
        if let Some(kind) = cluster_roles {
            // Who may not read these misses a name, and no cause.
            let (roles, _) = pages(client, kind, None).await;
            roles.iter().for_each(|(role, _)| listing.declare(role));
        }
        for (objects, error) in lists {
            self.errors.extend(error);
            for (listed, owners) in objects {
                listing.declare(&listed);
                listing.add(&listed, &owners);
            }
        }
        listing.all.sort();
        listing.by_owner.values_mut().for_each(|owned| owned.sort());
        listing
    }

    /// The newest Events about an object, the last one first.
    pub(super) async fn events(&mut self, object: &Value) -> Vec<Event> {
        let Some(uid) = text(object, "/metadata/uid") else { return Vec::new() };
        // Events about what has no namespace are in this one.
        let namespace = text(object, "/metadata/namespace").unwrap_or("default");
        let api: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(self.client.clone(), namespace);
        // They come in the order of their names, so the newest one may be on the last page.
        let mut params = ListParams::default().fields(&format!("involvedObject.uid={uid}")).limit(PAGE);
        let mut newest: Vec<Event> = Vec::new();
        for _ in 0..PAGES {
            let page = match api.list(&params).await {
                Ok(page) => page,
                Err(error) => {
                    let message = format!("Events in {namespace} cannot be read: {}", reason(&error));
                    self.errors.insert(message);
                    return newest;
                }
            };
            newest.extend(page.items.iter().filter_map(Event::of));
            newest.sort_by(|a, b| b.last.cmp(&a.last));
            newest.truncate(SHOWN_EVENTS);
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return newest,
            }
        }
        let name = text(object, "/metadata/name").unwrap_or_default();
        self.errors.insert(format!("of the Events about {name} not all were read: there may be newer ones"));
        newest
    }
}

fn api(client: &Client, kind: &Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) if kind.namespaced => Api::namespaced_with(client.clone(), namespace, &kind.resource),
        _ => Api::all_with(client.clone(), &kind.resource),
    }
}

type Page = Vec<(Listed, Vec<OwnerReference>)>;

/// The metadata of the objects of a kind, and why they are not all.
async fn pages(client: &Client, kind: &Kind, namespace: Option<&str>) -> (Page, Option<String>) {
    let (api, called) = (api(client, kind, namespace), &kind.resource.plural);
    let mut params = ListParams::default().limit(PAGE);
    let mut objects = Vec::new();
    for _ in 0..PAGES {
        let page = match api.list_metadata(&params).await {
            Ok(page) => page,
            // A kind that has gone since it was discovered has no objects.
            Err(kube::Error::Api(status)) if status.code == 404 => return (objects, None),
            Err(error) => return (objects, Some(format!("{called} cannot be listed: {}", reason(&error)))),
        };
        let next = page.metadata.continue_.clone().filter(|next| !next.is_empty());
        objects.extend(page.items.into_iter().map(|object| Listed::of(kind, &object)));
        match next {
            Some(next) => params = params.continue_token(&next),
            None => return (objects, None),
        }
    }
    let read = objects.len();
    (objects, Some(format!("of {called} only the first {read} were read")))
}

// === impl Listed ===

impl Listed {
    fn of(kind: &Kind, object: &PartialObjectMeta<DynamicObject>) -> (Self, Vec<OwnerReference>) {
        let metadata = &object.metadata;
        let is_held = metadata.deletion_timestamp.is_some() && !object.finalizers().is_empty();
        let listed = Self {
            is_free: !is_held,
            group: kind.resource.group.clone(),
            kind: kind.resource.kind.clone(),
            namespace: object.namespace(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            declares: object.annotations().get(controller_declaration::FINALIZERS).cloned(),
        };
        (listed, object.owner_references().to_vec())
    }
}

// === impl Listing ===

impl Listing {
    fn declare(&mut self, role: &Listed) {
        if role.group == RBAC {
            for finalizer in role.declares.iter().flat_map(|all| all.split(',')) {
                self.declared.entry(finalizer.to_owned()).or_default().insert(role.name.clone());
            }
        }
    }

    fn add(&mut self, listed: &Listed, owners: &[OwnerReference]) {
        for owner in owners {
            self.by_owner.entry(owner.uid.clone()).or_default().push(listed.clone());
        }
        self.all.push(listed.clone());
    }
}

// === impl Event ===

impl Event {
    fn of(event: &k8s_openapi::api::core::v1::Event) -> Option<Self> {
        let event = serde_json::to_value(event).ok()?;
        let times =
            ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
        let counts = ["/series/count", "/count"];
        let of = |pointer: &str| text(&event, pointer).unwrap_or_default().to_owned();
        Some(Self {
            last: times.iter().find_map(|time| text(&event, time))?.to_owned(),
            r#type: of("/type"),
            reason: of("/reason"),
            message: of("/message"),
            count: counts.iter().find_map(|count| event.pointer(count)?.as_i64()).unwrap_or(1),
        })
    }
}
