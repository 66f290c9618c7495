//! The composition root: makes processes of the other modules, none of which uses this one.

mod args;
mod audit_args;
mod cluster;
mod completions;
mod duration;
mod gatekeeper_flags;
mod health_routes;
mod metrics;
mod migrate;
mod shutdown;
mod standalone;
mod status_page;
mod supervisor;
mod uninstall;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use admission_server::{AdmissionRoutes, CertificateError};
pub use args::{
    Args, AuditArgs, BrokenPolicies, Command, FailurePolicy, LogFormat, OtlpArgs, ServeArgs, UninstallArgs,
    WebhookArgs,
};
pub use gatekeeper_flags::{FLAGS, Flag, FlagErrors, FlagSupport, translate};

use crate::cli::StandardInput;
use crate::controller::{InstallError, UninstallError};
use crate::enforce::{ExemptNamespaces, LabelGuard, Webhook};
use crate::migrate::MigrateCommand;
use crate::progress::ProgressArgs;

/// Every request has been answered when the process ends; threads beyond that have no request to answer.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// The reason why the process did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The runtime could not be started.
    #[error("the runtime could not be started")]
    Runtime(#[source] std::io::Error),
    /// A port is taken or not allowed.
    #[error(
        "port {port} cannot be listened on; choose another one with --port, --health-port or --prometheus-port"
    )]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder of policies cannot be watched.
    #[error("{} cannot be watched; name a folder of YAML files", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: notify::Error,
    },
    /// There is no kubeconfig, and this is not a pod.
    #[error(
        "no cluster is configured; set KUBECONFIG (`webtroller serve --standalone FOLDER` and `webtroller audit FILE` need none)"
    )]
    NoCluster(#[source] kube::config::InferConfigError),
    /// The API server refused something that the operator cannot do without.
    #[error("a required request failed")]
    Cluster(#[source] kube::Error),
    /// The operator's CRDs are not there.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A step of the removal failed.
    #[error(transparent)]
    Uninstall(#[from] UninstallError),
    /// Reports cannot be stored.
    #[error("this pod could not be registered")]
    Report(#[from] pod_status::Error),
    /// Statements may have been made without this pod.
    #[error("{0}; start again, so that everything is read anew")]
    Fenced(pod_status::FencedError),
    /// A defect of the composition.
    #[error("metrics cannot be collected")]
    Metrics(#[from] metrics::MetricsError),
    /// A task that the process cannot do without ended.
    #[error("the task {task} ended before its time; look for a panic above, and start again")]
    TaskEnded {
        /// Its name.
        task: &'static str,
    },
    /// A defect of the composition.
    #[error("the watches could not be set up")]
    Watch(#[from] watch_manager::Error),
    /// Several pods wrote the certificate's Secret over and over.
    #[error("the Secret {name} is being written by other pods; start again")]
    CertificateContended {
        /// Its name.
        name: String,
    },
    /// Another program's Secret is where the certificate should be.
    #[error(
        "the Secret {name} was not written by webtroller and cannot be used: {reason}; renew it, delete it, or name \
         another one with --cert-secret-name"
    )]
    ForeignSecret {
        /// Its name.
        name: String,
        /// The defect.
        reason: String,
    },
    /// The files named by --cert-dir cannot be used.
    #[error("a certificate file cannot be used: {0}; --cert-dir needs tls.crt, tls.key and ca.crt")]
    CertificateFiles(String),
    /// There is no certificate to serve.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Standard output is gone, or the temporary folder is not writable.
    #[error("the verdicts could not be shown")]
    Screen(#[source] std::io::Error),
}

impl RunError {
    /// Returns the error and its causes in one line.
    #[must_use]
    pub fn causes(&self) -> String {
        crate::api_error::causes(self)
    }
}

/// Runs the command that the arguments name, to its end.
///
/// # Errors
/// The reason why the process could not do its work; the message says what to do about it.
pub fn run(args: Args) -> Result<ExitCode, RunError> {
    crate::cli::set_color(args.color);
    match args.command {
        Command::Verify(verify) => Ok(with_streams(|_, out, err| crate::cli::verify(&verify, out, err))),
        Command::Schema(schema) => {
            Ok(with_streams(|input, out, err| crate::cli::schema(&schema, input.reader, out, err)))
        }
        Command::Test(test) => Ok(with_streams(|input, out, err| crate::cli::test(&test, input, out, err))),
        Command::Explain(explain) => {
            Ok(with_streams(|input, out, err| crate::cli::explain(&explain, input, out, err)))
        }
        Command::Expand(expand) => {
            Ok(with_streams(|input, out, err| crate::cli::expand(&expand, input, out, err)))
        }
        Command::Lint(lint) => Ok(with_streams(|input, out, err| crate::cli::lint(&lint, input, out, err))),
        Command::Coverage(args) => Ok(with_streams(|_, out, err| crate::cli::coverage(&args, out, err))),
        Command::Sync(sync) => Ok(with_streams(|input, out, err| crate::cli::sync(&sync, input, out, err))),
        Command::Completion { shell } => {
            Ok(with_streams(|_, out, err| completions::complete(shell, out, err)))
        }
        Command::Man { folder } => Ok(completions::manual(&folder, &mut std::io::stderr())),
        Command::Version(version) => Ok(with_streams(|_, out, err| crate::cli::version(&version, out, err))),
        Command::Bench(bench) => {
            Ok(with_streams(|input, out, err| crate::cli::bench(&bench, input, out, err)))
        }
        Command::Function(function) => {
            Ok(with_streams(|input, out, err| crate::cli::function(&function, input, out, err)))
        }
        Command::Rego(rego) => Ok(ExitCode::from(rego_cli::rego(
            &rego,
            &mut std::io::stdin(),
            &mut std::io::stdout(),
            &mut std::io::stderr(),
        ))),
        Command::Model(model) => Ok(with_streams(|_, out, err| crate::cli::model(&model, out, err))),
        Command::Audit(args) => on_runtime(cluster::audit_once(&args)),
        Command::ExplainProgress(args) => on_runtime(explain_progress(&args)),
        Command::Policy(args) => on_runtime(policy(&args)),
        Command::Migrate(MigrateCommand::Check(args)) => on_runtime(migrate::check(&args)),
        Command::Uninstall(args) => on_runtime(uninstall::run(&args)),
        Command::Serve(serve) => on_runtime(async {
            match serve.standalone.clone() {
                Some(folder) => standalone::run(&serve, &folder).await,
                None => cluster::run(&serve).await,
            }
        }),
    }
}

/// `webtroller explain-progress`, in the cluster of the current kubeconfig.
async fn explain_progress(args: &ProgressArgs) -> Result<ExitCode, RunError> {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    crate::progress::explain_progress(args, cluster::connect, &mut out, &mut err).await.map(ExitCode::from)
}

/// `webtroller policy`, of files and of the cluster of the current kubeconfig.
async fn policy(args: &crate::catalog::PolicyArgs) -> Result<ExitCode, RunError> {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    crate::catalog::policy(args, cluster::connect, &mut out, &mut err).await.map(ExitCode::from)
}

fn on_runtime(command: impl Future<Output = Result<ExitCode, RunError>>) -> Result<ExitCode, RunError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(RunError::Runtime)?;
    let ended = runtime.block_on(command);
    // A policy may still be computing for a client that is gone; it must not keep the process alive.
    runtime.shutdown_timeout(LAST_THREADS);
    ended
}

/// Runs a command that reads and writes the process's own streams.
fn with_streams(command: impl FnOnce(StandardInput<'_>, &mut dyn Write, &mut dyn Write) -> u8) -> ExitCode {
    let mut stdin = std::io::stdin().lock();
    let is_terminal = stdin.is_terminal();
    let input = StandardInput { reader: &mut stdin, is_terminal };
    // Standard error is not locked: a progress bar writes there, too.
    ExitCode::from(command(input, &mut std::io::stdout().lock(), &mut std::io::stderr()))
}

/// The time for a review without `?timeout=`: the webhook is registered with it.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(3);

/// `/v1/admit` and `/v1/admitlabel`. Until `is_ready` nothing is judged: an answer from half a policy set would be a wrong one.
fn admission_routes(
    webhook: Webhook,
    exempt: ExemptNamespaces,
    is_ready: impl Fn() -> bool + Send + Sync + 'static,
) -> AdmissionRoutes {
    let not_ready = "not ready: the policies that existed at start are still being read";
    AdmissionRoutes::new()
        .with_handler("/v1/admit", webhook)
        .with_handler("/v1/admitlabel", LabelGuard(exempt))
        .with_readiness(move || is_ready().then_some(()).ok_or_else(|| vec![not_ready.to_owned()].into()))
        .with_timeout(ADMISSION_TIMEOUT)
}

/// Reviews judged at once: as many as there are cores, unless the arguments say otherwise.
fn concurrency(args: &ServeArgs) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    args.max_serving_threads.unwrap_or(cores)
}
