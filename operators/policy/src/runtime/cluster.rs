//! `serve` in a cluster: the controllers, the webhook and the reports, put together.

mod identity;
mod namespace_store;
mod secret;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use admission_server::{HealthRoutes, Limits, Server, ServingCertificate, Shutdown, Tls, TlsOptions};
use constraint_framework::driver::Budget;
use pod_status::readiness::{OnError, Policy, ReadinessTracker};
use pod_status::{Aggregator, AggregatorConfig, PodIdentity, ReportKind, ReporterConfig, StatusReporter};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use watch_manager::WatchManager;

use crate::controller::{Ingest, Registrars, WebhookClient, WebhookConfiguration, install, shapes};
use crate::enforce::Webhook;
use crate::handle::{PolicyHandle, policies};

use super::args::ServeArgs;
use super::{RunError, admission_routes, concurrency};

use namespace_store::NamespaceStore;

/// Reports are stored within a moment; when the API server is away they are not worth delaying the end for.
const LAST_REPORTS: Duration = Duration::from_secs(5);

/// Serves until a signal.
pub(super) async fn run(args: &ServeArgs) -> Result<ExitCode, RunError> {
    let shutdown = Shutdown::default();
    let tasks = TaskTracker::new();
    // First of all, so that a signal during start-up ends the process in good order too.
    tasks.spawn(shutdown.clone().on_signal(Duration::from_secs(args.shutdown_delay)));
    let cluster = Cluster::connect().await?;
    let serving = tokio::select! {
        started = cluster.start(args, &shutdown, &tasks) => Some(started?),
        () = shutdown.asked.cancelled() => None,
    };
    if serving.is_none() {
        // Nobody has been told to send anything here, so there is nothing to wait for.
        shutdown.drain.cancel();
    }
    shutdown.drain.cancelled().await;
    tasks.close();
    if let Some(reporter) = serving
        && tokio::time::timeout(LAST_REPORTS, reporter.shutdown()).await.is_err()
    {
        tracing::warn!("the last reports could not be stored");
    }
    tasks.wait().await;
    Ok(ExitCode::SUCCESS)
}

struct Cluster {
    client: kube::Client,
    identity: PodIdentity,
}

impl Cluster {
    async fn connect() -> Result<Self, RunError> {
        let config = kube::Config::infer().await.map_err(RunError::NoCluster)?;
        let client = kube::Client::try_from(config).map_err(RunError::Cluster)?;
        Ok(Self { client, identity: identity::identity() })
    }

    /// Starts everything in the order in which one part needs the other. The sockets come first: what answers
    /// `/readyz` must be there from the beginning, to say what is missing.
    async fn start(
        &self,
        args: &ServeArgs,
        shutdown: &Shutdown,
        tasks: &TaskTracker,
    ) -> Result<StatusReporter, RunError> {
        let tracker =
            ReadinessTracker::new(Policy::default().permanent(OnError::GiveUp).unlistable(OnError::GiveUp));
        self.serve_health(args, shutdown, tasks, &tracker).await?;
        let (webhook_listener, address) = listen(args.host, args.port).await?;

        let certificate = self.prepare(args).await?;
        let (manager, driver) = WatchManager::builder(self.client.clone()).build();
        tasks.spawn(driver);
        let stopped = manager.clone();
        stop_with(tasks, shutdown, move || stopped.shutdown());
        let reporter = self.start_reports(tasks).await?;
        let namespaces = Arc::new(NamespaceStore::new(manager.clone(), self.client.clone()));
        let policies = self.ingest(shutdown, tasks, manager, &reporter, &tracker)?;

        let ready = ready_flag(tasks, shutdown, &tracker);
        let webhook = Webhook::new(policies, namespaces, Budget::default(), concurrency(args));
        let is_ready = ready.clone();
        let routes = admission_routes(webhook, move || *is_ready.borrow());
        let tls = Tls::new(&certificate, TlsOptions::default())?;
        tasks.spawn(Server::new(webhook_listener, routes).with_tls(tls).run(shutdown.clone()));
        let configuration = self.webhook_configuration(args, &certificate, address);
        tasks.spawn(register(self.client.clone(), configuration, ready, shutdown.clone()));
        tracing::info!(webhook = %address, "serving");
        Ok(reporter)
    }

    /// What must exist before anything is watched or served.
    async fn prepare(&self, args: &ServeArgs) -> Result<ServingCertificate, RunError> {
        let namespace = &self.identity.namespace;
        identity::ensure_namespace(&self.client, namespace).await.map_err(RunError::Cluster)?;
        install(&self.client, [serde_json::json!(ReportKind::default().crd())]).await?;
        secret::ensure(&self.client, namespace, &hosts(args, &self.identity)).await
    }

