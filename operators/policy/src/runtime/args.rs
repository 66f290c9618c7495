//! The command line as people type it. Values are handed down; no other module reads a flag.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use admission_server::{RotationTimes, TlsVersion};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::audit::OnceArgs;
use crate::catalog::PolicyArgs;
use crate::cli::{
    BenchArgs, ColorChoice, CoverageArgs, ExpandArgs, ExplainArgs, FunctionArgs, LintArgs, ModelArgs,
    SchemaArgs, SyncArgs, TestArgs, VerifyArgs, VersionArgs,
};
use crate::enforce::ExemptNamespaces;
use crate::events::EventNamespace;
use crate::migrate::MigrateCommand;
use crate::progress::ProgressArgs;

pub use super::audit_args::AuditArgs;
use super::duration::duration;
pub use super::metrics::OtlpArgs;

const EXAMPLES: &str = "\
Examples:
  # Which objects do the policies of a folder refuse?
  webtroller test policies/ my-manifests/

  # Run the test suites below a folder, with a report for CI
  webtroller verify policies/... --output junit

  # Enforce policies in the cluster of the current kubeconfig
  webtroller serve

Guide: docs/cli.md. `webtroller <COMMAND> --help` has examples for each command.";

/// Enforce Gatekeeper's templates and constraints in a cluster, and write, test and debug them without one.
#[derive(Debug, Parser)]
#[command(name = "webtroller", version, after_help = EXAMPLES, subcommand_required = true)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// When to print in colour. NO_COLOR in the environment means never; the flag wins.
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
}

/// Checks that each part names a level. `EnvFilter` takes any other word for a target, and logs everything of it and nothing else.
fn log_filter(text: &str) -> Result<String, String> {
    let lacks_level = |part: &&str| {
        let level = part.rsplit_once('=').map_or(*part, |(_, level)| level);
        // The parser takes nothing for `error`.
        level.is_empty() || level.parse::<LevelFilter>().is_err()
    };
    match text.split(',').find(lacks_level) {
        Some(part) => Err(format!(
            "write a level, or target=level, with off, error, warn, info, debug or trace, not {part:?}"
        )),
        None => EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|error| error.to_string()),
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// A JSON object a line.
    Json,
}

/// The commands of the binary.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Enforce policies: in a cluster, or from a folder with --standalone.
    Serve(Box<ServeArgs>),
    /// Take the webhook out of the cluster and stop the operator's pods, in the order in which no write is refused.
    Uninstall(UninstallArgs),
    /// Judge everything in a cluster, or in a dump of one, once.
    Audit(OnceArgs),
    /// Find out what changes when webtroller replaces Gatekeeper.
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Find, install, upgrade and remove policies of a catalogue.
    Policy(PolicyArgs),
    /// Judge objects in files by the templates and constraints beside them.
    Test(TestArgs),
    /// Explain why constraints find violations in objects, or none.
    Explain(ExplainArgs),
    /// Explain why an object in the cluster is stuck, whatever its kind.
    ExplainProgress(ProgressArgs),
    /// Print the objects that workloads in files would create.
    Expand(ExpandArgs),
    /// Validate a package as a KRM function: a ResourceList in, and out again with results.
    #[command(name = "fn")]
    Function(FunctionArgs),
    /// Check that SyncSets provide the data that templates refer to.
    Sync(SyncArgs),
    /// Measure how long reviews of objects in files take.
    Bench(BenchArgs),
    /// Run Gatekeeper test suites.
    Verify(VerifyArgs),
    /// Review templates and constraints: what is accepted, and probably not meant.
    Lint(LintArgs),
    /// Report which rules of policies the cases of suites exercise.
    Coverage(CoverageArgs),
    /// Check, merge and compare CRD schemas; touches no cluster.
    Schema(SchemaArgs),
    /// Evaluate, check and test Rego, as `opa` does; touches no cluster.
    Rego(Box<rego_cli::RegoArgs>),
    /// Predict availability and the time until all pods enforce a change; touches no cluster.
    Model(ModelArgs),
    /// Print a shell completion script.
    #[command(after_help = "Examples:\n  # In this bash\n  source <(webtroller completion bash)")]
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Write manual pages, one for each command.
    #[command(
        after_help = "Examples:\n  # For this user, on most systems\n  webtroller man ~/.local/share/man/man1"
    )]
    Man {
        /// The folder to write them to.
        folder: PathBuf,
    },
    /// Print the version, and the versions of what it is compatible with.
    Version(VersionArgs),
}

