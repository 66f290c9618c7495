//! A kind that is followed at the version which the server prefers. A change of its definition is seen at once, but discovery
//! shows it later, within no bound that Kubernetes states: so the kind is discovered again after growing delays, for as long as it is
//! watched.
//!
//! Worked example: a definition gets a version v2 at 0 s. Its event comes at 0.1 s, discovery still prefers v1; the kind is
//! discovered again between 1 s and 2 s later, then after 2 s to 4 s, and so on. If discovery never shows more, the delays end at
//! half of `Config::watch_timeout` and up to as much again: v2 is followed at most `Config::watch_timeout` after discovery
//! prefers it, even if no event about the definition arrives.
//!
//! An open watch goes on meanwhile: discovery that hangs or fails costs it nothing.

use std::time::{Duration, Instant};

use super::super::phase::{Listing, Phase};
use super::Machine;
use crate::backoff::Backoff;
use crate::config::{BackoffRange, Config};
use crate::object::Decoder;
use crate::source::{Freshness, Served, SourceError};

/// The schedule of discovering a watched kind again.
#[derive(Debug, Clone)]
pub(super) struct DiscoverySchedule {
    /// `None` for a kind of a certain version.
    delays: Option<Backoff>,
    next: Option<Instant>,
    freshness: Freshness,
}

// === impl DiscoverySchedule ===

impl DiscoverySchedule {
    pub(super) fn new(config: &Config, decoder: &Decoder) -> Self {
        let longest = config.watch_timeout.checked_div(2).unwrap_or_default();
        let delays = BackoffRange::new(config.discovery.min, longest.max(Duration::from_secs(1)));
        let delays = decoder.follows_preferred().then(|| Backoff::new(delays, config.jitter_seed));
        Self { delays, next: None, freshness: Freshness::Recent }
    }

    /// The definition changes: the kind is discovered at once, and again soon.
    pub(super) fn hasten(&mut self, now: Instant) {
        self.delays.iter_mut().for_each(Backoff::reset);
        self.next = self.delays.as_ref().map(|_| now);
        self.freshness = Freshness::Now;
    }

    /// The kind is discovered now, or was.
    pub(super) fn schedule(&mut self, now: Instant) {
        self.next = self.delays.as_mut().and_then(|delays| now.checked_add(delays.next_delay()));
        self.freshness = Freshness::Recent;
    }

    fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|at| at <= now)
    }
}

// === impl Machine ===

impl Machine {
    /// Returns when to look beside the open watch.
    pub(crate) fn look_at(&self, now: Instant) -> Option<Instant> {
        let paced = now.checked_add(self.requests.delay(now)).unwrap_or(now);
        self.discovery.next.map(|at| at.max(paced))
    }

    /// Begins a look beside the open watch if it is time to. It counts as a request.
    pub(crate) fn begin_look(&mut self, now: Instant) -> Option<Freshness> {
        if !self.is_following() || self.look_at(now).is_none_or(|at| at > now) {
            return None;
        }
        self.requests.take(now);
        let freshness = self.discovery.freshness;
        self.discovery.schedule(now);
        Some(freshness)
    }

    /// Only a kind that is served otherwise is listed again. Whether it is gone, the watch itself shows: a server that starts
    /// answers discovery before it knows all kinds.
    pub(crate) fn on_looked(&mut self, answer: Result<Served, SourceError>) {
        let (Phase::Follow(following), Ok(served)) = (&self.phase, answer) else { return };
        if served.missing.is_none() && served.resource != following.target.resource {
            self.follow_as(served.resource);
        }
    }

    /// Discovers the kind before it is listed or watched another time, if it is time to: the version that fails may not be
    /// the preferred one any more.
    pub(super) fn look_first(&mut self, now: Instant) {
        let is_first = match &self.phase {
            Phase::Connect { .. } => true,
            Phase::List(Listing { page, .. }) => page.continue_token.is_none(),
            _ => false,
        };
        if is_first && self.attempts > 0 && self.discovery.is_due(now) {
            let look = Phase::Discover { freshness: self.discovery.freshness, resume: None };
            let former = std::mem::replace(&mut self.phase, look);
            if let Phase::Discover { resume, .. } = &mut self.phase {
                *resume = Some(Box::new(former));
            }
        }
    }
}
