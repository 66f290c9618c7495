//! Rotation: clients trust the next certificate before it is served, and the former one until it has expired.
//!
//! Pure: the caller stores the states, and applies them to its servers and clients.

use std::time::{Duration, SystemTime};

use crate::certificate::{CertificateError, ServingCertificate, certificates};
use crate::pem::merge_authorities;

/// The lengths of the phases of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RotationTimes {
    /// The life of a certificate. Default one year.
    pub lifetime: Duration,
    /// The time before expiry at which the next certificate is announced. Default a quarter of the lifetime.
    pub renew_before: Duration,
    /// The time between the announcement and the first use of a certificate, in which all clients must load its
    /// authority. Default five minutes.
    pub overlap: Duration,
}

impl Default for RotationTimes {
    fn default() -> Self {
        Self::new(Duration::from_secs(365 * 24 * 60 * 60), Duration::from_secs(5 * 60))
    }
}

impl RotationTimes {
    /// Creates times for a lifetime: a certificate is renewed when a quarter of it is left.
    pub fn new(lifetime: Duration, overlap: Duration) -> Self {
        Self { lifetime, renew_before: lifetime.checked_div(4).unwrap_or(lifetime), overlap }
    }
}

/// The certificates of a service: the one that is served, and the next one once it is announced.
///
/// A rotation from certificate A to B, with the authorities in brackets:
///
/// ```text
/// serve A [a]  →  announce B: serve A [a b]  →  after the overlap: serve B [b a]  →  a has expired: serve B [b]
/// ```
///
/// A client that trusts the authorities of one state accepts what a server of the state before or after serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSet {
    /// The certificate to serve, with all authorities that clients must trust.
    pub serving: ServingCertificate,
    /// The certificate to serve next, with its own authority, once it is announced.
    pub next: Option<ServingCertificate>,
}

impl CertificateSet {
    /// Returns a set that serves one certificate.
    pub const fn new(serving: ServingCertificate) -> Self {
        Self { serving, next: None }
    }

    /// Returns the state that follows at `now`, or `None` while nothing has to change.
    ///
    /// `trusted_for` is the time for which the caller has known that all clients are configured to trust the authorities of
    /// this state, by a clock of its own that cannot jump: the clocks of the processes that share a state may differ, so it
    /// holds no times. Without it, or while it is shorter than the overlap, a rotation waits. `renew` asks for a rotation
    /// before its time.
    ///
    /// # Errors
    /// When the PEM text cannot be read, or no certificate can be made for `hosts`.
    pub fn step(
        &self,
        now: SystemTime,
        times: &RotationTimes,
        hosts: &[String],
        trusted_for: Option<Duration>,
        renew: bool,
    ) -> Result<Option<Self>, CertificateError> {
        let expires = self.serving.expires()?;
        if let Some(next) = &self.next {
            let is_over = trusted_for.is_some_and(|passed| passed >= times.overlap);
            // No client accepts an expired certificate: there is nothing to wait for.
            let promote = is_over || expires <= now;
            return Ok(promote.then(|| self.promoted(next, now)));
        }
        if renew || expires <= now.checked_add(times.renew_before).unwrap_or(now) {
            let next = ServingCertificate::generate_for(hosts, now, times.lifetime)?;
            let mut serving = self.serving.clone();
            serving.authority = unexpired(&[&serving.authority, &next.authority], now);
            return Ok(Some(Self { serving, next: Some(next) }));
        }
        let authority = unexpired(&[&self.serving.authority], now);
        let retires = certificates(&authority)?.len() < certificates(&self.serving.authority)?.len();
        let serving = ServingCertificate { authority, ..self.serving.clone() };
        Ok((retires && !serving.authority.is_empty()).then_some(Self { serving, next: None }))
    }

    fn promoted(&self, next: &ServingCertificate, now: SystemTime) -> Self {
        let former = certificates(&self.serving.authority).unwrap_or_default();
        let own = certificates(&next.authority).unwrap_or_default();
        let has_own = own.iter().all(|certificate| former.contains(certificate));
        // The former authority stays: a server that has not heard of the change serves its certificate.
        let authority = if has_own {
            unexpired(&[&self.serving.authority], now)
        } else {
            unexpired(&[&next.authority, &self.serving.authority], now)
        };
        Self { serving: ServingCertificate { authority, ..next.clone() }, next: None }
    }
}

/// The certificates of several PEM texts that have not expired.
fn unexpired(texts: &[&str], now: SystemTime) -> String {
    merge_authorities(texts, "", now)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers")]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn times() -> RotationTimes {
        RotationTimes::new(100 * HOUR, 2 * HOUR)
    }

    fn hosts() -> Vec<String> {
        vec!["webhook.svc".to_owned()]
    }

    /// A client that trusts `trusted` and a server that serves `served` shake hands.
    fn agree(trusted: &CertificateSet, served: &CertificateSet, now: SystemTime) {
        let seen =
            ServingCertificate { authority: trusted.serving.authority.clone(), ..served.serving.clone() };
        seen.verify("webhook.svc", now).unwrap();
    }

    #[test]
    fn a_client_that_is_one_state_ahead_or_behind_accepts_the_certificate() {
        let start = SystemTime::now();
        let first = ServingCertificate::generate_for(&hosts(), start, 100 * HOUR).unwrap();
        let mut states = vec![CertificateSet::new(first)];
        for hour in 0..400_u32 {
            let now = start + hour * HOUR;
            let current = states.last().unwrap().clone();
            if let Some(next) = current.step(now, &times(), &hosts(), Some(HOUR * 2), false).unwrap() {
                agree(&current, &next, now);
                agree(&next, &current, now);
                assert!(certificates(&next.serving.authority).unwrap().len() <= 2);
                states.push(next);
            }
            agree(states.last().unwrap(), states.last().unwrap(), now);
        }
        // Five rotations of three states, and at least two of the sixth.
        assert!(states.len() >= 15, "{}", states.len());
    }

    #[test]
    fn a_rotation_waits_for_the_overlap_and_for_trust_but_not_beyond_the_expiry() {
        let start = SystemTime::now();
        let first = ServingCertificate::generate_for(&hosts(), start, 100 * HOUR).unwrap();
        let set = CertificateSet::new(first);
        let step = |set: &CertificateSet, hours: u32, trusted: Option<u32>| {
            set.step(start + hours * HOUR, &times(), &hosts(), trusted.map(|hours| hours * HOUR), false)
                .unwrap()
        };
        assert_eq!(step(&set, 74, Some(74)), None);
        let announced = step(&set, 75, Some(75)).unwrap();
        assert_eq!(
            (&announced.serving.certificate, announced.next.is_some()),
            (&set.serving.certificate, true)
        );
        // The clock may have jumped: what counts is the time for which the announcement is known.
        assert_eq!((step(&announced, 99, Some(1)), step(&announced, 78, None)), (None, None));
        for (hours, trusted) in [(77, Some(2)), (60, Some(2)), (100, None)] {
            let promoted = step(&announced, hours, trusted).unwrap();
            assert_eq!(promoted.serving.certificate, announced.next.clone().unwrap().certificate);
            assert_eq!(promoted.next, None);
        }
        assert!(
            set.step(start, &times(), &hosts(), None, true).unwrap().is_some_and(|set| set.next.is_some())
        );
    }
}
