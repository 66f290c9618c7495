//! Three operator processes, each with its own Pod, behind a balancer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control_plane::Component;
use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, NAMESPACE};
use crate::https::authority;
use crate::operator::{Operator, PATIENCE, readyz};
use crate::prober::{Prober, constraint, template};
use crate::proxy::Proxy;

const PODS: usize = 3;
/// As in the chart, but for the length of the test: what is slower than this does not run.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// One pod's addresses, and whether the balancer sends requests there.
#[derive(Clone)]
struct Backend {
    webhook: String,
    health: String,
    ready: bool,
    /// Ends the connections to a pod whose health port does not answer at all.
    cut: CancellationToken,
}

/// Sends each connection to one of the ready pods in turn, as a Service does.
struct Balancer {
    address: String,
    backends: Arc<Mutex<Vec<Backend>>>,
    _tasks: JoinSet<()>,
}

impl Balancer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let backends = Arc::<Mutex<Vec<Backend>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(balance(listener, backends.clone()));
        tasks.spawn(check(backends.clone()));
        Self { address, backends, _tasks: tasks }
    }

    fn set(&self, operators: &[&Operator]) {
        let mut backends = self.backends.lock().unwrap();
        let known = |operator: &Operator| backends.iter().find(|known| known.webhook == operator.webhook);
        let backend = |operator: &&Operator| {
            let fresh = || Backend {
                webhook: operator.webhook.clone(),
                health: operator.health.clone(),
                ready: false,
                cut: CancellationToken::new(),
            };
            known(operator).cloned().unwrap_or_else(fresh)
        };
        *backends = operators.iter().map(backend).collect();
    }
}

impl Balancer {
    /// Waits until nothing is sent to a pod that does not answer its probes any more, and its connections are cut.
    async fn left(&self, operator: &Operator) {
        let is_ready = || {
            let backends = self.backends.lock().unwrap();
            backends.iter().any(|known| known.webhook == operator.webhook && known.ready)
        };
        let looking = async {
            let mut ticks = interval(Duration::from_millis(50));
            while is_ready() {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, looking).await.expect("the probes must notice");
    }
}

async fn balance(listener: TcpListener, backends: Arc<Mutex<Vec<Backend>>>) {
    let turn = AtomicUsize::new(0);
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let ready: Vec<_> = backends.lock().unwrap().iter().filter(|known| known.ready).cloned().collect();
        if ready.is_empty() {
            continue;
        }
        let backend = ready[turn.fetch_add(1, Ordering::Relaxed) % ready.len()].clone();
        connections.spawn(async move {
            if let Ok(mut server) = TcpStream::connect(&backend.webhook).await {
                // Ignore the error: either side may go at any time.
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => {}
                    () = backend.cut.cancelled() => {}
                }
            }
        });
    }
}

/// Probes readiness as a kubelet does, only more often.
async fn check(backends: Arc<Mutex<Vec<Backend>>>) {
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        ticks.tick().await;
        let all = backends.lock().unwrap().clone();
        let probes = all.iter().map(|known| timeout(PROBE_TIMEOUT, readyz(&known.health)));
        for (known, probe) in all.iter().zip(join_all(probes).await) {
            let mut now = backends.lock().unwrap();
            for now in now.iter_mut().filter(|other| other.webhook == known.webhook) {
                now.ready = matches!(probe, Ok(Some((200, _))));
                if probe.is_err() {
                    std::mem::take(&mut now.cut).cancel();
                }
            }
        }
    }
}

/// The processes, and the number of Pods that there have been.
pub(crate) struct Fleet {
    pub(crate) cluster: Cluster,
    /// Between the pods and the API server.
    proxy: Proxy,
    balancer: Balancer,
    pub(crate) pods: Vec<(String, String, Operator)>,
}

impl Fleet {
    /// Starts all processes at the same time on an empty cluster.
    pub(crate) async fn start() -> Self {
        let cluster = Cluster::start().await;
        let balancer = Balancer::start().await;
        let proxy = Proxy::start(cluster.plane.kubeconfig()).await;
        let mut fleet = Self { cluster, proxy, balancer, pods: Vec::new() };
        let mut identities = vec![("webtroller-0".to_owned(), fleet.cluster.pod_uid.clone())];
        for index in 1..PODS {
            let name = format!("webtroller-{index}");
            let uid = fleet.cluster.pod(&name).await;
            identities.push((name, uid));
        }
        let starts = identities.iter().map(|(name, uid)| fleet.launch(name, uid));
        let operators = join_all(starts).await;
        for ((name, uid), operator) in identities.into_iter().zip(operators) {
            fleet.pods.push((name, uid, operator));
        }
        fleet.balance().await;
        fleet
    }

