//! The tree of an object: what owns it, what it owns, what it refers to, and what a Namespace that is being deleted contains.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::diagnostic::{
    About, Diagnostic, Level, condition, diagnostics, event, generation_of, observed_generation,
};
use super::kinds::Kind;
use super::managed::{Write, last_status_write, last_write};
use super::reader::{Event, Listed, Listing, Reader};
use super::reference::{Reference, by_name, references};
use super::{is_name, text};
use crate::api_version::group_version;

/// Steps from the object that is asked about.
const DEPTH: usize = 8;
/// Objects below one that are read; the others are counted.
const BRANCHES: usize = 20;
/// Objects that are read in all.
const OBJECTS: usize = 200;
/// The group of APIServices.
const REGISTRATION: &str = "apiregistration.k8s.io";

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Identity {
    pub(super) group: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// The way from an object to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "field")]
pub(super) enum Relation {
    /// The object that is asked about.
    Subject,
    /// An owner.
    OwnedBy,
    /// An object whose owner it is.
    Owns,
    /// An object that a field of its spec names.
    RefersTo(String),
    /// An object in a Namespace that is being deleted.
    Contains,
    /// The registration of an API server that the deletion of a Namespace has to ask.
    Needs,
}

/// An object, what it says, and the objects beside it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub(super) relation: Relation,
    pub(super) object: Identity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_write: Option<Write>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_status_write: Option<Write>,
    #[serde(rename = "findings")]
    pub(super) diagnostics: Vec<Diagnostic>,
    /// It says of itself that it is well.
    #[serde(skip)]
    pub(super) is_summed_up: bool,
    pub(super) events: Vec<Event>,
    pub(super) children: Vec<Node>,
    /// Objects beside it that were not read.
    pub(super) unread: usize,
}

/// Builds the tree.
pub(super) struct Walk {
    pub(super) reader: Reader,
    listing: Listing,
    seen: BTreeSet<String>,
}

// === impl Identity ===

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl Identity {
    fn of(kind: &Kind, object: &Value) -> Self {
        Self {
            group: kind.resource.group.clone(),
            kind: kind.resource.kind.clone(),
            namespace: text(object, "/metadata/namespace").map(str::to_owned),
            name: text(object, "/metadata/name").unwrap_or_default().to_owned(),
        }
    }

    fn referred(reference: &Reference, namespace: Option<&str>) -> Self {
        Self {
            group: reference.group.clone().unwrap_or_default(),
            kind: reference.kind.clone(),
            namespace: namespace.map(str::to_owned),
            name: reference.name.clone(),
        }
    }
}

// === impl Node ===

impl Node {
    fn new(relation: Relation, kind: &Kind, object: &Value, listing: &Listing) -> Self {
        // An owner waits for what it owns: its conditions are no cause.
        let is_cause = |diagnostic: &Diagnostic| {
            relation != Relation::OwnedBy
                || !matches!(
                    diagnostic.about,
                    About::Condition | About::Replicas | About::Phase | About::Status
                )
        };
        // What a Namespace contains need not have a status, to be deleted. What owns something has a controller that works.
        let is_owner = text(object, "/metadata/uid").is_some_and(|uid| listing.by_owner.contains_key(uid));
        let has_status = kind.has_status && relation != Relation::Contains && !is_owner;
        let found = diagnostics(object, has_status, &listing.declared).into_iter();
        let found =
            found.map(|diagnostic| if is_cause(&diagnostic) { diagnostic } else { diagnostic.into_note() });
        Self {
            object: Identity::of(kind, object),
            generation: generation_of(object),
            observed_generation: observed_generation(object),
            last_write: last_write(object),
            last_status_write: last_status_write(object),
            diagnostics: found.collect(),
            is_summed_up: condition::is_well(object),
            events: Vec::new(),
            children: Vec::new(),
            unread: 0,
            relation,
        }
    }

    /// Adds what the newest Event says, after what has failed and before what waits.
    fn add_event(&mut self, object: &Value) {
        if let Some(diagnostic) = event(object, &self.diagnostics, &self.events) {
            let failed =
                self.diagnostics.iter().take_while(|diagnostic| diagnostic.level == Level::Blocking).count();
            self.diagnostics.insert(failed, diagnostic);
        }
    }

