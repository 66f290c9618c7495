//! `serve` in a cluster: the controllers, the webhook and the reports, put together.

mod aggregation;
mod certificates;
mod client;
mod handover;
mod health;
mod identity;
mod namespace_store;
mod prepare;
mod secret;
mod status_watches;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use admission_server::{Server, ServingCertificate, Tls, shutdown_on_signal};
use constraint_framework::driver::Budget;
use pod_status::readiness::{GiveUpPolicy, OnError, ReadinessTracker};
use pod_status::{Aggregator, Permit, PodIdentity, ReporterConfig, StatusReporter};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watch_manager::WatchManager;

use crate::audit::{Audit, AuditContext, OnceArgs};
use crate::controller::{
    FormerRegistrations, Ingest, IngestContext, OtherVersions, OwnCrds, Registrars, RegistrationState, Runs,
    WebhookClient, WebhookConfiguration, WebhookRegistration,
};
use crate::enforce::{Records, Webhook};
use crate::events::{EventNamespace, EventQueue, Finder, Recorder, store_events};
use crate::in_force::{PolicyPublisher, policies};
use crate::own_watch::OwnWatches;

use super::args::{BrokenPolicies, ServeArgs};
use super::metrics::Metrics;
use super::shutdown::Shutdown;
use super::supervisor::Supervisor;
use super::{RunError, admission_routes, concurrency};

use aggregation::{Beginning, aggregate};
use certificates::tls_options;
use handover::Effects;
use namespace_store::NamespaceStore;
use secret::Hosts;
use status_watches::StatusWatches;

/// The time for the last reports and Events, once all requests are answered. They are stored within a moment; when the API
/// server is away they are not worth delaying the end for.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Serves until a signal.
pub(super) async fn run(args: &ServeArgs) -> Result<ExitCode, RunError> {
    let shutdown = Shutdown::default();
    let supervisor = Supervisor::new(shutdown.clone());
    // First of all, so that a signal during start-up ends the process in good order too.
    let (signals, delay) = (shutdown.clone(), Duration::from_secs(args.shutdown_delay));
    supervisor.background("signals", async move {
        if let Err(error) = shutdown_on_signal(signals.asked, delay, signals.drain).await {
            tracing::error!(%error, "signals cannot be received");
        }
    });
    let mut cluster = Cluster::connect(args, shutdown.clone(), supervisor.clone()).await?;
    if args.audit.is_operation() {
        cluster.identity.operations.insert("audit".to_owned());
    }
    let serving = tokio::select! {
        started = cluster.start(args) => Some(started?),
        () = shutdown.asked.cancelled() => None,
    };
    if serving.is_none() {
        // This address was not registered, so there is no request to wait for.
        shutdown.drain.cancel();
    }
    shutdown.drain.cancelled().await;
    let fenced = serving.as_ref().and_then(|reporter| reporter.permit().check().err());
    // The last report says that this pod has stopped serving.
    supervisor.answered().await;
    cluster.events.close();
    if serving.is_some() {
        cluster.answered.cancel();
    }
    supervisor.finish(LAST_WRITES).await;
    cluster.events.abandon();
    if let Some(fenced) = fenced {
        return Err(RunError::Fenced(fenced));
    }
    supervisor.failed().map_or(Ok(ExitCode::SUCCESS), |task| Err(RunError::TaskEnded { task }))
}

/// `webtroller audit`, of the cluster of the current kubeconfig or of files.
pub(super) async fn audit_once(args: &OnceArgs) -> Result<ExitCode, RunError> {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    crate::audit::audit_once(args, connect, &mut out, &mut err).await.map(ExitCode::from)
}

/// The client of the cluster of the current kubeconfig.
pub(super) async fn connect() -> Result<kube::Client, RunError> {
    let config = kube::Config::infer().await.map_err(RunError::NoCluster)?;
    client::client(config).map_err(RunError::Cluster)
}

struct Cluster {
    client: kube::Client,
    /// Shares the answers of discovery among all watches.
    watches: OwnWatches,
    /// The API server's address, for messages.
    address: String,
    identity: PodIdentity,
    shutdown: Shutdown,
    /// Cancelled after the last answer. Ends the reporter, whose last report says that this pod has stopped serving.
    answered: CancellationToken,
    supervisor: Supervisor,
    metrics: Metrics,
    /// Events that wait to be stored.
    events: EventQueue,
    /// Shared by the ingest loop and the aggregator.
    versions: OtherVersions,
    /// The reason why start-up waits; `None` once it is over.
    starting: watch::Sender<Option<String>>,
}

impl Cluster {
    async fn connect(args: &ServeArgs, shutdown: Shutdown, supervisor: Supervisor) -> Result<Self, RunError> {
        let config = kube::Config::infer().await.map_err(RunError::NoCluster)?;
        let (address, identity) = (config.cluster_url.to_string(), identity::identity());
        let client = client::client(config).map_err(RunError::Cluster)?;
        Ok(Self {
            watches: OwnWatches::new(client.clone()),
            client,
            starting: watch::Sender::new(Some(format!("start-up at the API server {address}"))),
            address,
            metrics: Metrics::collect(&args.otlp, &identity.name)?,
            identity,
            shutdown,
            answered: CancellationToken::new(),
            supervisor,
            events: EventQueue::default(),
            versions: OtherVersions::default(),
        })
    }

