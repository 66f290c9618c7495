//! The requests that an API server gets while 100 kinds start with three consumers each, counted by the server.

use anyhow::Result;
use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::Discovery;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use watch_manager::{CancellationToken, WatchManager, WatchReadiness};

use super::ready::{ask, kinds, serving};
use super::{REGISTRARS, Scale};
use crate::figures::Line;
use crate::heap;
use crate::peer::controller_runtime;
use crate::server::{Counts, Server};

/// Counts the requests of each side.
///
/// # Errors
/// A side fails.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let kinds = kinds(scale.of(100));
    let server = Server::start(&serving(&kinds)).await?;
    let (manager, driver) = WatchManager::builder(server.client()?).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let registrars = ask(&manager, &kinds)?;
    for registrar in &registrars {
        registrar.wait_until(WatchReadiness::is_ready).await?;
    }
    let watched = |kind| manager.kind_status(kind).is_some_and(|status| status.status.is_ready());
    while !kinds.iter().all(watched) {
        tokio::task::yield_now().await;
    }
    heap::settled().await;
    let ours = server.take_counts();
    shutdown.cancel();
    driver.await?;
    watch_with_kube(&server.client()?, &kinds).await?;
    let kube = server.take_counts();
    controller_runtime(&server, &kinds, REGISTRARS).await?;
    let theirs = server.take_counts();
    Ok(lines(kinds.len(), &ours, &kube, &theirs))
}

/// kube's way: aggregated discovery, and a reflector for each consumer and kind, because a dynamic kind cannot be shared.
async fn watch_with_kube(client: &Client, kinds: &[GroupVersionKind]) -> Result<()> {
    let discovery = Discovery::new(client.clone()).run_aggregated().await?;
    let mut synced = Vec::new();
    for kind in kinds {
        let Some((resource, _)) = discovery.resolve_gvk(kind) else {
            anyhow::bail!("{kind:?} is not served")
        };
        for _ in 0..REGISTRARS {
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let writer = kube::runtime::reflector::store::Writer::new(resource.clone());
            let events = watcher(api, watcher::Config::default()).default_backoff().reflect(writer).boxed();
            synced.push(until_watched(events).boxed());
        }
    }
    join_all(synced).await;
    Ok(())
}

/// Polls the events until the list is complete and the watch has been requested.
async fn until_watched<E>(
    mut events: impl futures::Stream<Item = Result<watcher::Event<DynamicObject>, E>> + Unpin,
) {
    while let Some(event) = events.next().await {
        if matches!(event, Ok(watcher::Event::InitDone)) {
            let rest = async { while events.next().await.is_some() {} };
            let _ = tokio::time::timeout(std::time::Duration::from_secs(2), rest).await;
            return;
        }
    }
}

fn lines(kinds: usize, ours: &Counts, kube: &Counts, theirs: &Counts) -> Vec<Line> {
    let count = |counts: &Counts, what: &str| counts.get(what).copied().unwrap_or_default() as f64;
    let mut lines = Vec::new();
    for what in ["discovery", "list", "watch"] {
        for (name, peer) in [("kube", kube), ("controller-runtime", theirs)] {
            lines.push(Line {
                what: format!("{kinds} kinds, {REGISTRARS} consumers: {what} requests"),
                ours: count(ours, what),
                unit: "",
                peer: Some((name, count(peer, what))),
                goal: "",
            });
        }
    }
    lines
}
