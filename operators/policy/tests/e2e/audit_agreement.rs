//! Tests of the statuses, compared with an audit of the whole cluster by `webtroller audit`, set by set: while
//! everything changes, the process that audits is killed at each of its writes, and the API server goes away. So with
//! the reports.

use std::mem::discriminant;
use std::time::{Duration, Instant};

use control_plane::Component;
use hyper::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{interval, timeout};

use crate::cluster::{Cluster, NAMESPACE};
use crate::fleet::Fleet;
use crate::operator::{Operator, PATIENCE};
use crate::policy_reports::{on_the_command_line, stored};
use crate::scripted::{Fate, Scripted};

const LEASE: [&str; 4] = ["lease", "webtroller-audit", "-n", NAMESPACE];

/// Policies that look at an object, at those with the same label, and at all.
pub(crate) const TEMPLATES: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: needsowner}
spec:
  crd: {spec: {names: {kind: NeedsOwner}, validation: {openAPIV3Schema: {type: object, properties: {label: {type: string}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package needsowner
      violation[{"msg": msg}] {
        not input.review.object.metadata.labels[input.parameters.label]
        msg := sprintf("%v lacks %v", [input.review.object.metadata.name, input.parameters.label])
      }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: uniqueowner}
spec:
  crd: {spec: {names: {kind: UniqueOwner}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package uniqueowner
      violation[{"msg": msg}] {
        other := data.inventory.namespace[namespace][_].ConfigMap[name]
        other.metadata.labels.owner == input.review.object.metadata.labels.owner
        sprintf("%v/%v", [namespace, name]) != sprintf("%v/%v", [input.review.namespace, input.review.name])
        msg := sprintf("%v/%v has the same owner", [namespace, name])
      }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: fewheavy}
spec:
  crd: {spec: {names: {kind: FewHeavy}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package fewheavy
      violation[{"msg": msg}] {
        heavy := count([name | data.inventory.namespace[_][_].ConfigMap[name].metadata.labels.heavy])
        heavy > 1
        input.review.object.metadata.labels.heavy
        msg := sprintf("one of %v heavy ones", [heavy])
      }
"#;

/// The SyncSet of what two of them refer to.
pub(crate) const SYNC: &str = "{apiVersion: syncset.gatekeeper.sh/v1alpha1, kind: SyncSet, metadata: {name: maps}, \
                    spec: {gvks: [{group: '', version: v1, kind: ConfigMap}]}}";

fn constraint(kind: &str, spec: &Value) -> String {
    let kinds = json!([{"apiGroups": [""], "kinds": ["ConfigMap"]}]);
    let mut spec = spec.clone();
    spec["match"]["kinds"] = kinds;
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": "a"}, "spec": spec,
    })
    .to_string()
}

/// A write of the process that audits.
#[derive(Clone, Copy, Debug)]
enum Write {
    Lease,
    Status,
    Report,
    /// A report that is deleted.
    Gone,
}

/// The writes at which it is killed: each before it is carried out, and after.
const POINTS: [(Write, Fate); 8] = [
    (Write::Status, Fate::Stuck),
    (Write::Report, Fate::Unanswered),
    (Write::Gone, Fate::Stuck),
    (Write::Lease, Fate::Unanswered),
    (Write::Status, Fate::Unanswered),
    (Write::Report, Fate::Stuck),
    (Write::Gone, Fate::Unanswered),
    (Write::Lease, Fate::Stuck),
];

impl Write {
    fn of(method: &Method, path: &str) -> Option<Self> {
        let is_report = path.starts_with("/apis/openreports.io/");
        let by_audit = path.contains("fieldManager=webtroller-audit");
        match *method {
            Method::PUT if path.contains("/leases/webtroller-audit") => Some(Self::Lease),
            Method::PATCH if by_audit && path.contains("/status?") => Some(Self::Status),
            Method::PATCH if by_audit && is_report => Some(Self::Report),
            Method::DELETE if is_report => Some(Self::Gone),
            _ => None,
        }
    }
}

/// From the `nth` write of this sort on, what the process that audits writes meets this fate: to the process it is as if it
/// were killed there.
fn stop_at(proxy: &Scripted, write: Write, fate: Fate, nth: usize) -> Receiver<usize> {
    let mut left = nth;
    let hits = proxy.hits();
    proxy.script(move |method, path| match Write::of(method, path) {
        Some(_) if left == 0 => Fate::Stuck,
        Some(of) if discriminant(&of) == discriminant(&write) => {
            left -= 1;
            if left == 0 { fate } else { Fate::Pass }
        }
        _ => Fate::Pass,
    });
    hits
}

/// Everything that is changed at random.
struct Churn {
    random: TestRng,
    maps: Vec<Api<ConfigMap>>,
    namespaces: Api<Namespace>,
    writes: usize,
}

impl Churn {
    fn pick(&mut self, below: u32) -> u32 {
        self.random.next_u32() % below
    }

    /// A change that the API server may refuse while it is away.
    async fn step(&mut self, cluster: &Cluster) {
        self.writes += 1;
        let names = ["n-0", "n-1", "n-2"];
        let place = usize::try_from(self.pick(3)).unwrap();
        let name = format!("m-{}", self.pick(12));
        let params = PatchParams::apply("churn").force();
        match self.pick(21) {
            0 => {
                let label = if self.pick(2) == 0 { json!({"audit": "yes"}) } else { json!({}) };
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names[place], "labels": label}});
                let _ = self.namespaces.patch(names[place], &params, &Patch::Apply(namespace)).await;
            }
            1 => {
                let action = ["warn", "dryrun"][usize::try_from(self.pick(2)).unwrap()];
                let label = ["owner", "heavy"][usize::try_from(self.pick(2)).unwrap()];
                let selector = json!({"namespaceSelector": {"matchLabels": {"audit": "yes"}}});
                let spec =
                    json!({"enforcementAction": action, "parameters": {"label": label}, "match": selector});
                cluster.feed(&["apply", "-f", "-"], &constraint("NeedsOwner", &spec)).await;
            }
            2 => {
                let word = ["lacks", "is without"][usize::try_from(self.pick(2)).unwrap()];
                cluster.feed(&["apply", "-f", "-"], &TEMPLATES.replace("lacks", word)).await;
            }
            3 => {
                let excluded = if self.pick(2) == 0 { vec![names[place]] } else { Vec::new() };
                let config = json!({
                    "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
                    "metadata": {"name": "config", "namespace": NAMESPACE},
                    "spec": {"match": [{"excludedNamespaces": excluded, "processes": ["audit"]}]},
                });
                cluster.feed(&["apply", "-f", "-"], &config.to_string()).await;
            }
            4..=7 => drop(self.maps[place].delete(&name, &DeleteParams::default()).await),
            _ => {
                let mut labels = json!({});
                if self.pick(3) > 0 {
                    labels["owner"] = json!(format!("o-{}", self.pick(5)));
                }
                if self.pick(8) == 0 {
                    labels["heavy"] = json!("yes");
                }
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}});
                drop(self.maps[place].patch(&name, &params, &Patch::Apply(map)).await);
            }
        }
    }
}

