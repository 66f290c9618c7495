//! The composition root: processes made of the other rooms. Nobody else uses this one.

mod admission_routes;
mod args;
mod certificate;
mod health_routes;
mod server;
mod shutdown;
mod standalone;

use std::path::PathBuf;
use std::process::ExitCode;

pub use args::{Args, Command, FailurePolicy, LogFormat, ServeArgs, WebhookArgs};
pub use certificate::{CertificateError, ServingCertificate};

/// What kept the process from doing its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The runtime could not be started.
    #[error("the runtime could not be started")]
    Runtime(#[source] std::io::Error),
    /// A port is taken or not allowed.
    #[error("port {port} cannot be listened on; choose another one with --port or --health-port")]
    Listen {
        /// The port.
        port: u16,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder of policies cannot be watched.
    #[error("{} cannot be watched; name a folder of YAML files", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: notify::Error,
    },
    /// There is no certificate to serve.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Standard output is gone, or the temporary folder is not writable.
    #[error("the verdicts could not be shown")]
    Screen(#[source] std::io::Error),
}

/// Runs the command that the arguments name, to its end.
///
/// # Errors
/// What kept the process from doing its work; the message says what to do about it.
pub fn run(args: Args) -> Result<ExitCode, RunError> {
    match args.command {
        Command::Verify(verify) => Ok(crate::cli::verify(&verify)),
        Command::Serve(serve) => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .map_err(RunError::Runtime)?;
            runtime.block_on(async {
                match serve.standalone.clone() {
                    Some(folder) => standalone::run(&serve, &folder).await,
                    None => standalone::run(&serve, &PathBuf::new()).await,
                }
            })
        }
    }
}

/// Reviews judged at once: as many as there are cores, unless the arguments say otherwise.
fn concurrency(args: &ServeArgs) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    args.max_serving_threads.unwrap_or(cores)
}
