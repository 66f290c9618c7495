//! Which kinds policies may refer to: the union of all SyncSets and of the operator's Config.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::GroupVersionKind;
use serde::Deserialize;
use watch_manager::WatchedObject;

/// Who asks for which kinds.
#[derive(Debug, Default)]
pub(super) struct SyncSources(BTreeMap<(String, String), BTreeSet<Kind>>);

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl SyncSources {
    /// Takes what a SyncSet or a Config asks for now.
    pub(super) fn put(&mut self, object: &WatchedObject) -> Result<(), String> {
        let value = object.to_value().map_err(|error| error.to_string())?;
        let list = ["/spec/gvks", "/spec/sync/syncOnly"].iter().find_map(|pointer| value.pointer(pointer));
        let kinds: Vec<Kind> = match list.filter(|list| !list.is_null()) {
            None => Vec::new(),
            Some(list) => Vec::deserialize(list).map_err(|error| error.to_string())?,
        };
        let named =
            kinds.into_iter().filter(|kind| !kind.version.is_empty() && !kind.kind.is_empty()).collect();
        self.0.insert(key(object), named);
        Ok(())
    }

    /// Forgets a SyncSet or a Config.
    pub(super) fn remove(&mut self, object: &WatchedObject) {
        self.0.remove(&key(object));
    }

    /// Every kind that anybody asks for.
    pub(super) fn kinds(&self) -> Vec<GroupVersionKind> {
        let union: BTreeSet<_> = self.0.values().flatten().collect();
        union.into_iter().map(|kind| GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind)).collect()
    }
}

fn key(object: &WatchedObject) -> (String, String) {
    (object.gvk().kind.clone(), object.name().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::controller::kinds::{CONFIG, SYNC_SET};

    use super::*;

    fn source(gvk: &GroupVersionKind, name: &str, spec: Value) -> WatchedObject {
        WatchedObject::from_value(gvk, &json!({"metadata": {"name": name, "uid": name}, "spec": spec}))
            .unwrap()
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
        sources.put(&source(&SYNC_SET, "a", json!({"gvks": [kind("Pod"), kind("Service")]}))).unwrap();
        sources.put(&source(&CONFIG, "config", json!({"sync": {"syncOnly": [kind("Service")]}}))).unwrap();
        assert_eq!(asked(&sources), ["Pod", "Service"]);
        sources.remove(&source(&SYNC_SET, "a", json!({})));
        assert_eq!(asked(&sources), ["Service"]);
    }

    #[test]
    fn a_list_that_shrinks_takes_kinds_away_and_an_incomplete_kind_is_none() {
        let mut sources = SyncSources::default();
        sources.put(&source(&SYNC_SET, "a", json!({"gvks": [kind("Pod"), {"kind": "Service"}]}))).unwrap();
        assert_eq!(asked(&sources), ["Pod"]);
        for spec in [json!({}), json!({"gvks": null}), Value::Null] {
            sources.put(&source(&SYNC_SET, "a", spec)).unwrap();
            assert_eq!(asked(&sources), [""; 0]);
        }
    }

    #[test]
    fn a_list_that_is_no_list_is_an_error_and_changes_nothing() {
        let mut sources = SyncSources::default();
        sources.put(&source(&SYNC_SET, "a", json!({"gvks": [kind("Pod")]}))).unwrap();
        assert!(sources.put(&source(&SYNC_SET, "a", json!({"gvks": "Pod"}))).is_err());
        assert_eq!(asked(&sources), ["Pod"]);
    }
}
