//! A progress bar on standard error, for runs of more than a moment on a terminal.

use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter runs show nothing.
const MOMENT: Duration = Duration::from_secs(1);

/// The progress of a run. Shared by threads.
pub(super) struct Progress {
    bar: ProgressBar,
    shown: OnceLock<()>,
}

impl Progress {
    /// A run over so many `what`.
    pub(super) fn new(total: usize, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(u64::try_from(total).ok(), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, shown: OnceLock::new() }
    }

    /// One more is done.
    pub(super) fn advance(&self) {
        if self.bar.elapsed() > MOMENT {
            // Where standard error is not a terminal, nothing is drawn.
            self.shown.get_or_init(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
        self.bar.inc(1);
    }

    /// Runs what writes to the terminal without drawing over it.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
