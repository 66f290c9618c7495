//! The delay that a registrar which never reads causes to the others: the 99th percentile of the processor time from a
//! change to its delivery, beside a registrar that stands still and beside one that reads, in turns. All work is done by
//! one thread, so its processor time is the delay without that of the machine's other programs. The turns alternate and the
//! percentiles are of all turns of a side together, so that both sides have the same share of the machine's disturbances.

use anyhow::{Result, ensure};
use watch_manager::{CancellationToken, EventKind, Registrar, WatchManager};

use super::join::drain;
use super::{Scale, filled, gvk, small};
use crate::figures::{Line, computed, percentile};

/// Measures 20,000 changes of 1,000 objects in each turn.
///
/// # Errors
/// A change is not delivered.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..scale.rounds.saturating_mul(2).max(3) {
        alone.extend(turn(scale, false).await?);
        beside.extend(turn(scale, true).await?);
    }
    let line = |percent: usize, goal| {
        let what = format!("p{percent} of a delivery beside a registrar that stands still");
        let peer = Some(("beside one that reads", percentile(&alone, percent)));
        Line { what, ours: percentile(&beside, percent), unit: "µs", peer, goal }
    };
    Ok(vec![line(50, ""), line(99, "105 %")])
}

async fn turn(scale: Scale, stalls: bool) -> Result<Vec<f64>> {
    let (kind, objects) = (gvk("Gadget"), scale.of(1_000));
    let api = filled(&kind, objects);
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut reader = manager.registrar("reader")?;
    let _ = reader.add(kind.clone());
    drain(&mut reader, objects).await?;
    let second = manager.registrar("second")?;
    second.add(kind.clone()).ready().await?;
    let mut second = Some(second);
    let mut times = Vec::new();
    for (change, number) in (1..=scale.of(20_000)).zip((0..objects).cycle()) {
        let begun = computed();
        api.apply(&kind, small(number, change));
        applied(&mut reader).await?;
        times.push((computed() - begun) * 1e6);
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
    shutdown.cancel();
    driver.await?;
    Ok(times)
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
