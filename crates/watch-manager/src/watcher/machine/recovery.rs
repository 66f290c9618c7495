//! Recovery of a failed watch: when it announces to other watches that the server answers again, when it acts on their
//! announcements, and when it no longer counts as ready.

use std::time::{Duration, Instant};

use super::super::phase::Phase;
use super::Machine;
use crate::event::GvkStatus;

/// The time within which waiting kinds return when the server is back.
const WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    /// The others are to be notified.
    news: bool,
    /// They were notified, and no watch has lived since for long enough to be well. A kind whose watches open and end all the
    /// time is not news about the others.
    notified: bool,
    /// Before this time the wait does not end for others a second time.
    deaf_until: Option<Instant>,
}

// === impl Recovery ===

impl Recovery {
    /// A watch is open after so many failed attempts.
    pub(super) fn on_ready(&mut self, attempts: u32) {
        self.news |= attempts > 0 && !self.notified;
        self.notified |= self.news;
    }
}

// === impl Machine ===

impl Machine {
    /// Returns true if a failing watch has become ready since the last call.
    pub(crate) fn take_recovered(&mut self) -> bool {
        std::mem::take(&mut self.recovery.news)
    }

    /// A watch has lived for so long that the server is well.
    pub(super) fn on_healthy(&mut self) {
        self.recovery.notified = false;
        self.retrying.reset();
        self.relisting.reset();
        self.refused.reset();
        self.discovering.reset();
    }

    /// Another watch of this manager has recovered: the server is back. `spread` is this watch's share of the
    /// time over which all return.
    ///
    /// A wait that ends early adds an attempt to those that the delays allow, so it does that once in each longest delay
    /// of its kind: others that recover all the time at most double the rate.
    pub(crate) fn on_recovery(&mut self, now: Instant, spread: f64) {
        let Phase::Wait { until, recovers: Some(once_in), .. } = &mut self.phase else { return };
        let soon = now.checked_add(WITHIN.mul_f64(spread.clamp(0.0, 1.0))).unwrap_or(now);
        if soon < *until && self.recovery.deaf_until.is_none_or(|until| until <= now) {
            self.recovery.deaf_until = now.checked_add(*once_in);
            *until = soon;
        }
    }

    /// The time at which a kind that counts as ready does not any more, because it was not watched for
    /// `Config::request_timeout`: the next watch is not open, or its request waits for a place.
    pub(crate) fn late_at(&self) -> Option<Instant> {
        self.unwatched.and_then(|since| since.checked_add(self.config.request_timeout))
    }

    /// That time has come. It is not a failure: the request is sent, or keeps its place.
    pub(crate) fn on_late(&mut self) {
        self.unwatched = None;
        let limit = self.config.request_timeout.as_secs();
        let error =
            format!("not watched for {limit} s: the next request waits for others, or for its answer");
        self.report(GvkStatus::Stale { error: error.into() });
    }

    pub(super) fn note_absence(&mut self, now: Instant) {
        if self.reported != GvkStatus::Ready || self.is_following() {
            self.unwatched = None;
        } else if self.unwatched.is_none() {
            self.unwatched = Some(now);
        }
    }
}
