//! Reporter processes on a real API server, with faults: what they judged by against every revision of every status.
//!
//! Each process (`child`) logs every judgement; it reaches the API server through a proxy of its own (`proxy`) that
//! refuses requests, leaves them unanswered, and cuts the process off. `revisions` has every revision of every policy,
//! by a watch and the API server's audit log. `judgement` compares the two: after a revision with `Enforced=True` for a generation no process
//! judges by an older one, and no entry of `byPod` is ahead of its pod.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

mod child;
mod cluster;
mod hangs;
mod judgement;
mod prediction;
mod prober;
mod proxy;
mod revisions;
mod rolling;
mod rollout;
mod strict;

use std::time::{Duration, Instant};

use control_plane::{Component, ControlPlane};

use cluster::{Cluster, Process, control_plane};
use judgement::Log;

/// A process that is cut off or frozen judges no more after this long, and `Enforced` does without it 1.4 s later.
const FENCE: Duration = Duration::from_secs(4);
/// One of so many requests of each process fails.
const FAULTS: u64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn statuses_tell_the_truth_while_processes_and_requests_fail() {
    let mut plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    // No garbage collector: nothing may depend on it.
    plane.stop(Component::ControllerManager).await.unwrap();
    for name in ["p0", "p1", "p2"] {
        cluster.update(name).await;
    }
    let mut processes: Vec<Process> = Vec::new();
    for id in ["a", "b", "c", "d", "e"] {
        processes.push(cluster.start(id, FAULTS, &[]).await);
    }
    let second = cluster.second_aggregator(&[]);
    phase("five processes, two aggregators", async {
        for _ in 0..3 {
            update_all(&cluster, &["a", "b", "c", "d", "e"]).await;
        }
    })
    .await;
    phase("one killed, one frozen, both Pods deleted by force", lose_two(&cluster, &mut processes)).await;
    phase("one container restarts during an update", restart(&cluster, &mut processes)).await;
    phase("one frozen, one cut off, both come back", fence_two(&cluster, &mut processes)).await;
    second.abort();
    phase("a policy is deleted and created again", async {
        let generation = cluster.recreate("p0").await;
        cluster.enforced("p0", generation, &["b", "c", "e"]).await;
    })
    .await;
    phase("the API server is killed and starts again", restart_api_server(&mut plane, &cluster)).await;
    phase("one joins", async {
        processes.push(cluster.start("f", FAULTS, &[]).await);
        update_all(&cluster, &["b", "c", "e", "f"]).await;
    })
    .await;

    let logs: Vec<Log> = processes.iter().map(Process::log).collect();
    let (revisions, lies) = cluster.judge(&plane, &logs).await;
    let unanswered = cluster.hangs.kinds();
    println!("one of each was not answered: {unanswered:?}");
    for kind in ["LIST podreports", "WATCH podreports", "GET policies", "PATCH policies/status"] {
        assert!(unanswered.iter().any(|known| known == kind), "{kind}: {unanswered:?}");
    }
    let judged: usize = logs.iter().map(|log| log.judged.len()).sum();
    let claims = revisions.iter().filter(|revision| revision.enforced.is_some()).count();
    println!("{judged} judgements, {} revisions, {claims} with Enforced=True", revisions.len());
    assert!(judged > 1000 && claims >= 20, "the processes have judged and been judged");
    assert!(lies.is_empty(), "{} lies, such as {:#?}", lies.len(), lies.first());
}

/// Every reporter is killed, and with them every aggregator. One that begins later says so in the statuses of all
/// policies that its host knows, also of one that no report is about any more; then a pod joins.
#[tokio::test(flavor = "multi_thread")]
async fn the_statuses_of_policies_whose_reporters_have_all_vanished_say_so() {
    let mut plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    plane.stop(Component::ControllerManager).await.unwrap();
    let mut processes: Vec<Process> = Vec::new();
    for id in ["a", "b", "c"] {
        processes.push(cluster.start(id, FAULTS, &[]).await);
    }
    let (before, other) = (cluster.update("p0").await, cluster.update("p1").await);
    for (name, generation) in [("p0", before), ("p1", other)] {
        cluster.enforced(name, generation, &["a", "b", "c"]).await;
    }
    processes.iter_mut().for_each(Process::kill);
    // The third Pod object stays, as on a node whose kubelet has not reported the dead process.
    for id in ["a", "b"] {
        cluster.delete_pod(id).await;
    }
    let after = cluster.update("p0").await;
    let _aggregator = cluster.second_aggregator(&["p0", "p1"]);
    for (name, generation) in [("p0", after), ("p1", other)] {
        cluster.is_said(name, ("Unknown", "NoPods"), generation, &[]).await;
    }
    processes.push(cluster.start("d", FAULTS, &[]).await);
    for (name, generation) in [("p0", after), ("p1", other)] {
        cluster.enforced(name, generation, &["d"]).await;
    }
    let logs: Vec<Log> = processes.iter().map(Process::log).collect();
    let (_, lies) = cluster.judge(&plane, &logs).await;
    assert!(lies.is_empty(), "{} lies, such as {:#?}", lies.len(), lies.first());
}

