//! The end of a process: a signal, a time of not being ready, then a drain.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two steps of ending, in order.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when the process has been asked to end: it is no longer ready, and still serves.
    pub asked: CancellationToken,
    /// Cancelled when it stops accepting connections and finishes the requests that have begun.
    pub drain: CancellationToken,
}

impl Shutdown {
    /// Waits for SIGTERM or SIGINT, cancels `asked`, and after `delay` cancels `drain`. A second signal drains at once.
    ///
    /// Load balancers need the delay to take this process out; until then requests keep coming and are answered.
    ///
    /// # Errors
    /// When the process cannot listen to signals.
    pub async fn on_signal(self, delay: Duration) -> std::io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = self.drain.cancelled() => {}
        }
        self.asked.cancel();
        tracing::info!(delay = ?delay, "asked to end");
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = tokio::time::sleep(delay) => {}
            () = self.drain.cancelled() => {}
        }
        self.drain.cancel();
        Ok(())
    }
}
