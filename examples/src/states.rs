//! The states that the objects of a kind go through: for waits, and for controllers of one object.

use std::collections::BTreeMap;
use std::pin::pin;

use anyhow::{Context, Result};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::Client;
use serde::de::DeserializeOwned;
use watch_manager::{Config, EventKind, Interest, WatchEvent, WatchManager};

/// All selected objects, after each change, from when they are listed. An object that is not a `K` is an error, after which the
/// stream goes on.
pub fn states<K: DeserializeOwned + Send>(
    client: &Client,
    interest: Interest,
) -> impl Stream<Item = Result<Vec<K>>> + Send + use<K> {
    let (mut objects, mut listed) = (BTreeMap::new(), false);
    watching(client, interest).filter_map(move |event| {
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

/// The first state that holds.
///
/// # Errors
///
/// That of a state before it, or the end of the watch.
pub(crate) async fn first<T>(states: impl Stream<Item = Result<T>>, holds: impl Fn(&T) -> bool) -> Result<T> {
    let mut states = pin!(states);
    loop {
        let state = states.next().await.context("the watch has ended")??;
        if holds(&state) {
            return Ok(state);
        }
    }
}

/// The events of an interest. Objects have their managed fields: the owner of a finalizer is found there.
pub(crate) fn watching(client: &Client, interest: Interest) -> BoxStream<'static, WatchEvent> {
    let mut config = Config::default();
    config.keep_managed_fields = true;
    WatchManager::builder(client.clone()).config(config).watch(interest)
}
