//! Three operator processes, each with its own Pod, its own way to the API server and its own wrong clock, behind a
//! balancer.

use std::path::PathBuf;
use std::time::Duration;

use control_plane::Component;
use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::balancer::Balancer;
use crate::clock::Clocks;
use crate::cluster::{Cluster, NAMESPACE};
use crate::https::{Connection, authority, post};
use crate::operator::{Operator, PATIENCE};
use crate::prober::{Prober, constraint, template};
use crate::proxy::Proxy;
use crate::scripted::Scripted;

pub(crate) const PODS: usize = 3;
const CONFIGURATION: &str = "validatingwebhookconfiguration/gatekeeper-validating-webhook-configuration";
/// The advance of each pod's clock, in seconds: nothing may depend on the time of day.
const AHEAD: [i64; PODS] = [0, 2 * 60 * 60, -2 * 60 * 60];

/// The processes, and the number of Pods that there have been.
pub(crate) struct Fleet {
    pub(crate) cluster: Cluster,
    /// Between each pod and the API server.
    pub(crate) proxies: Vec<Proxy>,
    /// In the place of these proxies, if there is one.
    scripted: Option<Scripted>,
    balancer: Balancer,
    clocks: Clocks,
    /// Arguments of all processes.
    args: Vec<&'static str>,
    pub(crate) pods: Vec<(String, String, Operator)>,
}

