//! The states that the objects of a kind go through: for waits, and for controllers of one object.

use std::collections::BTreeMap;

use anyhow::Result;
use futures::{Stream, StreamExt};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use watch_manager::{Config, EventKind, GroupVersionKind, Interest, WatchManager};

/// All selected objects, after each change, from when they are listed. An object that is not a `K` is an error, after which the
/// stream goes on.
pub fn states<K: DeserializeOwned + Send>(
    client: &Client,
    interest: Interest,
) -> impl Stream<Item = Result<Vec<K>>> + Send + use<K> {
    let mut config = Config::default();
    config.keep_managed_fields = true;
    let (mut objects, mut listed) = (BTreeMap::new(), false);
    WatchManager::builder(client.clone()).config(config).watch(interest).filter_map(move |event| {
        match event.kind {
            EventKind::Applied(object) => drop(objects.insert(object.key().clone(), object)),
            EventKind::Deleted(object) => drop(objects.remove(object.key())),
            EventKind::Synced => listed = true,
            _ => return std::future::ready(None),
        }
        let state = || objects.values().map(|object| Ok(object.parse()?)).collect();
        std::future::ready(listed.then(state))
    })
}

/// The kind of `K`.
pub(crate) fn kind_of<K: Resource>(kind: &K::DynamicType) -> GroupVersionKind {
    GroupVersionKind::gvk(&K::group(kind), &K::version(kind), &K::kind(kind))
}