const SERVE_EXAMPLES: &str = "\
Examples:
  # In the cluster of the current kubeconfig
  webtroller serve

  # On this machine, with the policies of a folder, judging again what changes in it
  webtroller serve --standalone examples/quickstart --port 0";

/// The arguments of `serve`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct ServeArgs {
    /// Filter for the log, as in `info` or `info,webtroller=debug`.
    #[arg(long, env = "WEBTROLLER_LOG", default_value = "info", value_parser = log_filter)]
    pub log: String,
    /// Log format; the default is `json` in a pod and `text` elsewhere.
    #[arg(long, value_enum)]
    pub log_format: Option<LogFormat>,
    /// Log each violation that the webhook finds, whatever follows from it.
    #[arg(long)]
    pub log_denies: bool,
    /// Make a Kubernetes Event of each violation that the webhook finds. Repeated ones are counted in one Event.
    #[arg(long)]
    pub emit_admission_events: bool,
    /// Make it in the namespace of the object, and not in the operator's; only with --emit-admission-events.
    #[arg(long)]
    pub admission_events_involved_namespace: bool,
    /// Take policies from this folder of YAML instead of a cluster, judge the objects under its `review/`, and
    /// keep serving.
    #[arg(long, value_name = "DIR")]
    pub standalone: Option<PathBuf>,
    /// Address that the webhook listens on; the default is 0.0.0.0, or 127.0.0.1 with --standalone.
    #[arg(long)]
    pub host: Option<IpAddr>,
    /// Port that the webhook listens on; 0 takes a free one.
    #[arg(long, default_value_t = 8443)]
    pub port: u16,
    /// Port for /healthz and /readyz; 0 takes a free one.
    #[arg(long, default_value_t = 9090)]
    pub health_port: u16,
    /// Port for /metrics alone; 0 takes a free one. They are at the health port, too.
    #[arg(long, default_value_t = 8888)]
    pub prometheus_port: u16,
    /// Destinations of metrics.
    #[command(flatten)]
    pub otlp: OtlpArgs,
    /// Reviews judged at once; the default is the number of cores.
    #[arg(long)]
    pub max_serving_threads: Option<usize>,
    /// Seconds to keep serving after SIGTERM, until endpoints are updated.
    #[arg(long, default_value_t = 10)]
    pub shutdown_delay: u64,
    /// The longest time that this pod answers without having renewed its registration, as in 3m. Then it answers 503
    /// and ends, to start anew. Also the time after which policies are called enforced without a pod whose object was
    /// deleted while its process may still run.
    #[arg(long, default_value = "3m", value_parser = duration)]
    pub registration_timeout: Duration,
    /// Readiness of a pod that starts while a template or a constraint cannot be ingested: `ignore` serves the other
    /// policies, `block` keeps the pod unready until it is repaired or deleted.
    #[arg(long, value_enum, default_value_t = BrokenPolicies::Ignore)]
    pub broken_policies: BrokenPolicies,
    /// Objects that are judged beside requests.
    #[command(flatten)]
    pub audit: AuditArgs,
    /// Address at which the API server reaches the webhook.
    #[command(flatten)]
    pub webhook: WebhookArgs,
    /// Certificates of the webhook's connections.
    #[command(flatten)]
    pub certificates: CertificateArgs,
}

impl ServeArgs {
    /// Returns where Events of the webhook's violations go.
    pub(super) fn admission_events(&self) -> EventNamespace {
        EventNamespace::of_flags(self.emit_admission_events, self.admission_events_involved_namespace)
    }
}

/// The source of the webhook's certificate, and what clients must speak and show.
#[derive(Clone, Debug, clap::Args)]
pub struct CertificateArgs {
    /// Secret with the certificate, in this process's namespace. It is made and rotated unless another program wrote
    /// it.
    #[arg(long, default_value = "gatekeeper-webhook-server-cert")]
    pub cert_secret_name: String,
    /// Take the certificate from the files tls.crt, tls.key and ca.crt of --cert-dir, which another program renews.
    #[arg(long)]
    pub disable_cert_rotation: bool,
    /// Folder of certificate files.
    #[arg(long, default_value = "/certs")]
    pub cert_dir: PathBuf,
    /// Life of a certificate, as in 8760h; a new one is announced when a quarter of it is left.
    #[arg(long, default_value = "8760h", value_parser = duration)]
    pub cert_lifetime: Duration,
    /// Time between the announcement of a certificate and its use, as in 5m.
    #[arg(long, default_value = "5m", value_parser = duration)]
    pub cert_overlap: Duration,
    /// Oldest version of TLS that is accepted.
    #[arg(long, value_enum, default_value_t = TlsMinVersion::V1_3)]
    pub tls_min_version: TlsMinVersion,
    /// File in --cert-dir with the authority that must have signed the certificates of clients; without it clients
    /// need none.
    #[arg(long, value_name = "FILE")]
    pub client_ca_name: Option<String>,
    /// Common name that the certificates of clients must have; only with --client-ca-name.
    #[arg(long, default_value = "kube-apiserver")]
    pub client_cn_name: String,
}

