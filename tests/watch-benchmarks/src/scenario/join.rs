//! A registrar that joins a kind late: the time until its snapshot is queued, and until it is read.

use anyhow::{Result, ensure};
use watch_manager::{EventKind, Registrar, WatchManager};

use super::{Scale, filled, gvk};
use crate::figures::{Line, computed, median};
use crate::heap;

/// Measures with 100,000 objects.
///
/// # Errors
/// A snapshot is not complete.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let (kind, count) = (gvk("Gadget"), scale.of(100_000));
    let (manager, driver) = WatchManager::builder_with_source(filled(&kind, count)).build();
    let driver = tokio::spawn(driver);
    let mut first = manager.registrar("first")?;
    let _ = first.add(kind.clone());
    drain(&mut first, count).await?;
    let (mut queued, mut read, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..scale.rounds {
        let mut late = manager.registrar(&format!("late-{round}"))?;
        let (before, begun) = (heap::allocated(), computed());
        let handle = late.add(kind.clone());
        handle.ready().await?;
        queued.push((computed() - begun) * 1e3);
        bytes.push((heap::allocated() - before) / count as f64);
        let begun = computed();
        drain(&mut late, count).await?;
        read.push((computed() - begun) * 1e3);
    }
    manager.shutdown();
    driver.await?;
    let line = |what: &str, ours, unit, goal| Line {
        what: format!("{what} {count} objects"),
        ours,
        unit,
        peer: None,
        goal,
    };
    Ok(vec![
        line("late join: queue", median(&queued), "ms", "50 ms"),
        line("late join: read", median(&read), "ms", ""),
        line("late join: backlog of", median(&bytes), "B/object", "no copies"),
    ])
}

/// Reads until the end of the snapshot.
pub(super) async fn drain(registrar: &mut Registrar, count: usize) -> Result<()> {
    let mut seen = 0_usize;
    loop {
        for event in registrar.next_batch(1024).await {
            match event.kind {
                EventKind::Applied(_) => seen = seen.saturating_add(1),
                EventKind::Synced => {
                    ensure!(seen == count, "{seen} of {count} objects");
                    return Ok(());
                }
                _ => {}
            }
        }
    }
}