    /// Starts everything in the order in which one part needs the other. The sockets come first: what answers
    /// `/readyz` must be there from the beginning, to say what is missing.
    async fn start(&self, args: &ServeArgs) -> Result<StatusReporter, RunError> {
        let tracker = tracker(args.broken_policies);
        let (manager, driver) = WatchManager::builder_with_source(self.watches.source()).build();
        let (publisher, policies) = policies();
        let records = self.records(args);
        let (aggregator, watches) = self.aggregator();
        let ready = watch::Sender::new(false);
        let readiness = (&tracker, ready.subscribe());
        self.serve_health(args, readiness, manager.clone(), &aggregator, (policies.clone(), &records))
            .await?;
        let (webhook_listener, address) = listen(args.host, args.port).await?;

        let mut crds = OwnCrds::new([serde_json::json!(pod_status::ReportKind::default().crd())])?;
        let (certificates, aggregator) = self.prepare(args, &mut crds).await?.expecting(aggregator);
        self.supervisor.background("watch manager", driver.run(self.shutdown.drain.clone()));
        let reporter = self.start_reports(args, watches.clone()).await?;
        self.end_when_fenced(reporter.permit());
        let tls = Tls::new(&certificates.serving, tls_options(&args.certificates).await?)?;
        let configuration =
            watch::Sender::new(self.webhook_configuration(args, &certificates.serving, address));
        let registration = self.register(configuration.subscribe(), ready.subscribe(), watches);
        let ready = self.ready_flag(ready, &tracker, &reporter, registration.trusted);
        let effects = Effects { client: self.client.clone(), tls: tls.clone(), configuration };
        self.keep_certificates(args, certificates, effects);
        let namespaces = Arc::new(NamespaceStore::new(manager.clone(), self.client.clone()));
        self.keep_crds(manager.clone(), crds);
        self.ingest(aggregator, manager.clone(), publisher, &reporter, registration.error, &tracker)?;
        let context = AuditContext {
            client: self.client.clone(),
            manager,
            policies: policies.clone(),
            namespaces: namespaces.clone(),
            identity: self.identity.clone(),
            events: self.recorder(Finder::Audit, args.audit.events()),
            options: args.audit.options(),
        };
        self.audit(args, context, ready.clone());

        let permit = reporter.permit();
        let webhook = Webhook::new(policies, namespaces, Budget::default(), concurrency(args))
            .recording(records)
            .guarded_by(move || permit.check().map_err(|fenced| fenced.to_string()));
        let routes = admission_routes(webhook, args.webhook.exempt_namespaces(), move || *ready.borrow());
        let server = Server::new(webhook_listener, routes).with_tls(tls);
        self.serve("webhook server", server);
        self.starting.send_replace(None);
        tracing::info!(webhook = %address, "serving");
        Ok(reporter)
    }

    /// Answers requests until the drain.
    fn serve(&self, name: &'static str, server: Server) {
        let Shutdown { asked, drain } = self.shutdown.clone();
        self.supervisor.serve(name, server.with_drain_signal(asked).run(drain));
    }

    /// Starts bringing policies in, and folding the reports of all pods.
    fn ingest(
        &self,
        aggregator: Aggregator,
        manager: WatchManager,
        publisher: PolicyPublisher,
        reporter: &StatusReporter,
        registration: watch::Receiver<Option<String>>,
        tracker: &ReadinessTracker,
    ) -> Result<(), RunError> {
        let begin = Beginning {
            tracker: tracker.clone(),
            registration: registration.clone(),
            reporter: reporter.clone(),
        };
        let context = IngestContext {
            client: self.client.clone(),
            watches: self.watches.clone(),
            registrars: Registrars::new(&manager)?,
            manager,
            publisher,
            reporter: reporter.clone(),
            parents: aggregator.parent_changes(),
            namespace: self.identity.namespace.clone(),
            versions: self.versions.clone(),
            registration,
        };
        let ingest = Ingest::new(context, tracker);
        tracker.seal();
        self.supervisor.background("ingest", ingest.run(self.shutdown.drain.clone()));
        let folding = aggregate(aggregator, begin, self.shutdown.asked.clone());
        self.supervisor.background("aggregator", folding);
        Ok(())
    }

    /// Judges what is in the cluster already, in one process at a time.
    fn audit(&self, args: &ServeArgs, context: AuditContext, ready: watch::Receiver<bool>) {
        if args.audit.is_operation() {
            let audit = Audit::new(context, ready).run(self.shutdown.asked.clone());
            self.supervisor.background("audit", audit);
        }
    }

    /// Returns what is kept of the webhook's verdicts. Events are stored from now on.
    fn records(&self, args: &ServeArgs) -> Records {
        let storing = store_events(self.client.clone(), self.events.clone());
        self.supervisor.background("events", storing);
        let events = self.recorder(Finder::Admission, args.admission_events());
        Records { logs_denies: args.log_denies, events: Some(events), ..Records::default() }
    }

