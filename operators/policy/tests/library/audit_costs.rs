//! Costs of an audit (processor time, memory, LIST requests), compared with Gatekeeper's manager, and of single changes
//! afterwards.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use crate::cluster::Cluster;
use crate::operator::Operator;

/// Changes of each sort.
const CHANGES: usize = 30;
/// Gatekeeper's own interval, in seconds.
const THEIR_INTERVAL: f64 = 60.0;

/// Processor time and peak memory of a process.
#[derive(Default)]
pub(crate) struct Cost {
    /// Of processor time.
    pub(crate) seconds: f64,
    peak_mebibytes: u64,
}

impl Cost {
    pub(crate) fn of(process: u32) -> Self {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
        let stat = read("stat");
        // The fields after the name, which is in parentheses: utime and stime are the 14th and the 15th of all.
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
        let status = read("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        // Linux reports times in hundredths of a second, whatever its own clock does.
        Self { seconds: (ticks(14) + ticks(15)) / 100.0, peak_mebibytes: kibibytes / 1024 }
    }

    pub(crate) fn since(self, before: &Self) -> Self {
        Self { seconds: self.seconds - before.seconds, ..self }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s of processor time, at most {} MiB", self.seconds, self.peak_mebibytes)
    }
}

/// Lists that the API server has answered, but for those of constraints, which the test asks for all the time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lists {
    requests: f64,
    bytes: f64,
}

impl Lists {
    pub(crate) async fn of(cluster: &Cluster) -> Self {
        let metrics = cluster.must(&["get", "--raw", "/metrics"]).await;
        let sum = |name: &str| {
            let lines = metrics.lines().filter(|line| {
                line.starts_with(name)
                    && line.contains("verb=\"LIST\"")
                    && !line.contains("group=\"constraints.gatekeeper.sh\"")
            });
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Self { requests: sum("apiserver_request_total{"), bytes: sum("apiserver_response_sizes_sum{") }
    }

    pub(crate) fn since(self, before: &Self) -> Self {
        Self { requests: self.requests - before.requests, bytes: self.bytes - before.bytes }
    }
}

impl fmt::Display for Lists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lists of {:.1} MB", self.requests, self.bytes / 1e6)
    }
}

/// The value of a counter of the operator.
fn counter(metrics: &str, name: &str) -> f64 {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or_default()
}

async fn judged(operator: &Operator) -> f64 {
    counter(&operator.metrics().await, "webtroller_audit_objects_judged_total ")
}

/// Measures changes after the first pass: an object a second, an object of the inventory a second, and a
/// constraint. `theirs` is what one run of Gatekeeper's costs.
pub(crate) async fn steady(cluster: &Cluster, operator: &Operator, theirs: &Cost) {
    let process = operator.child.id().unwrap();
    let client = cluster.plane.client().unwrap();
    let params = PatchParams::apply("costs").force();
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let report = |what: &str, cost: f64, judged: f64| {
        let each = 1000.0 * cost / CHANGES as f64;
        println!(
            "{what}: {each:.1} ms of processor time for each second with one change, {judged} objects judged"
        );
    };

    let pods: Api<Pod> = Api::namespaced(client.clone(), "generated");
    let (before, known) = (Cost::of(process), judged(operator).await);
    for number in 0..CHANGES {
        ticks.tick().await;
        let patch = json!({"metadata": {"labels": {"changed": number.to_string()}}});
        pods.patch("generated-7", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    let each = known + CHANGES as f64;
    operator.until_metrics(|text| counter(text, "webtroller_audit_objects_judged_total ") >= each).await;
    let cost = Cost::of(process).since(&before).seconds;
    report("an object", cost, judged(operator).await - known);
    let (ours, rate) = (cost / CHANGES as f64, theirs.seconds / THEIR_INTERVAL.max(theirs.seconds));
    println!(
        "Gatekeeper with its interval: {rate:.3} s of processor time a second, {:.0} times as much",
        rate / ours
    );

    let ingresses: Api<Ingress> = Api::namespaced(client, "generated");
    let (before, known) = (Cost::of(process), judged(operator).await);
    for number in 0..CHANGES {
        ticks.tick().await;
        let rule = json!({"host": format!("h-{}.example.com", number % 2)});
        let ingress = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "changes"},
            "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}, "rules": [rule]},
        });
        ingresses.patch("changes", &params, &Patch::Apply(ingress)).await.unwrap();
    }
    operator.until_metrics(|text| counter(text, "webtroller_audit_objects_judged_total ") > known).await;
    report(
        "an object of the inventory",
        Cost::of(process).since(&before).seconds,
        judged(operator).await - known,
    );

    let (before, known) = (Cost::of(process), judged(operator).await);
    let list = cluster.must(&["get", "k8srequiredlabels", "-o", "json"]).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    let name = list["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    let warn = r#"{"spec": {"enforcementAction": "warn"}}"#;
    cluster.must(&["patch", "k8srequiredlabels", &name, "--type=merge", "-p", warn]).await;
    cluster.agrees(20).await;
    let cost = Cost::of(process).since(&before);
    println!("a constraint: {cost}, {} objects judged", judged(operator).await - known);
}
