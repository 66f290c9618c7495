//! A rolling update of three pods while a policy changes all the time: with one pod more (`maxSurge: 1`) and with one less
//! (`maxSurge: 0`).

use crate::FAULTS;
use crate::cluster::{Cluster, Process, control_plane};
use crate::judgement::Log;

/// The pods that serve, by name, and the processes that have ended.
struct Rollout {
    cluster: Cluster,
    serving: Vec<Process>,
    ended: Vec<Process>,
}

impl Rollout {
    async fn start(&mut self, id: &str) {
        self.serving.push(self.cluster.start(id, FAULTS, &[]).await);
        self.serving.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// The process ends as on SIGTERM, and then the kubelet confirms it.
    async fn stop(&mut self, id: &str) {
        let index = self.serving.iter().position(|process| process.id == id).unwrap();
        let mut process = self.serving.remove(index);
        process.stop();
        self.cluster.delete_pod(id).await;
        self.ended.push(process);
    }

    async fn change(&self) -> i64 {
        self.cluster.update("p0").await
    }

    async fn enforced(&self, generation: i64) {
        let pods: Vec<&str> = self.serving.iter().map(|process| process.id.as_str()).collect();
        self.cluster.enforced("p0", generation, &pods).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_update_while_policies_change_makes_no_status_a_lie() {
    let plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    let mut rollout = Rollout { cluster, serving: Vec::new(), ended: Vec::new() };
    for id in ["a0", "b0", "c0"] {
        rollout.start(id).await;
    }
    let generation = rollout.change().await;
    rollout.enforced(generation).await;
    for (surges, revision) in [(true, 1), (false, 2)] {
        for pod in ["a", "b", "c"] {
            let (old, new) = (format!("{pod}{}", revision - 1), format!("{pod}{revision}"));
            rollout.change().await;
            if surges {
                rollout.start(&new).await;
                rollout.change().await;
                rollout.stop(&old).await;
            } else {
                rollout.stop(&old).await;
                rollout.change().await;
                rollout.start(&new).await;
            }
            let generation = rollout.change().await;
            rollout.enforced(generation).await;
        }
    }
    let logs: Vec<Log> = rollout.serving.iter().chain(&rollout.ended).map(Process::log).collect();
    let (revisions, lies) = rollout.cluster.judge(&plane, &logs).await;
    let claims = revisions.iter().filter(|revision| revision.enforced.is_some()).count();
    println!("{} revisions, {claims} with Enforced=True", revisions.len());
    assert!(claims >= 7 && lies.is_empty(), "{} lies, such as {:#?}", lies.len(), lies.first());
}
