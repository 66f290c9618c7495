//! Load on the webhook, beside Gatekeeper's on the same cluster with the same policies: requests a second, latency and memory at
//! several numbers of connections, in turns; then in turns with a process that has 500 policies of another kind as well, on a cluster
//! of its own, and a start with all of them.
//!
//! Run it with `--release`, on a machine that does nothing else. Each server has one core, the first, and everything else another one, so
//! that the client and the control plane do not take the time of what is measured. Needs `taskset`.

use std::path::Path;
use std::time::{Duration, Instant};

use admission_server::ServingCertificate;
use control_plane::Component;
use futures::future::join_all;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::audit::pod;
use crate::audit_costs::Cost;
use crate::cluster::Cluster;
use crate::https::{Connection, authority, post};
use crate::start::{add_library, add_others, start};
use crate::{gatekeeper, gatekeeper_process};

/// Connections of each round.
const CONNECTIONS: [usize; 4] = [1, 4, 16, MANY];
const MANY: usize = 64;
/// Rounds of each side, in turns. The pair in the middle is shown, because neighbours use the machine too.
const PAIRS: usize = 5;
/// Different Pods that are asked about.
const PODS: usize = 100;
/// The core of the servers.
const SERVER: &str = "0";

/// Starts a task that never waits. Until it is dropped, it keeps the client's core from halting, because to wake a virtual one takes as
/// long as some reviews do.
fn keep_awake() -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    }))
}

/// Moves all threads of a process to these cores.
fn pin(process: u32, cores: &str) {
    let mut taskset = std::process::Command::new("taskset");
    taskset.args(["--all-tasks", "--pid", "--cpu-list", cores, &process.to_string()]);
    assert!(taskset.output().unwrap().status.success(), "{taskset:?}");
}

/// The last core. The first is that of the servers.
fn last_core() -> usize {
    std::thread::available_parallelism().unwrap().get() - 1
}

/// Duration of a round; `WEBTROLLER_LOAD_SECONDS` sets it, 5 s by default.
fn round() -> Duration {
    Duration::from_secs(
        std::env::var("WEBTROLLER_LOAD_SECONDS").map_or(5, |seconds| seconds.parse().unwrap()),
    )
}

/// A webhook under load.
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: &'a str,
    pub(crate) trusted: &'a ServingCertificate,
    pub(crate) process: u32,
}

/// Result of a round.
pub(crate) struct Round {
    a_second: f64,
    latency: Histogram<u64>,
    cost: Cost,
}

pub(crate) fn reviews() -> Vec<String> {
    let review = |number: usize| {
        let object = pod(number * 7);
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": format!("u-{number}"), "operation": "CREATE", "namespace": "generated", "name": object["metadata"]["name"],
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "somebody"}, "object": object,
            }
        })
        .to_string()
    };
    (0..PODS).map(review).collect()
}

/// The warnings of an answer, in order.
fn warnings(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let mut warnings: Vec<String> =
        serde_json::from_value(answer["response"]["warnings"].clone()).unwrap_or_default();
    warnings.sort();
    warnings
}

impl Target<'_> {
    async fn answers(&self, reviews: &[String]) -> Vec<Vec<String>> {
        let mut connection = Connection::open(self.address, self.trusted).await.unwrap();
        let mut answers = Vec::new();
        for review in reviews {
            answers
                .push(warnings(&connection.send(post("application/json", review.clone())).await.unwrap().2));
        }
        answers
    }

    /// One connection that asks until the end, from another place in the list than its neighbours.
    async fn client(&self, reviews: &[String], begin: usize, end: Instant) -> Histogram<u64> {
        let mut latency = Histogram::new(3).unwrap();
        let mut connection = Connection::open(self.address, self.trusted).await.unwrap();
        for review in reviews.iter().cycle().skip(begin) {
            let sent = Instant::now();
            if sent >= end {
                break;
            }
            let (status, ..) = connection.send(post("application/json", review.clone())).await.unwrap();
            assert_eq!(status, 200, "{}", self.name);
            latency.record(u64::try_from(sent.elapsed().as_micros()).unwrap()).unwrap();
        }
        latency
    }

    pub(crate) async fn load(&self, reviews: &[String], connections: usize, duration: Duration) -> Round {
        let (began, before) = (Instant::now(), Cost::of(self.process));
        let end = began + duration;
        let clients = (0..connections).map(|number| self.client(reviews, number * 7 % PODS, end));
        let mut latency = Histogram::new(3).unwrap();
        for each in join_all(clients).await {
            latency.add(each).unwrap();
        }
        let cost = Cost::of(self.process).since(&before);
        Round { a_second: latency.len() as f64 / began.elapsed().as_secs_f64(), latency, cost }
    }
}

impl Round {
    fn p99(&self) -> f64 {
        self.latency.value_at_quantile(0.99) as f64 / 1e3
    }

