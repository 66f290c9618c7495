//! 1,000 kinds without objects, three registrars: the time until every registrar is ready, over HTTP.

use std::time::Instant;

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use kube::core::GroupVersionKind;
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, WatchManager, WatchReadiness};

use super::{REGISTRARS, Scale};
use crate::figures::{Line, median};
use crate::heap;
use crate::peer::controller_runtime;
use crate::server::Server;

/// Measures in memory and over HTTP.
///
/// # Errors
/// A side fails.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let kinds = kinds(scale.of(1_000));
    let api = serving(&kinds);
    let server = Server::start(&api).await?;
    let (mut memory, mut ours, mut theirs, mut heap) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.rounds {
        memory.push(watch(WatchManager::builder_with_source(api.clone()), &kinds).await?);
        let before = heap::settled().await;
        let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
        heap.push((held(manager, driver, &kinds, before).await?) / kinds.len() as f64);
        ours.push(watch(WatchManager::builder(server.client()?), &kinds).await?);
        theirs.push(controller_runtime(&server, &kinds, REGISTRARS).await?.seconds);
    }
    let line = |what: &str, ours, unit, peer, goal| Line {
        what: format!("{} kinds, {REGISTRARS} registrars: {what}", kinds.len()),
        ours,
        unit,
        peer,
        goal,
    };
    Ok(vec![
        line("ready, in memory", median(&memory), "s", None, "5 s"),
        line("ready, over HTTP", median(&ours), "s", Some(("controller-runtime", median(&theirs))), ""),
        line("heap of a kind", median(&heap) / 1024.0, "KB", None, "15 KB"),
    ])
}

/// Kinds in groups of ten.
pub(super) fn kinds(count: usize) -> Vec<GroupVersionKind> {
    let kind = |number| {
        GroupVersionKind::gvk(&format!("group-{}.example.com", number / 10), "v1", &format!("Kind{number}"))
    };
    (0..count).map(kind).collect()
}

pub(super) fn serving(kinds: &[GroupVersionKind]) -> FakeApi {
    let api = FakeApi::new();
    for kind in kinds {
        api.serve(kind, &format!("{}s", kind.kind.to_lowercase()));
    }
    api
}

/// Seconds until all registrars of a new manager are ready.
async fn watch(builder: watch_manager::Builder, kinds: &[GroupVersionKind]) -> Result<f64> {
    let (manager, driver) = builder.build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let begun = Instant::now();
    let registrars = ask(&manager, kinds)?;
    try_join_all(registrars.iter().map(|registrar| registrar.wait_until(WatchReadiness::is_ready))).await?;
    let elapsed = begun.elapsed().as_secs_f64();
    shutdown.cancel();
    driver.await?;
    Ok(elapsed)
}

/// Bytes on the heap while everything is watched and read.
async fn held(
    manager: WatchManager,
    driver: watch_manager::WatchDriver,
    kinds: &[GroupVersionKind],
    before: f64,
) -> Result<f64> {
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut registrars = ask(&manager, kinds)?;
    for registrar in &mut registrars {
        registrar.wait_until(WatchReadiness::is_ready).await?;
        while registrar.backlog().depth > 0 {
            registrar.next_batch(1024).await;
        }
    }
    ensure!(
        kinds.iter().all(|kind| manager.store(kind).is_some_and(|store| store.is_synced())),
        "not synced"
    );
    let bytes = heap::settled().await - before;
    shutdown.cancel();
    driver.await?;
    Ok(bytes)
}

pub(super) fn ask(
    manager: &WatchManager,
    kinds: &[GroupVersionKind],
) -> Result<Vec<watch_manager::Registrar>> {
    let registrar = |number| {
        let registrar = manager.registrar(&format!("registrar-{number}"))?;
        registrar.replace(kinds.iter().cloned());
        anyhow::Ok(registrar)
    };
    (0..REGISTRARS).map(registrar).collect()
}
