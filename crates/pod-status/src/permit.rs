//! The permit to answer as an enforcing pod: self-fencing by the process's own monotonic clock.
//!
//! A run with a fence of `T` renews its registration every `T / 3`. When `T` has passed since the *start* of
//! the last successful renewal, the permit is over. The aggregator counts from the moment it *saw* that
//! renewal, which is later, and adds a tenth and a second for clocks that run at different rates; from then
//! on it makes statements without the run. So no statement is made while the run still answers.
//!
//! A process that was frozen runs no timer. Ask [`Permit::check`] after the decision and before the answer
//! is sent: it compares the clock, so it also refuses in the first instant after the freeze.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::strict_rollout::Schedule;

/// The error of a process that must not answer as an enforcing pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FencedError {
    /// The run has never been registered.
    #[error("this pod is not registered yet")]
    Unregistered,
    /// The registration could not be renewed in time. Statements may have been made without this run.
    #[error("this pod could not renew its registration in time")]
    Expired,
    /// The Pod object is gone or finished: this process is left over. This is final.
    #[error("the Pod object of this process has been deleted")]
    PodDeleted,
    /// Another process has registered under the identity of this pod again and again. This is final.
    #[error("another process has the identity of this pod")]
    Duplicate,
    /// The shutdown token of [`crate::ReporterDriver::run`] is cancelled. This is final.
    #[error("this pod has reported that it has stopped")]
    Stopped,
}

impl FencedError {
    /// Returns true if no renewal ends this state: the process should end.
    pub fn is_final(self) -> bool {
        matches!(self, Self::PodDeleted | Self::Duplicate | Self::Stopped)
    }
}

/// The permit of this run to answer as an enforcing pod. Clones are the same permit.
///
/// ```no_run
/// # async fn run(reporter: pod_status::StatusReporter, shutdown: tokio_util::sync::CancellationToken) {
/// let permit = reporter.permit();
/// tokio::spawn({
///     let permit = permit.clone();
///     async move {
///         let reason = permit.fenced().await;
///         tracing::error!(%reason, "the process ends and starts anew");
///         shutdown.cancel();
///     }
/// });
/// # let decide = || "allowed";
/// let decision = decide();
/// let answer = permit.check().map(|()| decision); // an error: answer with 503
/// # let _ = answer;
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Permit {
    inner: Arc<Inner>,
    /// In a strict rollout a run that may not know what is in force does not renew its registration.
    schedule: Option<Schedule>,
}

#[derive(Debug)]
struct Inner {
    /// Nothing when the reporter has no fence: then only a deleted pod ends the permit.
    fence: Option<Duration>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// The permit ends then.
    until: Option<Instant>,
    fenced: Option<FencedError>,
}

impl State {
    /// The last renewal is recent enough.
    fn is_renewed(&self) -> bool {
        self.until.is_none_or(|until| until > Instant::now())
    }
}

impl Permit {
    pub(crate) fn new(fence: Option<Duration>) -> Self {
        let state = State { until: None, fenced: fence.map(|_| FencedError::Unregistered) };
        let inner = Inner { fence, state: Mutex::new(state), changed: watch::Sender::new(0) };
        Self { inner: Arc::new(inner), schedule: None }
    }

    pub(crate) fn with_schedule(self, schedule: Option<Schedule>) -> Self {
        Self { schedule, ..self }
    }

    pub(crate) fn may_renew(&self) -> bool {
        self.schedule.as_ref().is_none_or(Schedule::is_fresh)
    }

    /// Checks that the run may answer as an enforcing pod at this moment. Costs a lock and a look at the clock.
    ///
    /// # Errors
    ///
    /// [`FencedError`] if it may not. Answer with a failure (HTTP 503), so that the caller's failure policy
    /// applies.
    pub fn check(&self) -> Result<(), FencedError> {
        let mut state = self.state();
        if state.fenced.is_none() && state.until.is_some_and(|until| Instant::now() >= until) {
            state.fenced = Some(FencedError::Expired);
            metrics::counter!("pod_status_fenced_total").increment(1);
            tracing::error!("this pod could not renew its registration and stops answering");
        }
        state.fenced.map_or(Ok(()), Err)
    }

    /// Waits until the permit is over after it was granted. Returns the reason.
    ///
    /// # Guarantees
    ///
    /// - Returns at the instant from which [`Permit::check`] fails, as exactly as the timer. After a freeze of the process the timer
    ///   is late and `check` is not: this is for ending the process, `check` for each answer.
    /// - Waits while the run has not been registered yet; returns at once when the permit is over already.
    /// - Cancel-safe.
    pub async fn fenced(&self) -> FencedError {
        let mut changed = self.inner.changed.subscribe();
        loop {
            match self.check() {
                Err(fenced) if fenced != FencedError::Unregistered => return fenced,
                _ => {}
            }
            let until = self.state().until;
            tokio::select! {
                _ = changed.changed() => {}
                () = sleep_until_or_never(until) => {}
            }
        }
    }

