//! The server of the model: one kind with its objects, history and pages. An object's version is the number of the
//! change that made it.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::ApiResource;
use serde_json::value::RawValue;

use crate::fixture::{raw_in, unreadable_in};
use crate::intents::Gvk;
use crate::interest::Part;
use crate::source::{Listed, Page, Served, SourceError, SourceEvent};

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// The namespace of an object, in worlds that have namespaces.
pub(super) fn namespace_of(name: &str) -> &'static str {
    if name == "a" { "left" } else { "right" }
}

/// Returns true if a watch of `part` sees the object.
pub(super) fn sees(part: &Part, name: &str) -> bool {
    part.as_deref().is_none_or(|namespace| namespace == namespace_of(name))
}

/// Name to (uid, version).
pub(super) type Objects = BTreeMap<&'static str, (u64, u64)>;

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) gvk: Gvk,
    /// Objects have namespaces.
    namespaced: bool,
    pub(super) served: bool,
    /// The client may not list and watch all namespaces.
    pub(super) refuses_all: bool,
    pub(super) objects: Objects,
    pub(super) changes: u64,
    /// Version, name, uid, and whether it is a delete.
    log: Vec<(u64, &'static str, u64, bool)>,
    /// Versions before this one have expired.
    compacted: u64,
    /// It rejects these, instead of saying that they have expired: it cannot read them.
    rejects: bool,
    /// Snapshots of lists under way, by the version that their tokens name.
    snapshots: BTreeMap<u64, Objects>,
    /// The versions of objects that no client can read.
    unreadable: BTreeSet<u64>,
}

// === impl Server ===

impl Server {
    pub(super) fn new(gvk: Gvk, namespaced: bool) -> Self {
        Self {
            gvk,
            namespaced,
            served: true,
            refuses_all: false,
            objects: Objects::new(),
            changes: 1,
            log: Vec::new(),
            compacted: 1,
            rejects: false,
            snapshots: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }

    pub(super) fn picture(&self) -> String {
        let Self { served, refuses_all, objects, changes, log, compacted, rejects, snapshots, .. } = self;
        let unreadable = &self.unreadable;
        format!(
            "{served} {refuses_all} {objects:?} {changes} {log:?} {compacted} {rejects} {snapshots:?} {unreadable:?}"
        )
    }

    /// Creates or changes an object.
    pub(super) fn put(&mut self, name: &'static str) {
        self.changes += 1;
        let uid = self.objects.get(name).map_or(self.changes, |(uid, _)| *uid);
        self.objects.insert(name, (uid, self.changes));
        self.log.push((self.changes, name, uid, false));
    }

    /// Creates or changes an object so that nothing but its name and uid can be read.
    pub(super) fn garble(&mut self, name: &'static str) {
        self.put(name);
        self.unreadable.insert(self.changes);
    }

    pub(super) fn delete(&mut self, name: &'static str) {
        self.changes += 1;
        if let Some((uid, version)) = self.objects.remove(name) {
            self.log.push((self.changes, name, uid, true));
            if self.unreadable.contains(&version) {
                self.unreadable.insert(self.changes);
            }
        }
    }

    /// The objects as a client knows them that had `known` of those that cannot be read.
    pub(super) fn readable(&self, known: &Objects) -> Objects {
        let readable = |(name, (uid, version)): (&&'static str, &(u64, u64))| {
            if !self.unreadable.contains(version) {
                return Some((*name, (*uid, *version)));
            }
            let former = known.get(name).filter(|(known, _)| known == uid);
            former.map(|former| (*name, *former))
        };
        self.objects.iter().filter_map(readable).collect()
    }

    /// The definition is deleted, and its objects with it.
    pub(super) fn unserve(&mut self) {
        self.changes += 1;
        self.served = false;
        self.objects.clear();
        self.compact();
    }

    /// Returns true if compaction would change anything.
    pub(super) fn has_history(&self) -> bool {
        !self.log.is_empty() || !self.snapshots.is_empty()
    }

    pub(super) fn compact(&mut self) {
        self.compacted = self.changes;
        self.log.clear();
        self.snapshots.clear();
    }

    /// The server is replaced by one that cannot read the versions of the former.
    pub(super) fn replace(&mut self) {
        self.compact();
        self.rejects = true;
    }

    pub(super) fn discover(&self) -> Result<Served, SourceError> {
        let resource = ApiResource::from_gvk_with_plural(&self.gvk, "things");
        if self.served { Ok(Served::new(resource, true)) } else { Err(SourceError::NotServed) }
    }

    /// One page. The token of the next is `<version>/<first name>`.
    pub(super) fn list(&mut self, part: &Part, page: &Page) -> Result<Listed, SourceError> {
        self.admit(part)?;
        let (version, mut rest) = match &page.continue_token {
            None => (self.changes, self.objects.clone()),
            Some(token) => {
                let (version, name) = token.split_once('/').unwrap();
                let version = version.parse().unwrap();
                let snapshot = self.snapshots.get(&version).ok_or(SourceError::Expired)?;
                (
                    version,
                    snapshot.iter().filter(|(other, _)| **other >= name).map(|(n, o)| (*n, *o)).collect(),
                )
            }
        };
        rest.retain(|name, _| self.is_seen(part, name));
        let limit = page.limit.map_or(usize::MAX, |limit| limit as usize);
        let items = rest.iter().take(limit).map(|(name, (uid, version))| self.raw(name, *uid, *version));
        let mut listed = Listed::last(items.collect(), version.to_string());
        if let Some((name, _)) = rest.iter().nth(limit) {
            listed.continue_token = Some(format!("{version}/{name}"));
            self.snapshots.entry(version).or_insert_with(|| self.objects.clone());
        }
        Ok(listed)
    }

    /// Opens a watch; returns the events since `version`.
    pub(super) fn watch(&self, part: &Part, version: &str) -> Result<Vec<SourceEvent>, SourceError> {
        let version: u64 = version.parse().unwrap();
        self.admit(part)?;
        if version < self.compacted {
            return Err(match self.rejects {
                true => SourceError::Rejected("bad version".to_owned()),
                false => SourceError::Expired,
            });
        }
        let missed = self.log.iter().filter(|(at, name, ..)| *at > version && self.is_seen(part, name));
        Ok(missed.map(|change| self.event(change)).collect())
    }

    /// The event of the last change, if a watch of `part` sees it.
    pub(super) fn last_event(&self, part: &Part) -> Option<SourceEvent> {
        let change = self.log.last().unwrap();
        self.is_seen(part, change.1).then(|| self.event(change))
    }

    fn admit(&self, part: &Part) -> Result<(), SourceError> {
        if !self.served {
            return Err(SourceError::NotServed);
        }
        match part {
            None if self.refuses_all => Err(SourceError::Forbidden("all".to_owned())),
            _ => Ok(()),
        }
    }

    fn is_seen(&self, part: &Part, name: &str) -> bool {
        !self.namespaced || sees(part, name)
    }

    fn raw(&self, name: &str, uid: u64, version: u64) -> Box<RawValue> {
        let namespace = self.namespaced.then(|| namespace_of(name));
        match self.unreadable.contains(&version) {
            true => unreadable_in(namespace, name, uid),
            false => raw_in(namespace, name, uid, version),
        }
    }

    fn event(&self, (version, name, uid, deleted): &(u64, &'static str, u64, bool)) -> SourceEvent {
        let object = self.raw(name, *uid, *version);
        if *deleted { SourceEvent::Deleted(object) } else { SourceEvent::Applied(object) }
    }
}
