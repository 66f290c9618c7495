//! A Service of the test: sends connections to the pods that are ready.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::operator::{Operator, PATIENCE, readyz};

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
pub(crate) struct Balancer {
    pub(crate) address: String,
    backends: Arc<Mutex<Vec<Backend>>>,
    _tasks: JoinSet<()>,
}

impl Balancer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let backends = Arc::<Mutex<Vec<Backend>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(balance(listener, backends.clone()));
        tasks.spawn(check(backends.clone()));
        Self { address, backends, _tasks: tasks }
    }

    pub(crate) fn set(&self, operators: &[&Operator]) {
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
    pub(crate) async fn left(&self, operator: &Operator) {
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