    async fn launch(&self, name: &str, uid: &str) -> Operator {
        let mut operator =
            Operator::launch(self.proxy.kubeconfig(), [name, NAMESPACE, uid], &self.balancer.address).await;
        operator.webhook = operator.log("serving").await["webhook"].as_str().unwrap().to_owned();
        operator
    }

    /// Tells the balancer where the pods are, and waits until they are ready.
    async fn balance(&mut self) {
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

    /// As [`Fleet::restart`], of pods that nobody asks.
    pub(crate) async fn start_again(&mut self, index: usize) {
        let (name, uid, _) = &self.pods[index];
        let operator = self.launch(name, uid).await;
        self.pods[index].2 = operator;
        self.balance().await;
    }

    async fn prober(&self) -> Prober {
        let mut prober = Prober::start(&self.cluster, authority(&self.cluster).await).await;
        for (name, _, operator) in &self.pods {
            prober.ask(name, &operator.webhook);
        }
        prober
    }
}

/// Whether an event of the audit log is of an operator.
pub(crate) fn is_operator(event: &Value) -> bool {
    let agent = event["userAgent"].as_str().unwrap_or_default();
    !["kubectl", "kube-controller-manager", "kube-apiserver"].iter().any(|other| agent.starts_with(other))
}

/// How many writes of the operators there were to objects of `resource`, by name.
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
    let restarted = writes(&fleet.cluster, "customresourcedefinitions");
    let mut fleet = fleet;
    let mut prober = fleet.prober().await;
    let (_, _, first) = fleet.pods.remove(0);
    let identity = ("webtroller-0".to_owned(), fleet.cluster.pod_uid.clone());
    first.stop().await;
    let operator = fleet.launch(&identity.0, &identity.1).await;
    prober.ask(&identity.0, &operator.webhook);
    fleet.pods.insert(0, (identity.0, identity.1, operator));
    fleet.balance().await;
    let name = "numbered.constraints.gatekeeper.sh";
    let after = writes(&fleet.cluster, "customresourcedefinitions");
    assert_eq!(after[name], restarted[name], "a restart writes no constraint CRD");
}

/// Policy changes to make; few in CI.
fn changes() -> u64 {
    std::env::var("WEBTROLLER_POLICY_CHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
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
    for change in 1..=changes() {
        let index = usize::try_from(change).unwrap() % PODS;
        let frozen = change % 6 == 1;
        println!("change {change}");
        match change % 6 {
            1 => {
                fleet.pods[index].2.signal("-STOP");
                fleet.balancer.left(&fleet.pods[index].2).await;
            }
            2 => {
                fleet.pods[index].2.child.kill().await.unwrap();
                fleet.restart(index, &mut prober).await;
            }
            4 => {
                fleet.pods[index].2.terminate();
                fleet.pods[index].2.child.wait().await.unwrap();
                fleet.restart(index, &mut prober).await;
            }
            3 => {
                fleet.cluster.plane.pause(Component::Etcd).unwrap();
                prober.more_answers(300).await;
                fleet.cluster.plane.resume(Component::Etcd).unwrap();
            }
            5 if change % 12 == 5 => {
                fleet.cluster.plane.restart(Component::ApiServer).await.unwrap();
            }
            5 => fleet.cluster.plane.restart(Component::Etcd).await.unwrap(),
            _ => fleet.proxy.lose(30),
        }
        let policy = if change % 3 == 0 {
            numbers.1 = change + 1;
            template(numbers.1)
        } else {
            numbers.0 = change + 1;
            constraint(numbers.0)
        };
        fleet.cluster.apply(&policy).await;
        if frozen {
            // Nothing can be promised while a pod that may answer has not heard of it.
            fleet.pods[index].2.signal("-CONT");
        }
        prober.enforced(numbers).await;
    }
    let (answers, lies) = prober.lies();
    println!("{} policy changes, {answers} answers, {} lies", changes(), lies.len());
    assert!(answers > 100 && lies.is_empty(), "{} of {answers} answers: {:?}", lies.len(), lies.first());
}

/// What the API server answered to one client.
#[derive(Debug, Default)]
struct Load {
    refused: usize,
    admitted: usize,
    wrongly_admitted: usize,
    failed: Vec<String>,
}

async fn load(api: Api<ConfigMap>, end: CancellationToken) -> Load {
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
        let operator = fleet.launch(&name, &uid).await;
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