    /// Starts bringing policies in, and folding everybody's reports.
    fn ingest(
        &self,
        shutdown: &Shutdown,
        tasks: &TaskTracker,
        manager: WatchManager,
        reporter: &StatusReporter,
        tracker: &ReadinessTracker,
    ) -> Result<PolicyHandle, RunError> {
        let (publisher, handle) = policies();
        let aggregator = self.aggregator();
        let registrars = Registrars::new(&manager)?;
        let (client, changes) = (self.client.clone(), aggregator.parent_changes());
        let ingest = Ingest::new(client, manager, registrars, publisher, reporter.clone(), changes, tracker);
        tracker.seal();
        tasks.spawn(ingest.run(shutdown.drain.clone()));
        tasks.spawn(aggregator.run(shutdown.asked.clone()));
        Ok(handle)
    }
}

impl Cluster {
    async fn serve_health(
        &self,
        args: &ServeArgs,
        shutdown: &Shutdown,
        tasks: &TaskTracker,
        tracker: &ReadinessTracker,
    ) -> Result<(), RunError> {
        let (listener, address) = listen(args.host, args.health_port).await?;
        let (tracker, asked) = (tracker.clone(), shutdown.asked.clone());
        let readiness = move || {
            if asked.is_cancelled() {
                return Err(vec!["the process has been asked to end".to_owned()]);
            }
            if tracker.ready().borrow().is_ready() {
                return Ok(());
            }
            Err(tracker.explain().iter().map(ToString::to_string).collect())
        };
        let server = Server::new(listener, HealthRoutes::new(readiness)).with_limits(Limits::health());
        tasks.spawn(server.run(shutdown.clone()));
        tracing::info!(health = %address, "health");
        Ok(())
    }

    /// The registration must be stored before anything is listed, or an aggregator could count everybody without
    /// this pod while it still serves something old.
    async fn start_reports(&self, tasks: &TaskTracker) -> Result<StatusReporter, RunError> {
        let (reporter, driver) =
            StatusReporter::new(self.client.clone(), self.identity.clone(), ReporterConfig::default());
        tasks.spawn(driver);
        reporter.registered().await?;
        Ok(reporter)
    }

    fn aggregator(&self) -> Aggregator {
        Aggregator::new(self.client.clone(), AggregatorConfig::new(&self.identity, shapes))
    }

    fn webhook_configuration(
        &self,
        args: &ServeArgs,
        certificate: &ServingCertificate,
        address: SocketAddr,
    ) -> WebhookConfiguration {
        let webhook = &args.webhook;
        let namespace = self.identity.namespace.clone();
        let client = match &webhook.webhook_url_host {
            Some(host) => WebhookClient::Url(format!("https://{host}:{}/v1/admit", address.port())),
            None => WebhookClient::Service {
                namespace: namespace.clone(),
                name: webhook.cert_service_name.clone(),
            },
        };
        WebhookConfiguration {
            name: webhook.validating_webhook_configuration_name.clone(),
            client,
            authority: certificate.authority.clone(),
            failure_policy: webhook.failure_policy.word().to_owned(),
            operations: webhook.webhook_operations.clone(),
            namespace,
        }
    }
}

async fn listen(host: Option<IpAddr>, port: u16) -> Result<(TcpListener, SocketAddr), RunError> {
    let failed = |source| RunError::Listen { port, source };
    let host = host.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let listener = TcpListener::bind((host, port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// The names by which API servers may call the webhook.
fn hosts(args: &ServeArgs, identity: &PodIdentity) -> Vec<String> {
    let service = format!("{}.{}.svc", args.webhook.cert_service_name, identity.namespace);
    let url_host = args.webhook.webhook_url_host.clone();
    url_host.into_iter().chain([format!("{service}.cluster.local"), service]).collect()
}

/// Turns true once everything that existed at the start is in force.
fn ready_flag(tasks: &TaskTracker, shutdown: &Shutdown, tracker: &ReadinessTracker) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    let (mut readiness, drain) = (tracker.ready(), shutdown.drain.clone());
    tasks.spawn(async move {
        tokio::select! {
            ready = readiness.wait_for(|readiness| readiness.is_ready()) => {
                sender.send_replace(ready.is_ok());
                tracing::info!("ready");
            }
            () = drain.cancelled() => {}
        }
    });
    receiver
}

/// Registers the webhook once this process can answer, trying until the API server takes it.
async fn register(
    client: kube::Client,
    configuration: WebhookConfiguration,
    mut ready: watch::Receiver<bool>,
    shutdown: Shutdown,
) {
    let registered = async {
        if ready.wait_for(|ready| *ready).await.is_err() {
            return;
        }
        let mut pause = Duration::from_millis(500);
        while let Err(error) = configuration.apply(&client).await {
            tracing::warn!(%error, "the webhook could not be registered");
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(Duration::from_secs(60));
        }
        tracing::info!(configuration = configuration.name, "webhook registered");
    };
    tokio::select! {
        () = registered => {}
        () = shutdown.drain.cancelled() => {}
    }
}

fn stop_with(tasks: &TaskTracker, shutdown: &Shutdown, stop: impl FnOnce() + Send + 'static) {
    let drain = shutdown.drain.clone();
    tasks.spawn(async move {
        drain.cancelled().await;
        stop();
    });
}
