//! Leader election under a `coordination.k8s.io` Lease: work that runs in one process at a time.
//!
//! Clocks of two machines are never compared. A candidate watches the Lease through its own monotonic
//! clock: only when the record has not changed for its whole duration does it claim. The holder counts from
//! the *start* of its last successful renewal and stops its work well before a candidate may claim.
//!
//! With the default duration of 15 s the holder renews every 2 s and gives up 10 s after the last success.
//! A renewal that is not answered within 1 s is sent again while the first one is still waited for, so that
//! one lost connection does not cost the Lease and a server that needs 2 s for an answer does not either.
//! One that is refused is sent again after a quarter of a second, also when the server asks to wait for longer
//! (`Retry-After`): some 30 times in the 8 s that are left. A server that refuses four of five requests then
//! refuses all of them once in 800 renewals (0.8³⁰), and with one attempt in a second would in every sixth (0.8⁸).
//!
//! A Lease is not a fence: a request that is already on its way arrives all the same. Work that must not be
//! repeated also needs a precondition in its writes.

mod requests;

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::identity::PodIdentity;
use crate::pace::answered_within;
use crate::reason::reason;

use requests::{attempt, is_conflict, write};

/// Renewals that are waited for at the same time.
const ATTEMPTS: usize = 3;

/// The Lease to claim, and the name of the claimant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeaseClaim {
    /// Namespace of the Lease, which is created when absent.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// The claimant; different in every run of every process.
    pub holder: String,
    /// The time for which the record must stand still before another process takes over. At least 3 seconds.
    pub duration: Duration,
}

impl LeaseClaim {
    /// Returns a claim of the Lease `name` in the pod's namespace, for 15 seconds.
    pub fn new(identity: &PodIdentity, name: impl Into<String>) -> Self {
        Self {
            namespace: identity.namespace.clone(),
            name: name.into(),
            holder: identity.holder(),
            duration: Duration::from_secs(15),
        }
    }

    /// Sets the time after which another process takes over; at least 3 seconds.
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    fn lease_duration(&self) -> Duration {
        self.duration.max(Duration::from_secs(3))
    }

    /// This many sixtieths of the duration.
    fn sixtieths(&self, count: u32) -> Duration {
        self.lease_duration().saturating_mul(count).checked_div(60).unwrap_or_default()
    }

    /// Time between two renewals.
    fn period(&self) -> Duration {
        self.sixtieths(8)
    }

    /// After this long without a successful renewal the work ends.
    fn patience(&self) -> Duration {
        self.sixtieths(40)
    }

    /// Returns how long one answer is waited for.
    fn attempt(&self) -> Duration {
        self.sixtieths(16)
    }

    /// After this long without an answer a renewal is sent again.
    fn hedge(&self) -> Duration {
        self.sixtieths(4)
    }

    /// The pause after a failure.
    fn pause(&self) -> Duration {
        self.sixtieths(1)
    }
}

/// Runs `work` whenever this process holds the Lease, until `shutdown`, then gives the Lease back.
///
/// `work` is called anew for each term and should run until it is dropped. When it returns by itself, so does this function,
/// after giving the Lease back.
///
/// # Guarantees
///
/// - `work` is dropped at its next `.await` when the Lease is lost, two thirds of its duration after the start of the last renewal
///   that succeeded, and at `shutdown`. It runs in the same task: it cannot outlive this future.
/// - No two processes run `work` at once, if both keep their clocks running and reach an `.await` within a third of the duration.
///   A request that is already sent is not called back.
/// - Failed requests are logged and retried; it gives up a term, never the wait for the next one.
/// - Returns 4/15 of the duration after `shutdown` or the end of `work` at the latest, or twice that if a claim is being sent. A Lease that could not be given back expires.
/// - Dropping the future ends the work at once and leaves the Lease to expire.
///
/// # Assumptions
///
/// - Each process, and each run of a process, has another [`LeaseClaim::holder`].
/// - Writes that must not happen twice have a precondition of their own.
/// - `get`, `create` and `update` of Leases are granted in the namespace.
pub async fn lead<W, F>(client: kube::Client, claim: LeaseClaim, shutdown: CancellationToken, mut work: W)
where
    W: FnMut() -> F,
    F: Future<Output = ()>,
{
    let mut candidate = Candidate::new(client, claim);
    while let Some(renewed) = candidate.wait_for_turn(&shutdown).await {
        tracing::info!(lease = candidate.claim.name, holder = candidate.claim.holder, "lease acquired");
        metrics::counter!("pod_status_lease_terms_total").increment(1);
        let term = async {
            tokio::select! {
                // The loss comes first: work whose term is over must not run one step more.
                biased;
                () = candidate.hold(renewed) => true,
                () = work() => false,
            }
        };
        let lost = shutdown.run_until_cancelled(term).await.unwrap_or(false);
        tracing::info!(lease = candidate.claim.name, holder = candidate.claim.holder, lost, "lease ended");
        if !lost {
            break;
        }
    }
    candidate.release().await;
}

