//! The delay that a registrar which never reads causes to the others: the 99th percentile of the time from a change to
//! its delivery, with a registrar that stands still and without, in turns.

use std::time::Instant;

use anyhow::{Result, ensure};
use watch_manager::{EventKind, Registrar, WatchManager};

use super::join::drain;
use super::{Scale, filled, gvk, small};
use crate::figures::{Line, median, percentile};

/// Measures 20,000 changes of 1,000 objects in each turn.
///
/// # Errors
/// A change is not delivered.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..scale.rounds.max(3) {
        alone.push(turn(scale, false).await?);
        beside.push(turn(scale, true).await?);
    }
    let what = "p99 of a delivery beside a registrar that stands still".to_owned();
    let peer = Some(("without it", median(&alone)));
    Ok(vec![Line { what, ours: median(&beside), unit: "µs", peer, goal: "105 %" }])
}

async fn turn(scale: Scale, stalls: bool) -> Result<f64> {
    let (kind, objects) = (gvk("Gadget"), scale.of(1_000));
    let api = filled(&kind, objects);
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
    let driver = tokio::spawn(driver);
    let mut reader = manager.registrar("reader")?;
    reader.add(kind.clone());
    drain(&mut reader, objects).await?;
    let second = manager.registrar("second")?;
    second.add(kind.clone()).ready().await?;
    let mut second = Some(second);
    let mut times = Vec::new();
    for (change, number) in (1..=scale.of(20_000)).zip((0..objects).cycle()) {
        let begun = Instant::now();
        api.apply(&kind, small(number, change));
        applied(&mut reader).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        // Without the stall, the second registrar reads as well, outside of the measured time.
        if let (false, Some(second)) = (stalls, &mut second) {
            while second.backlog().depth > 0 {
                second.next_batch(1024).await;
            }
        }
    }
    if let Some(second) = &second {
        ensure!(second.backlog().depth <= objects.saturating_add(2), "the backlog is not bounded");
    }
    manager.shutdown();
    driver.await?;
    Ok(percentile(&times, 99))
}

async fn applied(reader: &mut Registrar) -> Result<()> {
    loop {
        match reader.next().await {
            Some(event) if matches!(event.kind, EventKind::Applied(_)) => return Ok(()),
            Some(_) => {}
            None => anyhow::bail!("the stream ended"),
        }
    }
}
