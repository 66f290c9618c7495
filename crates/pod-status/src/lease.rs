//! One pod at a time: work that runs only while this process holds a `coordination.k8s.io` Lease.
//!
//! Clocks of two machines are never compared. A candidate watches the Lease through its own monotonic
//! clock: only when the record has not changed for its whole duration does it claim. The holder counts from
//! the *start* of its last successful renewal and stops its work well before a candidate may claim.
//!
//! A Lease is no fence: a request that is already on its way arrives all the same. Work that must not be
//! repeated also needs a precondition in its writes.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

/// Which Lease, and for whom.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Namespace of the Lease, which is created when absent.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who claims it; different in every run of every process, such as `pod-name_incarnation`.
    pub holder: String,
    /// How long the record must stand still before another process takes over. At least 3 seconds.
    pub duration: Duration,
}

impl Claim {
    /// The renewal period: a third of the duration.
    fn period(&self) -> Duration {
        self.lease_duration().checked_div(3).unwrap_or_default()
    }

    /// After this long without a successful renewal the work ends: two thirds of the duration.
    fn patience(&self) -> Duration {
        self.period().saturating_mul(2)
    }

    fn lease_duration(&self) -> Duration {
        self.duration.max(Duration::from_secs(3))
    }
}

/// Runs `work` whenever this process holds the Lease, until `shutdown`, then gives the Lease back.
///
/// `work` is called anew for each term and should run until it is dropped. It is dropped at its next
/// `.await` when the Lease is lost and at shutdown; when it returns by itself, so does this function, after
/// giving the Lease back. Failed requests are logged and retried.
///
/// Dropping the future ends the work at once and leaves the Lease to expire.
pub async fn lead<W, F>(client: kube::Client, claim: Claim, shutdown: CancellationToken, mut work: W)
where
    W: FnMut() -> F,
    F: Future<Output = ()>,
{
    let mut candidate = Candidate::new(client, claim);
    while let Some(renewed) = shutdown.run_until_cancelled(candidate.wait_for_turn()).await {
        tracing::info!(lease = candidate.claim.name, holder = candidate.claim.holder, "lease acquired");
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
            return candidate.release().await;
        }
    }
}

/// What a candidate sees of the Lease.
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
    claim: Claim,
    observation: Observation,
    /// The Lease as last read or written by us.
    lease: Lease,
}

impl Candidate {
    fn new(client: kube::Client, claim: Claim) -> Self {
        let api = Api::namespaced(client, &claim.namespace);
        Self { api, claim, observation: Observation::default(), lease: Lease::default() }
    }

    /// Waits until the Lease is ours. Returns when the request that made it so was started.
    async fn wait_for_turn(&mut self) -> Instant {
        loop {
            let started = Instant::now();
            let next = started.checked_add(self.claim.period()).unwrap_or(started);
            match timeout_at(next, self.try_claim(started)).await {
                Ok(Ok(None)) => return started,
                Ok(Ok(Some(expiry))) => sleep_until(next.min(expiry)).await,
                Ok(Err(error)) if is_conflict(&error) => sleep_until(next).await,
                Ok(Err(error)) => {
                    tracing::warn!(lease = self.claim.name, %error, "cannot claim the lease, will retry");
                    sleep_until(next).await;
                }
                Err(_) => tracing::warn!(lease = self.claim.name, "claiming the lease timed out, will retry"),
            }
        }
    }

    /// Reads the Lease and claims it if it may be. Returns when it expires if it is another's.
    async fn try_claim(&mut self, now: Instant) -> kube::Result<Option<Instant>> {
        let Some(lease) = self.api.get_opt(&self.claim.name).await? else {
            self.lease = Lease::default();
            self.lease.metadata.name = Some(self.claim.name.clone());
            self.lease.spec = Some(self.spec(true));
            self.lease = self.api.create(&PostParams::default(), &self.lease).await?;
            return Ok(None);
        };
        let turn = self.observation.see(record(&lease, self.claim.lease_duration()), &self.claim.holder, now);
        self.lease = lease;
        match turn {
            Turn::WaitUntil(expiry) => Ok(Some(expiry)),
            Turn::Claim => {
                let taken_over = self.holder() != Some(self.claim.holder.as_str());
                self.write(self.spec(taken_over)).await?;
                Ok(None)
            }
        }
    }