    fn recorder(&self, finder: Finder, place: EventNamespace) -> Recorder {
        Recorder::new(self.events.clone(), finder, place, self.identity.namespace.clone())
    }

    /// Keeps the webhook registered once this process can answer, and until it is asked to end: it answers for a while then,
    /// but what it restored would stay behind.
    fn register(
        &self,
        configuration: watch::Receiver<WebhookConfiguration>,
        ready: watch::Receiver<bool>,
        watches: Arc<StatusWatches>,
    ) -> RegistrationState {
        let client = || self.client.clone();
        let (configured, is_ready) = (configuration.clone(), ready.clone());
        let former = FormerRegistrations { client: client(), configuration: configured, ready: is_ready };
        let runs = Runs::new(client(), Some(watches), &self.identity);
        let (registration, state) = WebhookRegistration::new(client(), configuration, runs, ready);
        let asked = || self.shutdown.asked.clone();
        self.supervisor.background("webhook registration", registration.run(asked()));
        self.supervisor.background("former registrations", former.run(asked()));
        state
    }

    /// Turns true once everything that existed at the start is in force, or reported as what is not, and the API server
    /// accepts this pod's certificate.
    fn ready_flag(
        &self,
        ready: watch::Sender<bool>,
        tracker: &ReadinessTracker,
        reporter: &StatusReporter,
        mut trusted: watch::Receiver<bool>,
    ) -> watch::Receiver<bool> {
        let receiver = ready.subscribe();
        let (tracker, reporter, shutdown) = (tracker.clone(), reporter.clone(), self.shutdown.clone());
        self.supervisor.background("readiness", async move {
            let may_serve = async {
                let given_up = reporter.may_serve(&tracker).await.ok()?;
                // The registration ends when the process is asked to end: it does not become ready then.
                trusted.wait_for(|trusted| *trusted).await.ok()?;
                Some(given_up)
            };
            if let Some(Some(given_up)) = shutdown.asked.run_until_cancelled(may_serve).await {
                ready.send_replace(true);
                tracing::info!(without = given_up.len(), "ready");
            }
            shutdown.drain.cancelled().await;
        });
        receiver
    }
}

fn tracker(broken_policies: BrokenPolicies) -> ReadinessTracker {
    let permanent = match broken_policies {
        BrokenPolicies::Ignore => OnError::GiveUp,
        BrokenPolicies::Block => OnError::Block,
    };
    // A kind that cannot be listed may hold policies that other pods enforce.
    ReadinessTracker::new(GiveUpPolicy::default().permanent(permanent).unlistable(OnError::Block))
}

impl Cluster {
    /// The registration must be stored before anything is listed, or an aggregator could count all pods without
    /// this pod while it still serves something old.
    async fn start_reports(
        &self,
        args: &ServeArgs,
        watches: Arc<StatusWatches>,
    ) -> Result<StatusReporter, RunError> {
        let config = ReporterConfig::default().fence(args.registration_timeout).follow(watches);
        let (reporter, driver) = StatusReporter::new(self.client.clone(), self.identity.clone(), config);
        self.supervisor.background("reporter", driver.run(self.answered.clone()));
        reporter.registered().await?;
        Ok(reporter)
    }

    /// Ends the process once its registration is lost: statements may have been made without this pod, so it must
    /// not answer before it has read everything anew, which is what a start does.
    fn end_when_fenced(&self, permit: Permit) {
        let drain = self.shutdown.drain.clone();
        self.supervisor.background("registration", async move {
            tokio::select! {
                fenced = permit.fenced() => tracing::error!(reason = %fenced, "the process ends, to start anew"),
                () = drain.cancelled() => {}
            }
        });
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
            Some(host) => {
                let (host, port) = host_and_port(host);
                WebhookClient::Url(format!("https://{host}:{}/v1/admit", port.unwrap_or(address.port())))
            }
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
            emits_events: args.admission_events() != EventNamespace::Nowhere,
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
fn hosts(args: &ServeArgs, identity: &PodIdentity) -> Hosts {
    let service = format!("{}.{}.svc", args.webhook.cert_service_name, identity.namespace);
    let url_host = args.webhook.webhook_url_host.as_deref();
    let url_host = url_host.map(|host| host_and_port(host).0.trim_matches(['[', ']']).to_owned());
    let required = url_host.clone().unwrap_or_else(|| service.clone());
    Hosts {
        required,
        all: url_host.into_iter().chain([format!("{service}.cluster.local"), service]).collect(),
    }
}

/// Splits `HOST[:PORT]`; an IPv6 address with a port is in brackets.
fn host_and_port(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn a_webhook_host_may_name_a_port() {
        assert_eq!(host_and_port("10.0.0.1"), ("10.0.0.1", None));
        assert_eq!(host_and_port("balancer.example:9443"), ("balancer.example", Some(9443)));
        assert_eq!(host_and_port("[::1]:9443"), ("[::1]", Some(9443)));
        assert_eq!(host_and_port("::1"), ("::1", None));
    }
}
