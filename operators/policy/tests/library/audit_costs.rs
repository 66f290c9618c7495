//! Costs of an audit (processor time, memory, requests), compared with Gatekeeper's manager, and of single changes
//! afterwards.

use std::fmt;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::audit::objects_to_generate;
use crate::cluster::Cluster;
use crate::operator::{Operator, PATIENCE, kibibytes};

/// Changes of each sort, one a second; `WEBTROLLER_AUDIT_STEADY_SECONDS` sets it, 30 by default.
fn changes() -> usize {
    std::env::var("WEBTROLLER_AUDIT_STEADY_SECONDS").map_or(30, |count| count.parse().unwrap())
}

/// Processor time and peak memory of a process.
#[derive(Default)]
pub(crate) struct Cost {
    /// Of processor time.
    pub(crate) seconds: f64,
    peak_mebibytes: u64,
    mebibytes: u64,
}

impl Cost {
    pub(crate) fn of(process: u32) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // The fields after the name, which is in parentheses: utime and stime are the 14th and the 15th of all.
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
        let mebibytes = |field| kibibytes(process, field) / 1024;
        // Linux reports times in hundredths of a second, whatever its own clock does.
        Self {
            seconds: (ticks(14) + ticks(15)) / 100.0,
            peak_mebibytes: mebibytes("VmHWM"),
            mebibytes: mebibytes("VmRSS"),
        }
    }

    pub(crate) fn since(self, before: &Self) -> Self {
        Self { seconds: self.seconds - before.seconds, ..self }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, peak_mebibytes, mebibytes } = self;
        write!(f, "{seconds:.1} s of processor time, at most {peak_mebibytes} MiB, now {mebibytes} MiB")
    }
}

/// Requests that the API server has answered, but for lists of constraints, which the test asks for all the time, and
/// discovery.
#[derive(Clone, Copy, Default)]
pub(crate) struct Requests {
    lists: f64,
    /// Of the lists.
    bytes: f64,
    /// Reads of one object, and writes.
    others: f64,
}

impl Requests {
    pub(crate) async fn of(cluster: &Cluster) -> Self {
        let metrics = cluster.must(&["get", "--raw", "/metrics"]).await;
        let sum = |name: &str, accept: &dyn Fn(&str) -> bool| {
            let lines = metrics.lines().filter(|line| line.starts_with(name) && accept(line));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        let is_list = |line: &str| line.contains("verb=\"LIST\"");
        let lists = |line: &str| is_list(line) && !line.contains("group=\"constraints.gatekeeper.sh\"");
        let others = |line: &str| {
            !is_list(line) && !line.contains("verb=\"WATCH\"") && !line.contains("resource=\"\"")
        };
        Self {
            lists: sum("apiserver_request_total{", &lists),
            bytes: sum("apiserver_response_sizes_sum{", &lists),
            others: sum("apiserver_request_total{", &others),
        }
    }

    pub(crate) fn since(self, before: &Self) -> Self {
        Self {
            lists: self.lists - before.lists,
            bytes: self.bytes - before.bytes,
            others: self.others - before.others,
        }
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lists, bytes, others } = self;
        write!(f, "{lists} lists of {:.1} MB and {others} other requests", bytes / 1e6)
    }
}

/// The first pass of the audit, from the start of the process to the last status.
pub(crate) struct Pass {
    took: Duration,
    pub(crate) cost: Cost,
    requests: Requests,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s: {}, {}", self.took.as_secs_f64(), self.cost, self.requests)
    }
}

/// Waits until the audit has judged everything once and the statuses of all constraints say so, from its start.
pub(crate) async fn first_pass(cluster: &Cluster, operator: &Operator, constraints: usize) -> Pass {
    let (began, before) = (Instant::now(), Requests::of(cluster).await);
    let written = async {
        let mut ticks = interval(Duration::from_millis(500));
        loop {
            ticks.tick().await;
            let metrics = operator.metrics().await;
            if counter(&metrics, "gatekeeper_audit_last_run_end_time ") == 0.0 {
                continue;
            }
            let known: f64 = metrics
                .lines()
                .filter(|line| line.starts_with("gatekeeper_violations{"))
                .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
                .sum();
            let statuses = cluster.statuses().await;
            let stored: u64 = statuses.values().map(|(total, _)| total).sum();
            if statuses.len() == constraints && stored as f64 == known {
                return;
            }
        }
    };
    let patience = PATIENCE + Duration::from_millis(20) * u32::try_from(objects_to_generate()).unwrap();
    timeout(patience, written).await.expect("everything must be judged");
    Pass {
        took: began.elapsed(),
        cost: Cost::of(operator.child.id().unwrap()),
        requests: Requests::of(cluster).await.since(&before),
    }
}