impl CertificateArgs {
    /// The folder of certificate files, where they are used.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.disable_cert_rotation.then_some(self.cert_dir.as_path())
    }

    /// The file with the authority of clients.
    pub(super) fn client_authority(&self) -> Option<PathBuf> {
        let name = self.client_ca_name.as_ref().filter(|name| !name.is_empty())?;
        Some(self.cert_dir.join(name))
    }

    pub(super) fn times(&self) -> RotationTimes {
        RotationTimes::new(self.cert_lifetime, self.cert_overlap)
    }
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TlsMinVersion {
    /// TLS 1.2.
    #[value(name = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[value(name = "1.3")]
    V1_3,
}

impl From<TlsMinVersion> for TlsVersion {
    fn from(version: TlsMinVersion) -> Self {
        match version {
            TlsMinVersion::V1_2 => Self::V1_2,
            TlsMinVersion::V1_3 => Self::V1_3,
        }
    }
}

/// The objects to remove.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # When `webtroller serve` has ended that ran outside the cluster
  webtroller uninstall

  # With the pods of a Deployment
  webtroller uninstall --deployment webtroller --namespace gatekeeper-system")]
pub struct UninstallArgs {
    /// Name of the ValidatingWebhookConfiguration. Without it, the one in the arguments of the Deployment, or
    /// gatekeeper-validating-webhook-configuration.
    #[arg(long)]
    pub validating_webhook_configuration_name: Option<String>,
    /// Namespace of the Deployment.
    #[arg(long, default_value = "gatekeeper-system")]
    pub namespace: String,
    /// Deployment to scale to zero before the configuration is deleted.
    #[arg(long)]
    pub deployment: Option<String>,
    /// Seconds that the pods may take to end.
    #[arg(long, default_value_t = 90)]
    pub patience: u64,
}

/// The registration of the webhook with the API server.
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {
    /// Name of the ValidatingWebhookConfiguration.
    #[arg(long, default_value = "gatekeeper-validating-webhook-configuration")]
    pub validating_webhook_configuration_name: String,
    /// Service in front of the webhook, in this process's namespace.
    #[arg(long, default_value = "gatekeeper-webhook-service")]
    pub cert_service_name: String,
    /// Register the webhook by URL at this host name or address instead of by service, for an operator that runs
    /// outside the cluster. The port is that of --port unless one is given, such as a balancer's.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub webhook_url_host: Option<String>,
    /// Answer of the API server when the webhook cannot be reached.
    #[arg(long, value_enum, default_value_t = FailurePolicy::Ignore)]
    pub failure_policy: FailurePolicy,
    /// Operations to intercept.
    #[arg(long, value_delimiter = ',', default_value = "CREATE,UPDATE", value_parser = ["CREATE", "UPDATE", "DELETE", "CONNECT"])]
    pub webhook_operations: Vec<String>,
    /// Namespace that may carry the label admission.gatekeeper.sh/ignore; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub exempt_namespace: Vec<String>,
    /// Beginning of the names of such Namespaces; may be repeated.
    #[arg(long, value_name = "PREFIX")]
    pub exempt_namespace_prefix: Vec<String>,
    /// End of the names of such Namespaces; may be repeated.
    #[arg(long, value_name = "SUFFIX")]
    pub exempt_namespace_suffix: Vec<String>,
}

impl WebhookArgs {
    /// The Namespaces that may take themselves out of enforcement.
    pub(super) fn exempt_namespaces(&self) -> ExemptNamespaces {
        ExemptNamespaces {
            names: self.exempt_namespace.clone(),
            prefixes: self.exempt_namespace_prefix.clone(),
            suffixes: self.exempt_namespace_suffix.clone(),
        }
    }
}

/// The treatment of requests while the webhook cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailurePolicy {
    /// They are admitted.
    Ignore,
    /// They are refused.
    Fail,
}

impl FailurePolicy {
    /// The word in a webhook configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
        }
    }
}

/// The effect of a policy that cannot be ingested on the readiness of a pod that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BrokenPolicies {
    /// The pod becomes ready without it.
    Ignore,
    /// The pod does not become ready.
    Block,
}
