//! The states that the objects of a kind go through: for waits, and for controllers of one object.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use futures::{Stream, StreamExt};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use watch_manager::{Config, EventKind, GroupVersionKind, Interest, WatchManager};

use crate::Cluster;

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

/// The states of one object in the namespace; `None` while there is none.
pub fn state<K>(cluster: &Cluster, name: &str) -> impl Stream<Item = Result<Option<K>>> + Send + use<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send,
{
    states(&cluster.client, named::<K>(cluster, name)).map(|state| Ok(state?.pop()))
}

/// An object in the namespace, as soon as there is one.
///
/// # Errors
///
/// It is not a `K`.
pub async fn existing<K>(cluster: &Cluster, name: &str) -> Result<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send,
{
    let mut states = std::pin::pin!(state(cluster, name));
    while let Some(state) = states.next().await {
        if let Some(object) = state? {
            return Ok(object);
        }
    }
    bail!("the watch of {} {name} has ended", K::kind(&()))
}

/// The object of a name in the namespace.
pub(crate) fn named<K: Resource<DynamicType = ()>>(cluster: &Cluster, name: &str) -> Interest {
    all::<K>(cluster).fields(format!("metadata.name={name}"))
}

/// All objects in the namespace.
pub(crate) fn all<K: Resource<DynamicType = ()>>(cluster: &Cluster) -> Interest {
    Interest::new(kind_of::<K>(&())).namespaces([cluster.namespace.as_str()])
}

/// The kind of `K`.
pub(crate) fn kind_of<K: Resource>(kind: &K::DynamicType) -> GroupVersionKind {
    GroupVersionKind::gvk(&K::group(kind), &K::version(kind), &K::kind(kind))
}
