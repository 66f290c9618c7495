//! The server of the model: one kind with its objects, history and pages. An object's version is the number of the
//! change that made it.

use std::collections::BTreeMap;

use kube::core::ApiResource;

use crate::fixture::raw;
use crate::intents::Gvk;
use crate::source::{Listed, Page, Served, SourceError, SourceEvent};

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Name to (uid, version).
pub(super) type Objects = BTreeMap<&'static str, (u64, u64)>;

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) gvk: Gvk,
    pub(super) served: bool,
    pub(super) objects: Objects,
    pub(super) changes: u64,
    /// Version, name, uid, and whether it is a delete.
    log: Vec<(u64, &'static str, u64, bool)>,
    /// Versions before this one have expired.
    compacted: u64,
    /// Snapshots of lists under way, by the version that their tokens name.
    snapshots: BTreeMap<u64, Objects>,
}

// === impl Server ===

impl Server {
    pub(super) fn new(gvk: Gvk) -> Self {
        Self {
            gvk,
            served: true,
            objects: Objects::new(),
            changes: 1,
            log: Vec::new(),
            compacted: 1,
            snapshots: BTreeMap::new(),
        }
    }

    pub(super) fn picture(&self) -> String {
        let Self { served, objects, changes, log, compacted, snapshots, .. } = self;
        format!("{served} {objects:?} {changes} {log:?} {compacted} {snapshots:?}")
    }

    /// Creates or changes an object.
    pub(super) fn put(&mut self, name: &'static str) {
        self.changes += 1;
        let uid = self.objects.get(name).map_or(self.changes, |(uid, _)| *uid);
        self.objects.insert(name, (uid, self.changes));
        self.log.push((self.changes, name, uid, false));
    }

    pub(super) fn delete(&mut self, name: &'static str) {
        self.changes += 1;
        if let Some((uid, _)) = self.objects.remove(name) {
            self.log.push((self.changes, name, uid, true));
        }
    }

    /// The definition is deleted, and its objects with it.
    pub(super) fn unserve(&mut self) {
        self.changes += 1;
        self.served = false;
        self.objects.clear();
        self.compact();
    }

    /// Whether compaction would change anything.
    pub(super) fn has_history(&self) -> bool {
        !self.log.is_empty() || !self.snapshots.is_empty()
    }

    pub(super) fn compact(&mut self) {
        self.compacted = self.changes;
        self.log.clear();
        self.snapshots.clear();
    }

    pub(super) fn discover(&self) -> Result<Served, SourceError> {
        let resource = ApiResource::from_gvk_with_plural(&self.gvk, "things");
        if self.served { Ok(Served::new(resource, true)) } else { Err(SourceError::NotServed) }
    }

    /// One page. The token of the next is `<version>/<first name>`.
    pub(super) fn list(&mut self, page: &Page) -> Result<Listed, SourceError> {
        if !self.served {
            return Err(SourceError::NotServed);
        }
        let (version, rest) = match &page.continue_token {
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
        let limit = page.limit.map_or(usize::MAX, |limit| limit as usize);
        let items = rest.iter().take(limit).map(|(name, (uid, version))| raw(name, *uid, *version));
        let mut listed = Listed::last(items.collect(), version.to_string());
        if let Some((name, _)) = rest.iter().nth(limit) {
            listed.continue_token = Some(format!("{version}/{name}"));
            self.snapshots.entry(version).or_insert_with(|| self.objects.clone());
        }
        Ok(listed)
    }

    /// Opens a watch; returns the events since `version`.
    pub(super) fn watch(&self, version: &str) -> Result<Vec<SourceEvent>, SourceError> {
        let version: u64 = version.parse().unwrap();
        if !self.served {
            return Err(SourceError::NotServed);
        }
        if version < self.compacted {
            return Err(SourceError::Expired);
        }
        Ok(self.log.iter().filter(|(at, ..)| *at > version).map(event).collect())
    }

    /// The event of the last change.
    pub(super) fn last_event(&self) -> SourceEvent {
        event(self.log.last().unwrap())
    }
}

fn event((version, name, uid, deleted): &(u64, &'static str, u64, bool)) -> SourceEvent {
    let object = raw(name, *uid, *version);
    if *deleted { SourceEvent::Deleted(object) } else { SourceEvent::Applied(object) }
}