    /// Waits until an expired registration has been renewed. List the parents *after* this, by a consistent
    /// read, ingest them, and call [`Permit::resume`].
    ///
    /// # Guarantees
    ///
    /// - Returns at once while the permit is valid, and grants nothing by itself.
    /// - Waits as long as the renewal takes. Cancel-safe.
    ///
    /// # Assumptions
    ///
    /// - [`crate::ReporterDriver::run`] is polled by another task: it renews the registration.
    ///
    /// # Errors
    ///
    /// [`FencedError`] if there will be no renewal ([`FencedError::is_final`]): the pod is gone, has stopped, or another process
    /// has its identity.
    pub async fn renewed(&self) -> Result<(), FencedError> {
        let mut changed = self.inner.changed.subscribe();
        loop {
            match self.check() {
                Ok(()) => return Ok(()),
                Err(fenced) if fenced.is_final() => return Err(fenced),
                Err(FencedError::Expired) if self.state().is_renewed() => return Ok(()),
                Err(_) => {}
            }
            // The sender lives in `self`.
            let _ = changed.changed().await;
        }
    }

    /// Grants the permit again after [`Permit::renewed`] and the ingestion of all parents.
    ///
    /// # Errors
    ///
    /// [`FencedError`] if it stays refused: the registration has expired once more, or the end is final.
    pub fn resume(&self) -> Result<(), FencedError> {
        let mut state = self.state();
        if state.is_renewed() && state.fenced == Some(FencedError::Expired) {
            state.fenced = None;
        }
        drop(state);
        self.check()
    }

    /// The registration was renewed by a request that was started then.
    pub(crate) fn renewed_at(&self, started: Instant) {
        let mut state = self.state();
        if let Some(fence) = self.inner.fence {
            // An answer that comes after the end does not undo it.
            if state.fenced.is_none() && state.until.is_some_and(|until| Instant::now() >= until) {
                state.fenced = Some(FencedError::Expired);
            }
            state.until = started.checked_add(fence);
        }
        if state.fenced == Some(FencedError::Unregistered) {
            state.fenced = None;
        }
        drop(state);
        self.notify();
    }

    /// Ends the permit for good. The first reason stays.
    pub(crate) fn end(&self, reason: FencedError) {
        let mut state = self.state();
        if !state.fenced.is_some_and(FencedError::is_final) {
            state.fenced = Some(reason);
        }
        drop(state);
        self.notify();
    }

    fn notify(&self) {
        self.inner.changed.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A panic while the state is locked can only be a failed allocation: the state is intact.
    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sleep_until_or_never(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const FENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn the_permit_ends_when_the_renewal_is_too_old_even_if_no_timer_ran() {
        let permit = Permit::new(Some(FENCE));
        assert_eq!(permit.check(), Err(FencedError::Unregistered));
        let started = Instant::now();
        advance(Duration::from_secs(5)).await;
        permit.renewed_at(started);
        assert_eq!(permit.check(), Ok(()));
        advance(Duration::from_secs(24)).await;
        assert_eq!(permit.check(), Ok(()));
        advance(Duration::from_secs(1)).await;
        assert_eq!(
            permit.check(),
            Err(FencedError::Expired),
            "30 s after the start of the request, not its answer"
        );
        assert_eq!(permit.fenced().await, FencedError::Expired);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_alone_does_not_grant_an_expired_permit_again() {
        let permit = Permit::new(Some(FENCE));
        permit.renewed_at(Instant::now());
        advance(FENCE).await;
        // Without any call meanwhile, the permit has expired all the same.
        permit.renewed_at(Instant::now());
        assert_eq!(permit.check(), Err(FencedError::Expired));
        assert_eq!(permit.renewed().await, Ok(()));
        assert_eq!(permit.resume(), Ok(()));
        assert_eq!(permit.check(), Ok(()));
        advance(FENCE).await;
        assert_eq!(permit.resume(), Err(FencedError::Expired), "not without another renewal");
        permit.end(FencedError::PodDeleted);
        permit.renewed_at(Instant::now());
        assert_eq!(permit.resume(), Err(FencedError::PodDeleted), "final");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_fence_only_a_deleted_pod_ends_the_permit() {
        let permit = Permit::new(None);
        assert_eq!(permit.check(), Ok(()));
        advance(Duration::from_secs(1_000_000)).await;
        assert_eq!(permit.check(), Ok(()));
        permit.end(FencedError::PodDeleted);
        assert_eq!(permit.fenced().await, FencedError::PodDeleted);
    }
}