/// The Lease as a candidate sees it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    holder: Option<String>,
    duration: Duration,
    /// Changes with every write.
    version: Option<String>,
}

/// The candidate's decision: pure, over its own monotonic clock.
#[derive(Debug, Default)]
struct Observation {
    last: Option<(Record, Instant)>,
}

#[derive(Debug, PartialEq)]
enum Turn {
    /// The Lease is free, ours, or has stood still for its whole duration.
    Claim,
    /// Look again then, or earlier.
    WaitUntil(Instant),
}

impl Observation {
    fn see(&mut self, record: Record, me: &str, now: Instant) -> Turn {
        let free = record.holder.as_deref().is_none_or(|holder| holder.is_empty() || holder == me);
        let since = match &self.last {
            Some((known, since)) if *known == record => *since,
            _ => now,
        };
        let expiry = since.checked_add(record.duration).unwrap_or(now);
        self.last = Some((record, since));
        if free || now >= expiry { Turn::Claim } else { Turn::WaitUntil(expiry) }
    }
}

struct Candidate {
    api: Api<Lease>,
    claim: LeaseClaim,
    observation: Observation,
    /// The Lease as last read or written by us.
    lease: Lease,
    /// A write of ours was sent and its outcome is not known.
    unsettled: bool,
}

impl Candidate {
    fn new(client: kube::Client, claim: LeaseClaim) -> Self {
        let api = Api::namespaced(client, &claim.namespace);
        let (observation, lease) = (Observation::default(), Lease::default());
        Self { api, claim, observation, lease, unsettled: false }
    }

    /// Waits until the Lease is ours. Returns when the request that made it so was started; nothing at
    /// shutdown, which interrupts reads and pauses but never a claim that has been sent.
    async fn wait_for_turn(&mut self, shutdown: &CancellationToken) -> Option<Instant> {
        loop {
            let turn = shutdown.run_until_cancelled(self.observe()).await?;
            let poll = self.claim.sixtieths(12);
            let pause = match turn {
                Ok(Turn::WaitUntil(expiry)) => poll.min(expiry.saturating_duration_since(Instant::now())),
                Ok(Turn::Claim) => match self.take(shutdown).await {
                    Ok(started) => return Some(started),
                    Err(error) if is_conflict(&error) => poll,
                    Err(error) => self.failed(&error),
                },
                Err(error) => self.failed(&error),
            };
            shutdown.run_until_cancelled(sleep(pause)).await?;
        }
    }

    fn failed(&self, error: &kube::Error) -> Duration {
        tracing::warn!(lease = self.claim.name, reason = reason(error), "cannot claim the lease, will retry");
        self.claim.hedge()
    }

    /// Reads the Lease. An absent one is free.
    async fn observe(&mut self) -> kube::Result<Turn> {
        let lease = answered_within(self.claim.attempt(), self.api.get_opt(&self.claim.name)).await?;
        self.unsettled = false;
        let Some(lease) = lease else {
            self.lease = Lease::default();
            self.lease.metadata.name = Some(self.claim.name.clone());
            return Ok(Turn::Claim);
        };
        let record = record(&lease, self.claim.lease_duration());
        self.lease = lease;
        Ok(self.observation.see(record, &self.claim.holder, Instant::now()))
    }