/// The value of a counter of the operator.
fn counter(metrics: &str, name: &str) -> f64 {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or_default()
}

async fn judged(operator: &Operator) -> f64 {
    counter(&operator.metrics().await, "webtroller_audit_objects_judged_total ")
}

/// A measurement of a process between two moments.
struct Span<'a> {
    operator: &'a Operator,
    before: Cost,
    judged: f64,
}

impl<'a> Span<'a> {
    async fn begin(operator: &'a Operator) -> Self {
        let process = operator.child.id().unwrap();
        Self { operator, before: Cost::of(process), judged: judged(operator).await }
    }

    /// Waits until so many objects have been judged since.
    async fn until_judged(&self, count: usize) {
        let expected = self.judged + count as f64;
        self.operator
            .until_metrics(|text| counter(text, "webtroller_audit_objects_judged_total ") >= expected)
            .await;
    }

    /// Prints the cost for each of so many seconds, and returns it in seconds.
    async fn end(self, what: &str, seconds: usize) -> f64 {
        let judged = judged(self.operator).await - self.judged;
        let each = Cost::of(self.operator.child.id().unwrap()).since(&self.before).seconds / seconds as f64;
        println!("{what}: {:.2} ms of processor time a second, {judged} objects judged", 1000.0 * each);
        each
    }
}

/// Measures what comes after the first pass: nothing, a change of an object a second, one of an object of the inventory, and
/// one of a constraint. `theirs` is the processor time a second that Gatekeeper takes.
pub(crate) async fn steady(cluster: &Cluster, operator: &Operator, theirs: Option<f64>) {
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let span = Span::begin(operator).await;
    for _ in 0..changes() {
        ticks.tick().await;
    }
    span.end("no change", changes()).await;
    let ours = change_a_pod(cluster, operator, &mut ticks).await;
    if let Some(theirs) = theirs {
        println!(
            "Gatekeeper at its interval: {:.0} ms of processor time a second, {:.0} times as much",
            1000.0 * theirs,
            theirs / ours
        );
    }
    change_an_ingress(cluster, operator, &mut ticks).await;
    change_a_constraint(cluster, operator).await;
    println!("the process: {}", Cost::of(operator.child.id().unwrap()));
}

async fn change_a_pod(cluster: &Cluster, operator: &Operator, ticks: &mut Interval) -> f64 {
    let pods: Api<Pod> = Api::namespaced(cluster.plane.client().unwrap(), "generated");
    let span = Span::begin(operator).await;
    for number in 0..changes() {
        ticks.tick().await;
        let patch = json!({"metadata": {"labels": {"changed": number.to_string()}}});
        pods.patch("generated-7", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    span.until_judged(changes()).await;
    span.end("an object a second", changes()).await
}

async fn change_an_ingress(cluster: &Cluster, operator: &Operator, ticks: &mut Interval) {
    let ingresses: Api<Ingress> = Api::namespaced(cluster.plane.client().unwrap(), "generated");
    let params = PatchParams::apply("costs").force();
    let span = Span::begin(operator).await;
    for number in 0..changes() {
        ticks.tick().await;
        let rule = json!({"host": format!("h-{}.example.com", number % 2)});
        let ingress = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "changes"},
            "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}, "rules": [rule]},
        });
        ingresses.patch("changes", &params, &Patch::Apply(ingress)).await.unwrap();
    }
    span.until_judged(changes()).await;
    span.end("an object of the inventory a second", changes()).await;
}

/// The first matches Namespaces, the second Pods.
async fn change_a_constraint(cluster: &Cluster, operator: &Operator) {
    for kind in ["k8srequiredlabels", "k8scontainerlimits"] {
        let span = Span::begin(operator).await;
        let list = cluster.must(&["get", kind, "-o", "json"]).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        let name = list["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
        let warn = r#"{"spec": {"enforcementAction": "warn"}}"#;
        cluster.must(&["patch", kind, &name, "--type=merge", "-p", warn]).await;
        let generation = cluster.get(&[kind, &name], "{.metadata.generation}").await;
        let audited = "{.status.conditions[?(@.type=='Audited')].observedGeneration}";
        cluster.until(&[kind, &name], audited, &generation).await;
        span.end(&format!("a constraint of {kind}, in all"), 1).await;
    }
}
