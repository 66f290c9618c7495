//! The end of a process: a signal, a time of not being ready, then the shutdown.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Waits for SIGTERM or SIGINT, cancels `draining`, and after `delay` cancels `shutdown`.
///
/// Load balancers need the delay to take this process out; until then requests keep coming and are answered. Give `draining` to
/// [`Server::with_drain_signal`](crate::Server::with_drain_signal) and `shutdown` to [`Server::run`](crate::Server::run).
///
/// # Guarantees
/// - When it returns `Ok`, both tokens are cancelled, `draining` first.
/// - A second signal ends the delay. So does another owner who cancels `shutdown`, also before the first signal.
/// - Dropping the future cancels neither token.
///
/// # Assumptions
/// It runs on a tokio runtime with I/O and time enabled. From the first call on, these signals do not end the process by themselves,
/// also after the future is dropped.
///
/// # Errors
/// If the process cannot install the handlers of the signals. Neither token is cancelled then.
pub async fn shutdown_on_signal(
    draining: CancellationToken,
    delay: Duration,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = shutdown.cancelled() => {}
    }
    draining.cancel();
    tracing::info!(delay = ?delay, "asked to end");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = tokio::time::sleep(delay) => {}
        () = shutdown.cancelled() => {}
    }
    shutdown.cancel();
    Ok(())
}