impl Fleet {
    /// Starts all processes at the same time on an empty cluster.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// As [`Fleet::start`], with more arguments.
    pub(crate) async fn start_with(args: &[&'static str]) -> Self {
        Self::start_on(Cluster::start().await, args).await
    }

    /// As [`Fleet::start_with`], with a proxy that follows a script.
    pub(crate) async fn start_scripted(args: &[&'static str]) -> Self {
        let cluster = Cluster::start().await;
        let scripted = Scripted::start(&cluster.shipped).await;
        Self::around(cluster, Some(scripted), args).await
    }

    /// As [`Fleet::start_with`], on a cluster that need not be empty.
    pub(crate) async fn start_on(cluster: Cluster, args: &[&'static str]) -> Self {
        Self::around(cluster, None, args).await
    }

    /// Starts all processes; the balancer does not know them yet.
    pub(crate) async fn start_unreachable() -> Self {
        Self::launched(Cluster::start().await, None, &[]).await
    }

    async fn around(cluster: Cluster, scripted: Option<Scripted>, args: &[&'static str]) -> Self {
        let mut fleet = Self::launched(cluster, scripted, args).await;
        fleet.balance().await;
        fleet
    }

    async fn launched(cluster: Cluster, scripted: Option<Scripted>, args: &[&'static str]) -> Self {
        let proxies = (0..PODS).map(|_| Proxy::start(&cluster.shipped));
        let (proxies, balancer) = (join_all(proxies).await, Balancer::start().await);
        let (clocks, args) = (Clocks::build(), args.to_vec());
        let mut fleet = Self { cluster, proxies, scripted, balancer, clocks, args, pods: Vec::new() };
        let mut identities = vec![("webtroller-0".to_owned(), fleet.cluster.pod_uid.clone())];
        for index in 1..PODS {
            let name = format!("webtroller-{index}");
            let uid = fleet.cluster.pod(&name).await;
            identities.push((name, uid));
        }
        let starts = identities.iter().enumerate().map(|(index, (name, uid))| fleet.launch(index, name, uid));
        let operators = join_all(starts).await;
        for ((name, uid), operator) in identities.into_iter().zip(operators) {
            fleet.pods.push((name, uid, operator));
        }
        fleet
    }

    async fn launch(&self, index: usize, name: &str, uid: &str) -> Operator {
        let kubeconfig =
            self.scripted.as_ref().map_or_else(|| self.proxies[index].kubeconfig(), Scripted::kubeconfig);
        let environment = self.clocks.ahead(AHEAD[index]);
        let (identity, host) = ([name, NAMESPACE, uid], &self.balancer.address);
        let mut operator = Operator::launch_in(&environment, kubeconfig, identity, host, &self.args).await;
        operator.webhook = operator.log("serving").await["webhook"].as_str().unwrap().to_owned();
        operator
    }

    /// Tells the balancer where the pods are, and waits until they are ready.
    pub(crate) async fn balance(&mut self) {
        self.balancer.set(&self.pods.iter().map(|(_, _, operator)| operator).collect::<Vec<_>>());
        for (_, _, operator) in &self.pods {
            operator.until_readyz(|code, _| code == 200).await;
        }
    }

    /// Starts a process again as the same Pod.
    async fn restart(&mut self, index: usize, prober: &mut Prober) {
        self.start_again(index).await;
        let (name, _, operator) = &self.pods[index];
        prober.ask(name, &operator.webhook);
    }

    /// Starts a process as one more Pod, with its own way to the API server. The balancer does not know it.
    pub(crate) async fn join(&self, name: &str, kubeconfig: PathBuf) -> Operator {
        let uid = self.cluster.pod(name).await;
        Operator::launch_with(kubeconfig, [name, NAMESPACE, &uid], &self.balancer.address, &self.args).await
    }

    /// SIGKILL for all processes at once.
    pub(crate) async fn kill_all(&mut self) {
        for (_, _, operator) in &mut self.pods {
            operator.child.kill().await.unwrap();
        }
    }

    /// Starts all processes again as the same Pods, at the same time.
    pub(crate) async fn start_all_again(&mut self) {
        self.launch_all_again().await;
        self.balance().await;
    }

    /// As [`Fleet::start_all_again`], up to the moment when they say where they serve.
    pub(crate) async fn launch_all_again(&mut self) {
        let starts =
            self.pods.iter().enumerate().map(|(index, (name, uid, _))| self.launch(index, name, uid));
        let operators = join_all(starts).await;
        for ((_, _, old), operator) in self.pods.iter_mut().zip(operators) {
            *old = operator;
        }
    }

    /// As [`Fleet::restart`], of pods without requests.
    pub(crate) async fn start_again(&mut self, index: usize) {
        let (name, uid, _) = &self.pods[index];
        let operator = self.launch(index, name, uid).await;
        self.pods[index].2 = operator;
        self.balance().await;
    }

    /// Waits until the pod that aggregates has the template and the constraint enforced everywhere, in its gauges and on
    /// its page. The gauges of the others are 0.
    async fn one_pod_knows_that_all_is_enforced(&self) {
        let all = async {
            let mut ticks = interval(Duration::from_millis(200));
            loop {
                ticks.tick().await;
                let metrics = join_all(self.pods.iter().map(|(_, _, operator)| operator.metrics())).await;
                let known: Vec<_> =
                    metrics.iter().map(|metrics| ROLLOUT.map(|name| gauge(metrics, name))).collect();
                let is_none = |gauges: &[Option<&str>; 5]| gauges.iter().flatten().all(|value| *value == "0");
                let mut knowing = known.iter().enumerate().filter(|(_, gauges)| !is_none(gauges));
                let (Some((index, gauges)), None) = (knowing.next(), knowing.next()) else { continue };
                if *gauges == ["1", "1", "0", "0", "0"].map(Some) {
                    return self.pods[index].2.page().await;
                }
            }
        };
        let page = timeout(PATIENCE, all).await.expect("the rollout must be in the gauges of one pod");
        assert!(page.contains("<p>2 of 2 enforced everywhere</p>"), "{page}");
    }

    /// The proxy of a fleet that was started with one.
    pub(crate) fn scripted(&self) -> &Scripted {
        self.scripted.as_ref().expect("a scripted fleet")
    }

    /// The answer of each pod to this AdmissionReview, after its name.
    pub(crate) async fn ask_each(&self, review: &str) -> Vec<String> {
        let trusted = authority(&self.cluster).await;
        let mut answers = Vec::new();
        for (name, _, operator) in &self.pods {
            let mut connection = Connection::open(&operator.webhook, &trusted).await.unwrap();
            let (_, _, body) = connection.send(post("application/json", review.to_owned())).await.unwrap();
            answers.push(format!("{name}: {body}"));
        }
        answers
    }

    async fn prober(&self) -> Prober {
        let mut prober = Prober::start(&self.cluster, authority(&self.cluster).await).await;
        for (name, _, operator) in &self.pods {
            prober.ask(name, &operator.webhook);
        }
        prober
    }
}

/// Keeps the pods from registering the webhook, so that objects can be written that it would refuse.
pub(crate) async fn unregister(cluster: &Cluster) {
    let out = r#"{"metadata": {"annotations": {"webtroller.dev/uninstalled": "true"}}, "webhooks": []}"#;
    cluster.must(&["patch", CONFIGURATION, "--type=merge", "-p", out]).await;
}

/// Lets the pods register the webhook, and waits for that.
pub(crate) async fn register(cluster: &Cluster) {
    cluster.must(&["delete", CONFIGURATION]).await;
    cluster.must(&["wait", "--for=create", "--timeout=120s", CONFIGURATION]).await;
}

/// The gauges of the high-water marks of one template and its constraint.
const ROLLOUT: [&str; 5] = [
    r#"pod_status_parents{group="templates.gatekeeper.sh",kind="ConstraintTemplate",state="enforced"}"#,
    r#"pod_status_parents{group="constraints.gatekeeper.sh",kind="Numbered",state="enforced"}"#,
    r#"pod_status_parents{group="constraints.gatekeeper.sh",kind="Numbered",state="waiting"}"#,
    r#"pod_status_oldest_waiting_seconds{group="constraints.gatekeeper.sh",kind="Numbered"}"#,
    r#"pod_status_oldest_waiting_pods{group="constraints.gatekeeper.sh",kind="Numbered"}"#,
];

/// The value of a gauge in the Prometheus text format.
fn gauge<'a>(metrics: &'a str, name: &str) -> Option<&'a str> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// Returns true if an event of the audit log is of an operator.
pub(crate) fn is_operator(event: &Value) -> bool {
    let agent = event["userAgent"].as_str().unwrap_or_default();
    !["kubectl", "kube-controller-manager", "kube-apiserver"].iter().any(|other| agent.starts_with(other))
}

/// Counts the writes of the operators to objects of `resource`, by name.
fn writes(cluster: &Cluster, resource: &str) -> std::collections::BTreeMap<String, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for event in cluster.plane.audit_log().unwrap() {
        let is_write = ["create", "update", "patch", "delete"].iter().any(|verb| event["verb"] == **verb);
        let of_resource =
            event["objectRef"]["resource"] == resource && event["objectRef"]["subresource"] == Value::Null;
        if is_write && of_resource && is_operator(&event) {
            let name = event["objectRef"]["name"].as_str().unwrap_or_default().to_owned();
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}

#[tokio::test]
async fn pods_that_start_together_on_an_empty_cluster_write_each_object_at_most_once_each() {
    let fleet = Fleet::start().await;
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.enforced("constrainttemplate/numbered").await;
    fleet.cluster.apply(&constraint(1)).await;
    fleet.cluster.enforced("numbered/a").await;
    for resource in ["customresourcedefinitions", "validatingwebhookconfigurations", "secrets"] {
        let counts = writes(&fleet.cluster, resource);
        println!("{resource}: {counts:?}");
        assert!(!counts.is_empty() && counts.values().all(|count| *count <= PODS), "{resource}: {counts:?}");
    }
    fleet.one_pod_knows_that_all_is_enforced().await;
    let restarted = writes(&fleet.cluster, "customresourcedefinitions");
    let mut fleet = fleet;
    let mut prober = fleet.prober().await;
    let (_, _, first) = fleet.pods.remove(0);
    let identity = ("webtroller-0".to_owned(), fleet.cluster.pod_uid.clone());
    first.stop().await;
    let operator = fleet.launch(0, &identity.0, &identity.1).await;
    prober.ask(&identity.0, &operator.webhook);
    fleet.pods.insert(0, (identity.0, identity.1, operator));
    fleet.balance().await;
    let name = "numbered.constraints.gatekeeper.sh";
    let after = writes(&fleet.cluster, "customresourcedefinitions");
    assert_eq!(after[name], restarted[name], "a restart writes no constraint CRD");
}

/// Policy changes to make; in CI as many as follow one fault of each kind.
fn changes() -> u64 {
    std::env::var("WEBTROLLER_POLICY_CHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

/// Changes that follow each fault, one upon the other.
const IN_A_ROW: u64 = 5;

impl Fleet {
    /// Injects the fault of this round. Returns the pod that it has frozen, if it has.
    async fn fault(&mut self, round: u64, prober: &mut Prober) -> Option<usize> {
        let index = usize::try_from(round).unwrap() % PODS;
        match round % 6 {
            1 => {
                self.pods[index].2.signal("-STOP");
                self.balancer.left(&self.pods[index].2).await;
                return Some(index);
            }
            2 => {
                self.pods[index].2.child.kill().await.unwrap();
                self.restart(index, prober).await;
            }
            4 => {
                self.pods[index].2.terminate();
                self.pods[index].2.child.wait().await.unwrap();
                self.restart(index, prober).await;
            }
            3 => {
                self.cluster.plane.pause(Component::Etcd).unwrap();
                prober.more_answers(300).await;
                self.cluster.plane.resume(Component::Etcd).unwrap();
            }
            5 if round % 12 == 5 => self.cluster.plane.restart(Component::ApiServer).await.unwrap(),
            5 => self.cluster.plane.restart(Component::Etcd).await.unwrap(),
            _ => self.proxies.iter().for_each(|proxy| proxy.lose(10)),
        }
        None
    }
}

#[tokio::test]
async fn what_is_said_to_be_enforced_is_what_every_pod_answers_whatever_fails() {
    let mut fleet = Fleet::start().await;
    let mut numbers = (1, 1);
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.enforced("constrainttemplate/numbered").await;
    fleet.cluster.apply(&constraint(1)).await;
    let mut prober = fleet.prober().await;
    prober.enforced(numbers).await;
    for round in 1..=changes().div_ceil(IN_A_ROW) {
        println!("fault {round}");
        let frozen = fleet.fault(round, &mut prober).await;
        for change in (round - 1) * IN_A_ROW..round * IN_A_ROW {
            let policy = if change % 4 == 0 {
                numbers.1 = change + 2;
                template(numbers.1)
            } else {
                numbers.0 = change + 2;
                constraint(numbers.0)
            };
            fleet.cluster.apply(&policy).await;
        }
        if let Some(index) = frozen {
            // Nothing can be promised while a pod that may answer has not been notified of it.
            fleet.pods[index].2.signal("-CONT");
        }
        prober.enforced(numbers).await;
    }
    let (answers, lies) = prober.lies();
    println!("{} policy changes, {answers} answers, {} lies", changes(), lies.len());
    assert!(answers > 100 && lies.is_empty(), "{} of {answers} answers: {:?}", lies.len(), lies.first());
}

/// The answers of the API server to one client.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) refused: usize,
    pub(crate) admitted: usize,
    pub(crate) wrongly_admitted: usize,
    pub(crate) failed: Vec<String>,
}

pub(crate) async fn load(api: Api<ConfigMap>, end: CancellationToken) -> Load {
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let object = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let mut load = Load::default();
    while !end.is_cancelled() {
        match api.create(&parameters, &object("forbidden")).await {
            Ok(_) => load.wrongly_admitted += 1,
            Err(kube::Error::Api(status)) if status.message.contains("numbers=") => load.refused += 1,
            Err(error) => load.failed.push(error.to_string()),
        }
        match api.create(&parameters, &object("allowed")).await {
            Ok(_) => load.admitted += 1,
            Err(error) => load.failed.push(error.to_string()),
        }
    }
    load
}

#[tokio::test]
async fn a_rolling_restart_under_load_fails_no_request_and_admits_none_wrongly() {
    let mut fleet = Fleet::start().await;
    fleet.cluster.apply(&template(1)).await;
    fleet.cluster.enforced("constrainttemplate/numbered").await;
    fleet.cluster.apply(&constraint(1)).await;
    fleet.cluster.enforced("numbered/a").await;
    let end = CancellationToken::new();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let api = Api::namespaced(fleet.cluster.plane.client().unwrap(), "default");
            tokio::spawn(load(api, end.clone()))
        })
        .collect();
    for index in 0..PODS {
        let name = format!("webtroller-{}", PODS + index);
        let uid = fleet.cluster.pod(&name).await;
        let operator = fleet.launch(index, &name, &uid).await;
        fleet.pods.push((name, uid, operator));
        fleet.balance().await;
        let (name, _, old) = fleet.pods.remove(0);
        // Its connections end by themselves; the balancer sees that it is no longer ready.
        old.stop().await;
        fleet.balance().await;
        fleet.cluster.must(&["delete", "pod", &name, "-n", NAMESPACE, "--force", "--grace-period=0"]).await;
    }
    end.cancel();
    let mut total = Load::default();
    for client in clients {
        let one = client.await.unwrap();
        total.refused += one.refused;
        total.admitted += one.admitted;
        total.wrongly_admitted += one.wrongly_admitted;
        total.failed.extend(one.failed);
    }
    println!("{} refused, {} admitted", total.refused, total.admitted);
    assert!(total.wrongly_admitted == 0 && total.failed.is_empty() && total.refused > 100, "{total:?}");
}
