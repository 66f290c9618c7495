//! How the process ends: a signal, a while of refusing to be ready, then a drain.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two steps of ending, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown {
    /// Cancelled when the process has been asked to end: it is no longer ready, and still serves.
    pub(super) asked: CancellationToken,
    /// Cancelled when it must stop taking requests and finish those it has.
    pub(super) drain: CancellationToken,
}

impl Shutdown {
    /// Waits for SIGTERM or SIGINT, then `delay`, then drains. A second signal drains at once.
    ///
    /// Endpoints need the delay to learn that this pod is gone; until then requests keep coming and are answered.
    ///
    /// # Errors
    /// When the process cannot listen to signals.
    pub(super) async fn on_signal(self, delay: Duration) -> std::io::Result<()> {
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