/// The comparison finds the lie when a process answers without asking for its permit.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ignores_its_fence_is_found_out() {
    let plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    let generation = cluster.update("p0").await;
    let honest = cluster.start("a", 0, &[]).await;
    let liar = cluster.start("b", 0, &["POD_STATUS_LIAR"]).await;
    cluster.enforced("p0", generation, &["a", "b"]).await;
    liar.freeze();
    let generation = cluster.update("p0").await;
    cluster.enforced("p0", generation, &["a"]).await;
    let before = liar.log().judged.len();
    liar.thaw();
    liar.until(|log| log.judged.len() > before).await;
    let (_, lies) = cluster.judge(&plane, &[honest.log(), liar.log()]).await;
    assert!(lies.iter().any(|lie| lie.revision.enforced == Some(generation)), "{lies:?}");
    assert!(lies.iter().all(|lie| lie.pod == "b"), "{lies:?}");
}

async fn phase(name: &str, work: impl Future<Output = ()>) {
    let began = Instant::now();
    work.await;
    println!("{:5.1} s  {name}", began.elapsed().as_secs_f64());
}

/// Changes every policy, and waits until these pods enforce them.
async fn update_all(cluster: &Cluster, pods: &[&str]) {
    for name in ["p0", "p1", "p2"] {
        let generation = cluster.update(name).await;
        cluster.enforced(name, generation, pods).await;
    }
}

/// SIGKILL and SIGSTOP; the Pod objects are deleted without waiting for the kubelet. `Enforced` becomes true without
/// them, not before they must have fenced themselves; the one that goes on judges nothing more.
async fn lose_two(cluster: &Cluster, processes: &mut [Process]) {
    processes[0].kill();
    processes[3].freeze();
    for id in ["a", "d"] {
        cluster.delete_pod(id).await;
    }
    let generation = cluster.update("p0").await;
    cluster.enforced("p0", generation, &["b", "c", "e"]).await;
    let before = processes[3].log().judged.len();
    processes[3].thaw();
    update_all(cluster, &["b", "c", "e"]).await;
    assert_eq!(processes[3].log().judged.len(), before, "a process that is left over judges nothing");
}

async fn restart(cluster: &Cluster, processes: &mut Vec<Process>) {
    processes[1].kill();
    let generation = cluster.update("p1").await;
    let again = cluster.restart(&processes[1], FAULTS).await;
    cluster.enforced("p1", generation, &["b", "c", "e"]).await;
    processes.push(again);
}

/// Neither Pod is deleted: `Enforced` becomes true without the two all the same, and they are members again when they
/// have renewed their registrations and listed the policies.
async fn fence_two(cluster: &Cluster, processes: &mut [Process]) {
    processes[2].freeze();
    processes[4].cut(true);
    let generation = cluster.update("p2").await;
    cluster.enforced("p2", generation, &["b"]).await;
    processes[2].thaw();
    processes[4].cut(false);
    cluster.enforced("p2", generation, &["b", "c", "e"]).await;
    update_all(cluster, &["b", "c", "e"]).await;
    for process in [&processes[2], &processes[4]] {
        let last = process.log().judged.len();
        process.until(|log| log.judged.len() > last).await;
    }
}

async fn restart_api_server(plane: &mut ControlPlane, cluster: &Cluster) {
    plane.kill(Component::ApiServer);
    plane.restart(Component::ApiServer).await.unwrap();
    update_all(cluster, &["b", "c", "e"]).await;
}

/// Runs as a reporter if the environment asks for it.
#[test]
fn child_process() {
    if let Some(log) = std::env::var_os("POD_STATUS_CHILD_LOG") {
        child::run(&log);
    }
}