    pub(crate) fn show(&self, name: &str) {
        let median = self.latency.value_at_quantile(0.5) as f64 / 1e3;
        println!(
            "  {name}: {:.0} requests a second, median {median:.2} ms, p99 {:.2} ms, {}",
            self.a_second,
            self.p99(),
            self.cost
        );
    }
}

pub(crate) async fn beside_gatekeeper(root: &Path) {
    let cluster = Cluster::start().await;
    for definition in gatekeeper::manifests("CustomResourceDefinition") {
        let answer = cluster.feed(&["apply", "--server-side", "-f", "-"], &definition.to_string()).await;
        assert!(answer.success, "{}", answer.stderr);
    }
    let operator = cluster.operator().await;
    cluster.must(&["create", "namespace", "generated"]).await;
    add_library(&cluster, root).await;
    let served = gatekeeper_process::webhook(&cluster, "gatekeeper-webhook").await;
    let trusted = authority(&cluster).await;
    let ours = Target {
        name: "webtroller",
        address: &operator.webhook,
        trusted: &trusted,
        process: operator.child.id().unwrap(),
    };
    let theirs = Target {
        name: "Gatekeeper",
        address: &served.address,
        trusted: &served.certificate,
        process: served.child.id().unwrap(),
    };
    let reviews = reviews();
    alike(&ours, &theirs, &reviews).await;
    let last = last_core();
    let (all, apart) = (format!("{SERVER}-{last}"), format!("{}-{last}", last.min(1)));
    pin_others(&cluster, &apart);
    for target in [&ours, &theirs] {
        pin(target.process, SERVER);
    }
    let awake = keep_awake();
    for connections in CONNECTIONS {
        paired(&theirs, &ours, &reviews, connections).await;
    }
    drop((served, awake));
    // What is started from here on has all cores at first.
    pin(std::process::id(), &all);
    let larger = Cluster::start().await;
    beside_others(&larger, &ours, &reviews, root, &apart).await;
    operator.stop().await;
    pin_others(&larger, &all);
    start(&larger).await;
}

/// Moves the client and a control plane to these cores.
fn pin_others(cluster: &Cluster, cores: &str) {
    for component in [Component::Etcd, Component::ApiServer, Component::ControllerManager] {
        pin(cluster.plane.process_id(component).unwrap(), cores);
    }
    pin(std::process::id(), cores);
}

/// Fills `larger` with the library and 500 policies of another kind, and loads its operator in turns with `ours`, which has the library
/// alone. A cluster each, so that both exist at the same time: a minute later the same process may be a tenth slower.
async fn beside_others(larger: &Cluster, ours: &Target<'_>, reviews: &[String], root: &Path, apart: &str) {
    let operator = larger.operator().await;
    larger.must(&["create", "namespace", "generated"]).await;
    add_library(larger, root).await;
    add_others(larger).await;
    let trusted = authority(larger).await;
    let with_others = Target {
        name: "with 500 policies of another kind",
        address: &operator.webhook,
        trusted: &trusted,
        process: operator.child.id().unwrap(),
    };
    assert_eq!(with_others.answers(reviews).await, ours.answers(reviews).await);
    pin_others(larger, apart);
    pin(with_others.process, SERVER);
    let awake = keep_awake();
    paired(ours, &with_others, reviews, MANY).await;
    drop(awake);
    operator.stop().await;
}

/// The one in the middle of their order by `of`.
fn middle<T>(mut all: Vec<T>, of: impl Fn(&T) -> f64) -> T {
    all.sort_by(|a, b| of(a).total_cmp(&of(b)));
    all.swap_remove(all.len() / 2)
}

/// Loads both in turns, and shows the pair in the middle.
async fn paired(theirs: &Target<'_>, ours: &Target<'_>, reviews: &[String], connections: usize) {
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let one = theirs.load(reviews, connections, round()).await;
        pairs.push((one, ours.load(reviews, connections, round()).await));
    }
    let times = |(one, other): &(Round, Round)| other.a_second / one.a_second;
    let all: Vec<_> = pairs.iter().map(|pair| format!("{:.2}", times(pair))).collect();
    let pair = middle(pairs, times);
    let (one, other) = &pair;
    println!(
        "{connections} connections: {:.2} times the requests (in turn {}), p99 1/{:.1}",
        times(&pair),
        all.join(", "),
        one.p99() / other.p99()
    );
    one.show(theirs.name);
    other.show(ours.name);
}

/// Waits until Gatekeeper has what is in force here, which it does not report, and compares all answers.
async fn alike(ours: &Target<'_>, theirs: &Target<'_>, reviews: &[String]) {
    let expected = ours.answers(reviews).await;
    assert!(expected.iter().any(|warnings| warnings.len() > 3), "{expected:?}");
    let comparing = async {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        while theirs.answers(reviews).await != expected {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(crate::operator::PATIENCE, comparing).await.expect("both must warn of the same");
}