    fn block(&mut self) {
        let waiting = self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.level == Level::Waiting);
        waiting.for_each(|diagnostic| diagnostic.level = Level::Blocking);
    }

    fn is_well(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.level == Level::Note)
    }

    pub(super) fn missing(
        relation: Relation,
        object: Identity,
        level: Level,
        message: impl Into<String>,
    ) -> Self {
        Self {
            relation,
            object,
            generation: None,
            observed_generation: None,
            last_write: None,
            last_status_write: None,
            diagnostics: vec![Diagnostic::new(level, About::Missing, message)],
            is_summed_up: false,
            events: Vec::new(),
            children: Vec::new(),
            unread: 0,
        }
    }
}

// === impl Walk ===

impl Walk {
    /// The tree of an object, or `None` when it does not exist or cannot be read.
    pub(super) async fn tree(
        mut reader: Reader,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> (Reader, Option<Node>) {
        let Some(object) = reader.get(kind, namespace, name).await else { return (reader, None) };
        let is_namespace = kind.resource.kind == "Namespace" && kind.resource.group.is_empty();
        let scope = if is_namespace { Some(name) } else { namespace.filter(|_| kind.namespaced) };
        let listing = reader.list(scope).await;
        let mut walk = Self { reader, listing, seen: BTreeSet::new() };
        let node = walk.node(Relation::Subject, kind.clone(), object, 0).await;
        (walk.reader, Some(node))
    }

    fn node(&mut self, relation: Relation, kind: Kind, object: Value, depth: usize) -> BoxFuture<'_, Node> {
        async move {
            self.seen.insert(text(&object, "/metadata/uid").unwrap_or_default().to_owned());
            let mut node = Node::new(relation, &kind, &object, &self.listing);
            node.events = self.reader.events(&object).await;
            if node.relation != Relation::OwnedBy {
                node.add_event(&object);
            }
            if depth < DEPTH {
                self.add_children(&mut node, &kind, &object, depth.saturating_add(1)).await;
            }
            node
        }
        .boxed()
    }

    /// Adds what the object refers to first, then what it owns or contains, then what owns it: the order in which
    /// causes are looked for.
    async fn add_children(&mut self, node: &mut Node, kind: &Kind, object: &Value, depth: usize) {
        if node.relation != Relation::OwnedBy {
            let named = if node.is_well() { Vec::new() } else { by_name(object) };
            for reference in references(object).into_iter().chain(named) {
                let child = self.referred(&node.object, reference, depth).await;
                node.children.extend(child);
            }
            let uid = text(object, "/metadata/uid").unwrap_or_default();
            let owned = self.listing.by_owner.get(uid).cloned().unwrap_or_default();
            self.add_listed(node, &Relation::Owns, owned, depth).await;
        }
        let is_namespace = kind.resource.kind == "Namespace" && kind.resource.group.is_empty();
        if is_namespace && object.pointer("/metadata/deletionTimestamp").is_some() {
            let contents = std::mem::take(&mut self.listing.all);
            self.add_listed(node, &Relation::Contains, contents, depth).await;
            self.add_servers(node, depth).await;
        }
        if matches!(node.relation, Relation::Subject | Relation::OwnedBy) {
            self.add_owners(node, object, depth).await;
        }
    }

    async fn add_listed(&mut self, node: &mut Node, relation: &Relation, listed: Vec<Listed>, depth: usize) {
        let mut read: usize = 0;
        for object in listed {
            if self.seen.contains(&object.uid) {
                continue;
            }
            if read >= BRANCHES || self.seen.len() >= OBJECTS {
                node.unread = node.unread.saturating_add(1);
                continue;
            }
            read = read.saturating_add(1);
            let Some(kind) = self.reader.kinds.of_type(Some(&object.group), &object.kind).cloned() else {
                continue;
            };
            // What is gone by now holds nothing up.
            if let Some(value) = self.reader.get(&kind, object.namespace.as_deref(), &object.name).await {
                let child = self.node(relation.clone(), kind, value, depth).await;
                node.children.push(child);
            }
        }
    }

