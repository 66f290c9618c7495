//! A registrar that joins a kind late: the time until its snapshot is queued, and until it is read. It asks for all
//! objects, for those with a label, for some namespaces, or for a field for which another registrar asks already.

use anyhow::{Result, ensure};
use kube::core::{Expression, GroupVersionKind};
use serde_json::{Value, json};
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, EventKind, Interest, Registrar, WatchManager};

use super::{Scale, gvk};
use crate::figures::{Line, computed, median};
use crate::heap;

/// Measures with 100,000 objects.
///
/// # Errors
/// A snapshot is not complete.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let (kind, count) = (gvk("Gadget"), scale.of(100_000));
    let api = FakeApi::new();
    api.serve(&kind, "gadgets");
    for number in 0..count {
        api.apply(&kind, labelled(number));
    }
    let (manager, driver) = WatchManager::builder_with_source(api).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let (mut first, mut by_field) = (manager.registrar("first")?, manager.registrar("by-field")?);
    let _ = first.add(kind.clone());
    let _ = by_field.add(on_node(&kind));
    drain(&mut first, count).await?;
    drain(&mut by_field, count).await?;
    let mut lines = Vec::new();
    for (what, interest, expected) in interests(&kind, count) {
        lines.extend(join(&manager, scale, what, &interest, expected, count).await?);
    }
    shutdown.cancel();
    driver.await?;
    Ok(lines)
}

/// An object with the labels of a Pod.
fn labelled(number: usize) -> Value {
    json!({"metadata": {"name": format!("object-{number}"), "namespace": format!("namespace-{}", number % 100), "labels": {
            "app.kubernetes.io/name": "web", "app.kubernetes.io/instance": format!("web-{}", number % 1_000),
            "app.kubernetes.io/part-of": "shop", "pod-template-hash": "5d4f9c7b6", "tenth": (number % 10).to_string()}},
        "spec": {"node": "one"}})
}

fn on_node(kind: &GroupVersionKind) -> Interest {
    Interest::new(kind.clone()).fields("spec.node=one")
}

/// The interests that join, and the objects in each.
fn interests(kind: &GroupVersionKind, count: usize) -> [(&'static str, Interest, usize); 5] {
    let all = || Interest::new(kind.clone());
    let labels = |key: &str, value: &str| all().labels(Expression::Equal(key.to_owned(), value.to_owned()));
    let tenths = (0..count).filter(|number| number % 10 == 0).count();
    let hundredths = (0..count).filter(|number| number % 100 == 0).count();
    [
        ("", all(), count),
        (", a label on each", labels("app.kubernetes.io/name", "web"), count),
        (", a label on a tenth", labels("tenth", "0"), tenths),
        (", one of 100 namespaces", all().namespaces(["namespace-0"]), hundredths),
        (", a field", on_node(kind), count),
    ]
}

async fn join(
    manager: &WatchManager,
    scale: Scale,
    what: &str,
    interest: &Interest,
    expected: usize,
    count: usize,
) -> Result<Vec<Line>> {
    let (mut queued, mut read, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..scale.rounds {
        let mut late = manager.registrar(&format!("late-{round}"))?;
        let (before, begun) = (heap::allocated(), computed());
        let handle = late.add(interest.clone());
        handle.ready().await?;
        queued.push((computed() - begun) * 1e3);
        bytes.push((heap::allocated() - before) / expected as f64);
        let begun = computed();
        drain(&mut late, expected).await?;
        read.push((computed() - begun) * 1e3);
    }
    let line = |figure: &str, ours, unit, goal| Line {
        what: format!("late join{what}: {figure} {count} objects"),
        ours,
        unit,
        peer: None,
        goal,
    };
    let mut lines = vec![line("queue", median(&queued), "ms", "50 ms")];
    if what.is_empty() {
        lines.push(line("read", median(&read), "ms", ""));
        lines.push(line("backlog of", median(&bytes), "B/object", "no copies"));
    }
    Ok(lines)
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