    /// Renews until that has failed for too long, or another process has the Lease.
    async fn hold(&mut self, mut renewed: Instant) {
        loop {
            let next = renewed.checked_add(self.claim.period()).unwrap_or(renewed);
            let deadline = renewed.checked_add(self.claim.patience()).unwrap_or(renewed);
            sleep_until(next.min(deadline)).await;
            let mut attempts = pin!(self.renew(deadline));
            match timeout_at(deadline, &mut attempts).await {
                Ok(Some(started)) => renewed = started,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Tries until `deadline`. Nothing when the Lease is another's.
    async fn renew(&mut self, deadline: Instant) -> Option<Instant> {
        loop {
            let started = Instant::now();
            // A fifth of the remaining time each, so that one lost connection does not cost the Lease.
            let budget = deadline.saturating_duration_since(started).checked_div(5).unwrap_or_default();
            let until = started.checked_add(budget.max(Duration::from_millis(100))).unwrap_or(deadline);
            match timeout_at(until, self.write(self.spec(false))).await {
                Ok(Ok(())) => return Some(started),
                Ok(Err(error)) if is_conflict(&error) => {
                    // Somebody else wrote: a takeover, or an annotation that harms nobody.
                    let Ok(Ok(lease)) = timeout_at(until, self.api.get(&self.claim.name)).await else {
                        continue;
                    };
                    self.lease = lease;
                    if self.holder() != Some(self.claim.holder.as_str()) {
                        return None;
                    }
                }
                Ok(Err(kube::Error::Api(status))) if status.is_not_found() => return None,
                Ok(Err(error)) => {
                    tracing::warn!(lease = self.claim.name, %error, "cannot renew the lease, will retry");
                    sleep_until(until).await;
                }
                Err(_) => {}
            }
        }
    }

    /// Gives the Lease back, so that the next holder need not wait. At most one attempt.
    async fn release(&mut self) {
        if self.holder() != Some(self.claim.holder.as_str()) {
            return;
        }
        let spec = LeaseSpec { holder_identity: None, ..self.spec(false) };
        let until = Instant::now().checked_add(self.claim.period());
        let Some(until) = until else { return };
        if !matches!(timeout_at(until, self.write(spec)).await, Ok(Ok(()))) {
            tracing::debug!(lease = self.claim.name, "the lease was not given back and will expire");
        }
    }

    /// Replaces the Lease that was read last; a conflict if it has been written since.
    async fn write(&mut self, spec: LeaseSpec) -> kube::Result<()> {
        let wanted = Lease { spec: Some(spec), ..self.lease.clone() };
        self.lease = self.api.replace(&self.claim.name, &PostParams::default(), &wanted).await?;
        Ok(())
    }

    fn holder(&self) -> Option<&str> {
        self.lease.spec.as_ref()?.holder_identity.as_deref()
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

/// What the Lease says. One that does not say how long it lasts is taken to last as long as ours.
fn record(lease: &Lease, default: Duration) -> Record {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Record {
        holder: spec.holder_identity,
        duration: seconds.map_or(default, Duration::from_secs),
        version: lease.metadata.resource_version.clone(),
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists())
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

    #[test]
    fn a_lease_without_a_duration_lasts_as_long_as_ours() {
        let start = Instant::now();
        let turn = Observation::default().see(lease(Some("other"), None, "1"), "me", start);
        assert_eq!(turn, Turn::WaitUntil(after(start, 15)));
    }
}