    /// The registrations of the API servers that do not answer: the contents of a Namespace are not known without them.
    async fn add_servers(&mut self, node: &mut Node, depth: usize) {
        let Some(kind) = self.reader.kinds.of_type(Some(REGISTRATION), "APIService").cloned() else { return };
        for name in self.reader.kinds.stale_registrations() {
            if let Some(value) = self.reader.get(&kind, None, &name).await {
                let mut registration = self.unseen(Relation::Needs, kind.clone(), value, depth).await;
                // `Available=False` is what the failure of the deletion comes from, and not a wait like others.
                registration.iter_mut().for_each(Node::block);
                node.children.extend(registration);
            }
        }
    }

    async fn referred(&mut self, from: &Identity, reference: Reference, depth: usize) -> Option<Node> {
        let relation = Relation::RefersTo(reference.field.clone());
        if !is_name(&reference.name) {
            let object = Identity::referred(&reference, reference.namespace.as_deref());
            return Some(Node::missing(relation, object, Level::Blocking, "no object can have this name"));
        }
        let Some(kind) = self.reader.kinds.of_type(reference.group.as_deref(), &reference.kind).cloned()
        else {
            let group = reference.group.as_deref().filter(|group| !group.is_empty());
            let group = group.map_or_else(String::new, |group| format!(" of group {group}"));
            let message =
                format!("the cluster serves no kind {}{group}: install what defines it", reference.kind);
            let object = Identity::referred(&reference, reference.namespace.as_deref());
            return Some(Node::missing(relation, object, Level::Blocking, message));
        };
        let namespace =
            reference.namespace.as_deref().or(from.namespace.as_deref()).filter(|_| kind.namespaced);
        let before = self.reader.errors.len();
        match self.reader.get(&kind, namespace, &reference.name).await {
            Some(value) => self.unseen(relation, kind, value, depth).await,
            // What cannot be read may be there.
            None if self.reader.errors.len() > before => None,
            None => {
                let object = Identity::referred(&reference, namespace);
                Some(Node::missing(relation, object, Level::Blocking, "does not exist: create it"))
            }
        }
    }

    async fn unseen(&mut self, relation: Relation, kind: Kind, object: Value, depth: usize) -> Option<Node> {
        let is_seen = text(&object, "/metadata/uid").is_some_and(|uid| self.seen.contains(uid));
        if is_seen { None } else { Some(self.node(relation, kind, object, depth).await) }
    }

    async fn add_owners(&mut self, node: &mut Node, object: &Value, depth: usize) {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).cloned();
        for owner in owners.unwrap_or_default() {
            let found = self.owner(node.object.namespace.as_deref(), &owner, depth).await;
            node.children.extend(found);
        }
    }

    async fn owner(&mut self, namespace: Option<&str>, owner: &Value, depth: usize) -> Option<Node> {
        let of = |field: &str| text(owner, field).unwrap_or_default().to_owned();
        let (version, name) = (of("/apiVersion"), of("/name"));
        let group = group_version(&version).0.to_owned();
        let missing = |namespace: Option<&str>, message: &str| {
            let namespace = namespace.map(str::to_owned);
            let object = Identity { group: group.clone(), kind: of("/kind"), namespace, name: name.clone() };
            Some(Node::missing(Relation::OwnedBy, object, Level::Waiting, message))
        };
        let Some(kind) = self.reader.kinds.of_type(Some(&group), &of("/kind")).cloned() else {
            return missing(
                None,
                "the cluster serves no such kind, so it is not known whether this owner exists",
            );
        };
        if kind.namespaced && namespace.is_none() {
            let message = "cannot own what is in no namespace: the garbage collector leaves that alone";
            return missing(None, message);
        }
        let (namespace, before) = (namespace.filter(|_| kind.namespaced), self.reader.errors.len());
        let found = if is_name(&name) { self.reader.get(&kind, namespace, &name).await } else { None };
        match found.filter(|found| text(found, "/metadata/uid") == text(owner, "/uid")) {
            Some(value) => self.unseen(Relation::OwnedBy, kind, value, depth).await,
            None if self.reader.errors.len() > before => None,
            None => {
                missing(namespace, "does not exist any more: the garbage collector deletes what it owned")
            }
        }
    }
}