/// Seconds of churn; few in CI.
fn seconds() -> u64 {
    std::env::var("WEBTROLLER_AUDIT_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

impl Fleet {
    /// Puts the constraints there as they were at the beginning.
    async fn constrain(&self) {
        for kind in ["NeedsOwner", "UniqueOwner", "FewHeavy"] {
            let mut spec = json!({"enforcementAction": "dryrun"});
            if kind == "NeedsOwner" {
                spec["parameters"] = json!({"label": "owner"});
            }
            self.cluster.apply(&constraint(kind, &spec)).await;
        }
    }

    /// Kills the process that audits.
    async fn kill_auditor(&mut self) -> usize {
        let holder = self.cluster.get(&LEASE, "{.spec.holderIdentity}").await;
        let holds = |pod: &(String, String, _)| holder.starts_with(&format!("{}_", pod.0));
        let index = self.pods.iter().position(holds).expect("a pod holds the lease");
        self.pods[index].2.child.kill().await.unwrap();
        index
    }

    /// Kills it at one of its writes, which the churn makes it do, and lets another take over.
    async fn die_at(&mut self, churn: &mut Churn, (write, fate): (Write, Fate)) {
        let nth = match write {
            Write::Status | Write::Report => 1 + usize::try_from(churn.pick(3)).unwrap(),
            Write::Lease | Write::Gone => 1,
        };
        println!("killed at {write:?} {nth}, {fate:?}");
        let mut hits = stop_at(self.scripted(), write, fate, nth);
        if matches!(write, Write::Gone) {
            self.cluster.must(&["delete", "constraints", "--all"]).await;
        }
        let provoking = async {
            while !hits.has_changed().unwrap() {
                churn.step(&self.cluster).await;
            }
        };
        timeout(PATIENCE, provoking).await.expect("it must write");
        hits.mark_unchanged();
        let index = self.kill_auditor().await;
        self.scripted().script(|_, _| Fate::Pass);
        // At the writes of the Lease itself the others wait until it expires.
        if !matches!(write, Write::Lease) {
            let free = r#"{"spec": {"holderIdentity": ""}}"#;
            let lease = ["patch", "lease", "webtroller-audit", "-n", NAMESPACE, "--type=merge", "-p", free];
            self.cluster.must(&lease).await;
        }
        self.start_again(index).await;
    }

    /// Waits until statuses and reports say what a fresh audit finds.
    async fn agrees(&self) -> Vec<String> {
        let found = self.cluster.agrees(20).await;
        let expected = on_the_command_line(&self.cluster).await;
        let mut last = Vec::new();
        let reading = async {
            let mut ticks = interval(Duration::from_millis(200));
            while last != expected {
                ticks.tick().await;
                last = stored(&self.cluster).await;
            }
        };
        if timeout(PATIENCE, reading).await.is_err() {
            panic!("the reports say {last:#?}, a fresh audit finds {expected:#?}");
        }
        found.iter().map(|(name, (total, _))| format!("{name} {total}")).collect()
    }
}

#[tokio::test]
async fn whatever_changes_and_whoever_is_killed_the_statuses_become_what_a_fresh_audit_finds() {
    let mut fleet = Fleet::start_scripted(&["--policy-reports=openreports"]).await;
    let client = fleet.cluster.plane.client().unwrap();
    for name in ["n-0", "n-1", "n-2"] {
        fleet.cluster.must(&["create", "namespace", name]).await;
    }
    fleet.cluster.apply(SYNC).await;
    fleet.cluster.apply(TEMPLATES).await;
    for template in ["needsowner", "uniqueowner", "fewheavy"] {
        fleet.cluster.enforced(&format!("constrainttemplate/{template}")).await;
    }
    fleet.constrain().await;
    let seed = std::env::var("WEBTROLLER_AUDIT_SOAK_SEED").unwrap_or_else(|_| "0".to_owned());
    let seed: u8 = seed.parse().unwrap();
    let mut churn = Churn {
        random: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
        maps: ["n-0", "n-1", "n-2"].map(|name| Api::namespaced(client.clone(), name)).into(),
        namespaces: Api::all(client.clone()),
        writes: 0,
    };
    let (started, mut rounds, mut deaths) = (Instant::now(), 0, 0);
    while started.elapsed() < Duration::from_secs(seconds()) || deaths < POINTS.len() {
        for _ in 0..40 {
            churn.step(&fleet.cluster).await;
        }
        if rounds % 10 == 1 {
            fleet.cluster.plane.restart(Component::ApiServer).await.unwrap();
        } else {
            let point = POINTS[deaths % POINTS.len()];
            fleet.die_at(&mut churn, point).await;
            deaths += 1;
            if matches!(point.0, Write::Gone) {
                fleet.agrees().await;
                fleet.constrain().await;
            }
        }
        for _ in 0..20 {
            churn.step(&fleet.cluster).await;
        }
        let totals = fleet.agrees().await;
        println!(
            "round {rounds}, {} s, {} writes: {}",
            started.elapsed().as_secs(),
            churn.writes,
            totals.join(", ")
        );
        rounds += 1;
    }
}

/// An API server that has just started refuses what is allowed until it knows the roles.
#[tokio::test]
async fn an_object_that_may_not_be_read_for_a_moment_is_judged_all_the_same() {
    let cluster = Cluster::start().await;
    let proxy = Scripted::start(&cluster.shipped).await;
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let mut operator = Operator::start_with(proxy.kubeconfig(), identity, &[]).await;
    operator.log("webhook registered").await;
    cluster.must(&["create", "namespace", "shop"]).await;
    cluster.apply(SYNC).await;
    cluster.apply(TEMPLATES).await;
    cluster.enforced("constrainttemplate/uniqueowner").await;
    cluster.apply(&constraint("UniqueOwner", &json!({"enforcementAction": "dryrun"}))).await;
    let owned = |name: &str| {
        let metadata = json!({"name": name, "namespace": "shop", "labels": {"owner": "a"}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string()
    };
    cluster.apply(&owned("one")).await;
    cluster.until(&["uniqueowner/a"], "{.status.totalViolations}", "0").await;

    // The second one makes the first one a violation, so the first one is read.
    let mut refusals = 0..2;
    let mut hits = proxy.hits();
    hits.mark_unchanged();
    proxy.script(move |method, path| {
        let reads = *method == Method::GET && path.starts_with("/api/v1/namespaces/shop/configmaps/one");
        if reads && refusals.next().is_some() { Fate::Fail(403, "Forbidden") } else { Fate::Pass }
    });
    cluster.apply(&owned("two")).await;
    cluster.until(&["uniqueowner/a"], "{.status.totalViolations}", "2").await;
    assert!(hits.has_changed().unwrap(), "nothing was refused");
    operator.stop().await;
}