    /// Claims the Lease that was read last, and tries again while that is refused for another reason than
    /// a newer version: the version is the precondition that makes repeating it safe.
    async fn take(&mut self, shutdown: &CancellationToken) -> kube::Result<Instant> {
        let spec = self.spec(!self.is_ours());
        let wanted = Lease { spec: Some(spec), ..self.lease.clone() };
        let deadline = Instant::now().checked_add(self.claim.patience());
        loop {
            let started = Instant::now();
            self.unsettled = true;
            let error = match write(&self.api, &wanted, self.claim.attempt()).await {
                Ok(lease) => {
                    (self.lease, self.unsettled) = (lease, false);
                    return Ok(started);
                }
                Err(error) => error,
            };
            let is_over = deadline.is_none_or(|deadline| Instant::now() >= deadline);
            if is_conflict(&error) || is_over || shutdown.is_cancelled() {
                return Err(error);
            }
            shutdown.run_until_cancelled(sleep(self.claim.pause())).await;
        }
    }

    /// Renews until that has failed for too long, or another process has the Lease.
    async fn hold(&mut self, mut renewed: Instant) {
        loop {
            let next = renewed.checked_add(self.claim.period()).unwrap_or(renewed);
            let deadline = renewed.checked_add(self.claim.patience()).unwrap_or(renewed);
            sleep_until(next.min(deadline)).await;
            match timeout_at(deadline, self.renew()).await {
                Ok(Some(started)) => renewed = started,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Tries until it is dropped. Nothing when the Lease is another's.
    async fn renew(&mut self) -> Option<Instant> {
        let mut attempts = FuturesUnordered::new();
        let mut next = Instant::now();
        self.unsettled = true;
        loop {
            tokio::select! {
                Some((started, answer)) = attempts.next() => match answer {
                    Ok(lease) => {
                        (self.lease, self.unsettled) = (lease, false);
                        return Some(started);
                    }
                    Err(error) if is_conflict(&error) => {
                        // Another client wrote, or an attempt of ours whose answer was lost.
                        attempts.clear();
                        if self.reread().await.is_ok_and(|lease| !is_held_by(&lease, &self.claim.holder)) {
                            return None;
                        }
                        next = later(self.claim.pause());
                    }
                    Err(kube::Error::Api(status)) if status.is_not_found() => return None,
                    Err(error) => {
                        let (lease, reason) = (&self.claim.name, reason(&error));
                        tracing::warn!(lease, reason, "cannot renew the lease, will retry");
                        let pause = later(self.claim.pause());
                        // Others that are waited for may still succeed.
                        next = if attempts.is_empty() { pause } else { next.max(pause) };
                    }
                },
                () = sleep_until(next), if attempts.len() < ATTEMPTS => {
                    let wanted = Lease { spec: Some(self.spec(false)), ..self.lease.clone() };
                    attempts.push(attempt(self.api.clone(), wanted, self.claim.attempt()));
                    next = later(self.claim.hedge());
                }
            }
        }
    }

    async fn reread(&mut self) -> kube::Result<Lease> {
        let lease = answered_within(self.claim.attempt(), self.api.get(&self.claim.name)).await?;
        self.lease = lease.clone();
        Ok(lease)
    }

    /// Gives the Lease back, so that the next holder need not wait. Gives up after the time for one renewal.
    async fn release(&mut self) {
        let deadline = later(self.claim.attempt());
        if !matches!(timeout_at(deadline, self.give_back()).await, Ok(Ok(()))) {
            tracing::debug!(lease = self.claim.name, "the lease was not given back and will expire");
        }
    }

    async fn give_back(&mut self) -> kube::Result<()> {
        loop {
            if self.unsettled {
                self.reread().await?;
            }
            if !self.is_ours() {
                return Ok(());
            }
            let spec = LeaseSpec { holder_identity: None, ..self.spec(false) };
            let wanted = Lease { spec: Some(spec), ..self.lease.clone() };
            match write(&self.api, &wanted, self.claim.attempt()).await {
                Err(error) if is_conflict(&error) => self.unsettled = true,
                other => return other.map(drop),
            }
            sleep(self.claim.pause()).await;
        }
    }

    fn is_ours(&self) -> bool {
        is_held_by(&self.lease, &self.claim.holder)
    }

    /// The wall-clock times are for people who read the Lease; nothing here reads them.
    fn spec(&self, taken_over: bool) -> LeaseSpec {
        let old = self.lease.spec.clone().unwrap_or_default();
        let now = Some(MicroTime(Timestamp::now()));
        let transitions = old.lease_transitions.unwrap_or_default();
        let seconds = self.claim.lease_duration().as_secs();
        LeaseSpec {
            holder_identity: Some(self.claim.holder.clone()),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            acquire_time: if taken_over { now.clone() } else { old.acquire_time },
            lease_transitions: Some(transitions.saturating_add(i32::from(taken_over))),
            renew_time: now,
            ..LeaseSpec::default()
        }
    }
}

/// Reads the Lease. One that does not state how long it lasts is taken to last as long as ours.
fn record(lease: &Lease, default: Duration) -> Record {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Record {
        holder: spec.holder_identity,
        duration: seconds.map_or(default, Duration::from_secs),
        version: lease.metadata.resource_version.clone(),
    }
}

fn is_held_by(lease: &Lease, holder: &str) -> bool {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(holder)
}

fn later(delay: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(delay).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Duration = Duration::from_secs(15);

    fn lease(holder: Option<&str>, seconds: Option<i32>, version: &str) -> Record {
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some(version.to_owned());
        lease.spec = Some(LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: seconds,
            ..LeaseSpec::default()
        });
        record(&lease, OURS)
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start.checked_add(Duration::from_secs(seconds)).unwrap()
    }

    #[test]
    fn a_lease_that_is_free_or_ours_may_be_claimed() {
        for holder in [None, Some(""), Some("me")] {
            let turn = Observation::default().see(lease(holder, Some(15), "1"), "me", Instant::now());
            assert_eq!(turn, Turn::Claim);
        }
    }

    #[test]
    fn anothers_lease_must_stand_still_for_its_own_duration() {
        let start = Instant::now();
        let mut observation = Observation::default();
        let mut see = |version, at| observation.see(lease(Some("other"), Some(40), version), "me", at);
        assert_eq!(see("1", start), Turn::WaitUntil(after(start, 40)));
        assert_eq!(see("1", after(start, 39)), Turn::WaitUntil(after(start, 40)));
        assert_eq!(see("2", after(start, 39)), Turn::WaitUntil(after(start, 79)), "it was renewed");
        assert_eq!(see("2", after(start, 79)), Turn::Claim);
    }

    /// The holder's clock is ten minutes slow, then ten minutes fast, and jumps with every renewal.
    #[test]
    fn the_times_in_a_lease_change_nothing() {
        let start = Instant::now();
        let mut observation = Observation::default();
        for (version, seconds) in [("1", -600), ("2", 600), ("3", -600)] {
            let time =
                Timestamp::now().checked_add(k8s_openapi::jiff::SignedDuration::from_secs(seconds)).ok();
            let spec = LeaseSpec {
                holder_identity: Some("other".into()),
                renew_time: time.map(MicroTime),
                acquire_time: time.map(MicroTime),
                ..LeaseSpec::default()
            };
            let mut lease = Lease { spec: Some(spec), ..Lease::default() };
            lease.metadata.resource_version = Some(version.into());
            let turn = observation.see(record(&lease, OURS), "me", start);
            assert_eq!(turn, Turn::WaitUntil(after(start, 15)));
        }
    }

    #[test]
    fn a_lease_without_a_duration_lasts_as_long_as_ours() {
        let start = Instant::now();
        let turn = Observation::default().see(lease(Some("other"), None, "1"), "me", start);
        assert_eq!(turn, Turn::WaitUntil(after(start, 15)));
    }
}
