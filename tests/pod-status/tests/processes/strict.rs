//! A strict rollout: no process judges by an old policy after another has judged by the new one.

use crate::FENCE;
use crate::cluster::{Cluster, Process, control_plane};

const PODS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A judgement by one generation, between two times.
struct Judgement {
    from: u64,
    to: u64,
    generation: i64,
}

fn judgements(process: &Process) -> Vec<Judgement> {
    let parse = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ["ST", from, to, by] = words[..] else { return None };
        let (_, generation) = by.split_once('=')?;
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        Some(Judgement { from, to, generation: generation.parse().ok()? })
    };
    process.lines().lines().filter_map(parse).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_judges_by_an_old_policy_after_another_has_judged_by_the_new_one() {
    let plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    let mut processes: Vec<Process> = Vec::new();
    for id in PODS {
        processes.push(cluster.start(id, 0, &["POD_STATUS_STRICT"]).await);
    }
    let mut last = 0;
    for change in 0..3 {
        last = cluster.update("p").await;
        if change == 1 {
            // The others go on without the last one, which must not judge by the old policy when it is back.
            processes[4].freeze();
            cluster.enforced("p", last, &PODS[..4]).await;
            processes[4].thaw();
        } else {
            cluster.enforced("p", last, &PODS).await;
        }
    }
    let logs: Vec<Vec<Judgement>> = processes.iter().map(judgements).collect();
    for generation in 2..=last {
        let by_newer = logs.iter().flatten().filter(|judgement| judgement.generation >= generation);
        let first = by_newer.map(|judgement| judgement.to).min().unwrap();
        let by_older = logs.iter().flatten().filter(|judgement| judgement.generation < generation);
        let latest = by_older.map(|judgement| judgement.from).max().unwrap_or_default();
        println!(
            "generation {generation}: {} ms after the last older one",
            first.saturating_sub(latest) / 1_000_000
        );
        assert!(latest < first, "generation {generation}: an older one {} ns later", latest - first);
    }
    for (log, id) in logs.iter().zip(PODS) {
        assert!(log.iter().any(|judgement| judgement.generation == last), "{id} has judged by the last one");
        println!("{id}: {} judgements", log.len());
    }
    println!("fence {FENCE:?}");
}
