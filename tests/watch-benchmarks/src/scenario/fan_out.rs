//! The cost of one more registrar: the processor time in which changes reach nine registrars less the time in which they
//! reach one, by registrar and event. The work that is done once, such as decoding, cancels out. Of all repetitions the
//! least counts: a neighbour on the machine can only add to it.

use anyhow::Result;
use std::sync::Arc;
use tokio::sync::mpsc;
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, EventKind, GroupVersionKind, Registrar, WatchManager};

use super::join::drain;
use super::{Scale, filled, gvk, small};
use crate::figures::{Line, computed, least};

const OTHERS: usize = 8;

/// Measures with 1,000 objects that change.
///
/// # Errors
/// The driver ended.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let (objects, repeat) = (scale.of(1_000), 20);
    let (mut one, mut nine, mut channels) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.rounds {
        one.push(changes(objects, repeat, 1).await?);
        nine.push(changes(objects, repeat, 1 + OTHERS).await?);
        channels.extend((0..repeat).map(|_| channel(objects)));
    }
    let each = (least(&nine) - least(&one)) / OTHERS as f64;
    let line = |what: &str, ours, peer, goal| Line { what: what.to_owned(), ours, unit: "ns", peer, goal };
    Ok(vec![
        line("processor time of an event to the first registrar", least(&one), None, ""),
        line(
            "processor time of an event to each further registrar",
            each,
            Some(("tokio mpsc", least(&channels))),
            "300 ns",
        ),
    ])
}

/// Nanoseconds from a change to its delivery to all registrars, on average in the best of the repetitions.
async fn changes(objects: usize, repeat: usize, registrars: usize) -> Result<f64> {
    let kind = gvk("Gadget");
    let api = filled(&kind, objects);
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut readers = Vec::new();
    for number in 0..registrars {
        let mut registrar = manager.registrar(&format!("registrar-{number}"))?;
        let _ = registrar.add(kind.clone());
        drain(&mut registrar, objects).await?;
        readers.push(registrar);
    }
    let mut times = Vec::new();
    for round in 1..=repeat {
        times.push(one_round(&api, &kind, objects, round, &mut readers).await);
    }
    shutdown.cancel();
    driver.await?;
    Ok(least(&times) * 1e9 / objects as f64)
}

async fn one_round(
    api: &FakeApi,
    kind: &GroupVersionKind,
    objects: usize,
    round: usize,
    readers: &mut [Registrar],
) -> f64 {
    for number in 0..objects {
        api.apply(kind, small(number, round));
    }
    let begun = computed();
    for reader in readers {
        let mut seen = 0_usize;
        while seen < objects {
            let events = reader.next_batch(256).await;
            let applied = events.iter().filter(|event| matches!(event.kind, EventKind::Applied(_))).count();
            seen = seen.saturating_add(applied);
        }
    }
    computed() - begun
}

/// Nanoseconds to send a shared object through a channel and to receive it, without any bookkeeping.
fn channel(objects: usize) -> f64 {
    let shared: Vec<_> = (0..objects).map(|number| Arc::new(small(number, 0))).collect();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let begun = computed();
    for object in &shared {
        // The receiver is alive.
        let _ = sender.send(Arc::clone(object));
    }
    for _ in 0..objects {
        std::hint::black_box(receiver.try_recv().ok());
    }
    (computed() - begun) * 1e9 / objects as f64
}
