//! The kinds that policies may refer to: the union of all SyncSets and of the operator's Config.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::GroupVersionKind;
use pod_status::{ParentKey, ParentRef, PodError};
use serde::Deserialize;
use watch_manager::WatchedObject;

/// The SyncSets and the Config, and the kinds that each asks for.
#[derive(Debug, Default)]
pub(super) struct SyncSources(BTreeMap<ParentRef, SyncSource>);

/// A SyncSet or the Config.
#[derive(Debug)]
pub(super) struct SyncSource {
    pub(super) key: ParentKey,
    pub(super) generation: i64,
    /// The reason why this generation is not in force; the kinds are those of the last one that was.
    pub(super) refused: Option<PodError>,
    kinds: BTreeSet<Kind>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl SyncSource {
    pub(super) fn kinds(&self) -> impl Iterator<Item = GroupVersionKind> {
        self.kinds.iter().map(|kind| GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind))
    }
}

impl SyncSources {
    /// Takes what a SyncSet or a Config asks for now.
    pub(super) fn put(&mut self, key: ParentKey, object: &WatchedObject) -> Result<(), String> {
        let value = object.to_value().map_err(|error| error.to_string())?;
        let list = ["/spec/gvks", "/spec/sync/syncOnly"].iter().find_map(|pointer| value.pointer(pointer));
        let kinds: Vec<Kind> = match list.filter(|list| !list.is_null()) {
            None => Vec::new(),
            Some(list) => Vec::deserialize(list).map_err(|error| error.to_string())?,
        };
        let kinds =
            kinds.into_iter().filter(|kind| !kind.version.is_empty() && !kind.kind.is_empty()).collect();
        let generation = object.generation().unwrap_or_default();
        self.0.insert(key.reference.clone(), SyncSource { key, generation, refused: None, kinds });
        Ok(())
    }

    /// Keeps the kinds that a SyncSet or a Config asked for before, because this generation cannot be used.
    pub(super) fn refuse(&mut self, key: ParentKey, generation: i64, reason: PodError) {
        let former = self.0.remove(&key.reference).map(|source| source.kinds);
        let kinds = former.unwrap_or_default();
        self.0.insert(key.reference.clone(), SyncSource { key, generation, refused: Some(reason), kinds });
    }

    /// Forgets a SyncSet or a Config.
    pub(super) fn remove(&mut self, key: &ParentKey) {
        self.0.remove(&key.reference);
    }

    /// The SyncSets and the Config.
    pub(super) fn iter(&self) -> impl Iterator<Item = &SyncSource> {
        self.0.values()
    }

    /// Every kind that one of them asks for.
    pub(super) fn kinds(&self) -> Vec<GroupVersionKind> {
        let union: BTreeSet<_> = self.0.values().flat_map(|source| &source.kinds).collect();
        union.into_iter().map(|kind| GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::controller::kinds::{CONFIG, SYNC_SET};

    use super::*;

    fn source(gvk: &GroupVersionKind, name: &str, spec: Value) -> (ParentKey, WatchedObject) {
        let object =
            WatchedObject::from_value(gvk, &json!({"metadata": {"name": name, "uid": name}, "spec": spec}))
                .unwrap();
        (ParentKey::new(ParentRef::new(&gvk.group, &gvk.kind, name), name), object)
    }

    fn put(sources: &mut SyncSources, gvk: &GroupVersionKind, name: &str, spec: Value) -> Result<(), String> {
        let (key, object) = source(gvk, name, spec);
        sources.put(key, &object)
    }

    /// Whatever else is reported meanwhile, its generation is not called ingested.
    #[test]
    fn a_source_that_is_refused_keeps_its_kinds_and_says_why_until_it_is_corrected() {
        let mut sources = SyncSources::default();
        put(&mut sources, &CONFIG, "config", json!({"sync": {"syncOnly": [kind("Pod")]}})).unwrap();
        let (key, _) = source(&CONFIG, "config", json!({}));
        sources.refuse(key, 2, PodError::new("ingest_error", "no such process"));
        let known: Vec<_> =
            sources.iter().map(|source| (source.generation, source.refused.is_some())).collect();
        assert_eq!((known, sources.kinds().len()), (vec![(2, true)], 1));
        put(&mut sources, &CONFIG, "config", json!({})).unwrap();
        assert!(sources.iter().all(|source| source.refused.is_none()) && sources.kinds().is_empty());
    }

    fn kind(kind: &str) -> Value {
        json!({"group": "", "version": "v1", "kind": kind})
    }

    fn asked(sources: &SyncSources) -> Vec<String> {
        sources.kinds().into_iter().map(|gvk| gvk.kind).collect()
    }

    #[test]
    fn what_is_synced_is_the_union_of_all_lists() {
        let mut sources = SyncSources::default();
        put(&mut sources, &SYNC_SET, "a", json!({"gvks": [kind("Pod"), kind("Service")]})).unwrap();
        put(&mut sources, &CONFIG, "config", json!({"sync": {"syncOnly": [kind("Service")]}})).unwrap();
        assert_eq!(asked(&sources), ["Pod", "Service"]);
        sources.remove(&source(&SYNC_SET, "a", json!({})).0);
        assert_eq!(asked(&sources), ["Service"]);
    }

    #[test]
    fn a_list_that_shrinks_takes_kinds_away_and_an_incomplete_kind_is_none() {
        let mut sources = SyncSources::default();
        put(&mut sources, &SYNC_SET, "a", json!({"gvks": [kind("Pod"), {"kind": "Service"}]})).unwrap();
        assert_eq!(asked(&sources), ["Pod"]);
        for spec in [json!({}), json!({"gvks": null}), Value::Null] {
            put(&mut sources, &SYNC_SET, "a", spec).unwrap();
            assert_eq!(asked(&sources), [""; 0]);
        }
    }

    #[test]
    fn a_list_that_is_no_list_is_an_error_and_changes_nothing() {
        let mut sources = SyncSources::default();
        put(&mut sources, &SYNC_SET, "a", json!({"gvks": [kind("Pod")]})).unwrap();
        assert!(put(&mut sources, &SYNC_SET, "a", json!({"gvks": "Pod"})).is_err());
        assert_eq!(asked(&sources), ["Pod"]);
    }
}
