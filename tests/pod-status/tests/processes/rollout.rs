//! Many changes of one policy: what a prober meets, and how long it takes, measured and predicted.
//!
//! `POD_STATUS_CHANGES` sets the number of changes; the default costs less than a minute. The figures in the README are of 200.

use std::collections::BTreeMap;

use crate::cluster::{Cluster, Process, Update, control_plane};
use crate::judgement::{Log, Revision, lies};
use crate::prediction::{self, ends, share};
use crate::prober::{Prober, Request, as_log};

const PODS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn changes() -> usize {
    std::env::var("POD_STATUS_CHANGES").ok().and_then(|changes| changes.parse().ok()).unwrap_or(40)
}

/// The outcome of the changes.
struct Outcome {
    updates: Vec<Update>,
    revisions: Vec<Revision>,
    /// The processes' own logs.
    logs: Vec<Log>,
    requests: Vec<(String, Vec<Request>)>,
}

async fn run(variables: &[&str]) -> Outcome {
    let plane = control_plane().await;
    let cluster = Cluster::new(&plane).await;
    let mut processes: Vec<Process> = Vec::new();
    for id in PODS {
        processes.push(cluster.start(id, 0, variables).await);
    }
    let generation = cluster.update("p").await;
    cluster.enforced("p", generation, &PODS).await;
    let prober = Prober::start(&processes).await;
    for _ in 0..changes() {
        let generation = cluster.update("p").await;
        cluster.enforced("p", generation, &PODS).await;
    }
    let requests = prober.end();
    let logs: Vec<Log> = processes.iter().map(Process::log).collect();
    let (revisions, wrong) = cluster.judge(&plane, &logs).await;
    assert!(wrong.is_empty(), "{:#?}", wrong.first());
    Outcome { updates: cluster.updates(), revisions, logs, requests }
}

impl Outcome {
    /// No request that was sent after `Enforced=True` was judged by an older generation.
    fn is_honest(&self) {
        let probed: Vec<Log> = self.requests.iter().map(|(id, requests)| as_log(id, requests)).collect();
        // `byPod` is compared with the processes' own logs.
        let claims: Vec<Revision> =
            self.revisions.iter().map(|r| Revision { by_pod: Vec::new(), ..r.clone() }).collect();
        let wrong = lies(&claims, &probed, &BTreeMap::new());
        assert!(wrong.is_empty(), "{} requests, such as {:#?}", wrong.len(), wrong.first());
    }

    /// The requests that were judged by a generation before every pod had ingested it.
    fn early(&self) -> usize {
        let is_early = |request: &&Request| {
            request.judged.by.iter().any(|(uid, generation)| {
                let key = (uid.clone(), *generation);
                !self.logs.iter().all(|log| log.ingested.get(&key).is_some_and(|at| *at <= request.answered))
            })
        };
        self.requests.iter().map(|(_, requests)| requests.iter().filter(is_early).count()).sum()
    }

    /// For each change, the seconds until each pod judged by it.
    fn delays(&self) -> Vec<Vec<f64>> {
        let delay = |update: &Update, log: &Log| {
            let by = |generation: Option<&i64>| generation.is_some_and(|by| *by >= update.generation);
            let from = log.judged.partition_point(|judged| judged.time < update.sent);
            let first = log.judged[from..].iter().find(|judged| by(judged.by.get(&update.uid)))?;
            Some(seconds(update.sent, first.time))
        };
        let delays = self.updates[1..]
            .iter()
            .map(|update| self.logs.iter().filter_map(|log| delay(update, log)).collect::<Vec<f64>>());
        delays.filter(|delays| delays.len() == PODS.len()).collect()
    }

    /// The seconds until the status said that each change is enforced.
    fn visible(&self) -> Vec<f64> {
        let visible = self.updates[1..].iter().filter_map(|update| {
            let says = |r: &&Revision| r.uid == update.uid && r.enforced == Some(update.generation);
            Some(seconds(update.sent, self.revisions.iter().find(says)?.answered))
        });
        visible.collect()
    }

    fn print(&self, name: &str) {
        let requests: usize = self.requests.iter().map(|(_, requests)| requests.len()).sum();
        let skew = self.delays().into_iter().map(|delays| {
            let (first, last) = ends(&delays);
            last - first
        });
        println!("{name}: {} changes, {requests} requests, {} early", self.updates.len() - 1, self.early());
        for (what, times) in [("visible", self.visible()), ("switch skew", skew.collect())] {
            let (p50, p99) = (share(&times, 0.5), share(&times, 0.99));
            println!("{name}: {what}: median {p50:.3} s, p99 {p99:.3} s");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_after_enforced_is_judged_by_the_old_policy() {
    let outcome = run(&[]).await;
    outcome.print("immediate");
    outcome.is_honest();
    assert_ne!(outcome.early(), 0, "without coordination the fastest pod is ahead of the slowest");
    let delays = outcome.delays();
    prediction::record(&delays);
    // Of a few changes nothing follows about the quantiles: the recorded ones are compared in `prediction`.
    for quantile in prediction::compare(&delays) {
        assert!(delays.len() < 200 || quantile.agrees_within_its_interval(), "{quantile:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pod_judges_by_a_policy_that_another_has_not_ingested() {
    let outcome = run(&["POD_STATUS_COORDINATED"]).await;
    outcome.print("coordinated");
    outcome.is_honest();
    assert_eq!(outcome.early(), 0);
}

fn seconds(from: u64, to: u64) -> f64 {
    std::time::Duration::from_nanos(to.saturating_sub(from)).as_secs_f64()
}
