//! The consequences of a failed request: the status to report, the delay, and the point from which to begin again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::super::phase::{Listing, Phase};
use super::Machine;
use crate::dispatcher::Step;
use crate::event::{GvkStatus, Verb};
use crate::object::{Remains, WatchedObject};
use crate::source::{Freshness, Page, SourceError, WatchTarget};

/// The longest time for which a server that is too busy is left alone, whatever it asks for.
const BUSY: Duration = Duration::from_secs(300);

// === impl Machine ===

impl Machine {
    /// A watch that could not be opened, or broke. If the server rejects it, the version may be what it cannot read, so the
    /// kind is listed, as client-go does (`Reflector.watch` in `tools/cache/reflector.go`: every error at the start of a
    /// watch but a refused connection and 429). Unlike there, a server that is starting (503) or refuses (403) is asked for the
    /// same version again: it has not judged it, and lists of all kinds are what it needs least.
    pub(super) fn disconnect(
        &mut self,
        now: Instant,
        target: WatchTarget,
        version: String,
        error: &SourceError,
    ) {
        let again = match error {
            SourceError::Expired | SourceError::Rejected(_) | SourceError::Undecodable(_) => {
                Phase::List(self.listing(target))
            }
            _ => self.resume(target, version),
        };
        self.interrupt(now, Verb::Watch, error, again);
    }

    /// Goes on at `version`, or lists again if that leaves something unknown.
    pub(super) fn resume(&self, target: WatchTarget, version: String) -> Phase {
        match self.doubtful {
            true => Phase::List(self.listing(target)),
            false => Phase::Connect { target, version },
        }
    }

    /// A kind that is not where it was may be gone, or served elsewhere. The first time it is discovered at once,
    /// because that is how the end of a kind shows.
    pub(super) fn interrupt(&mut self, now: Instant, verb: Verb, error: &SourceError, again: Phase) {
        if !matches!(error, SourceError::NotServed) {
            return self.fail(now, verb, error, again);
        }
        if self.retrying.is_fresh() {
            self.retrying.next_delay();
            self.phase = Phase::start(Freshness::Now);
        } else {
            self.fail(now, verb, error, Phase::start(Freshness::Now));
        }
    }

    /// The kind is not served. A version of it seen so far means nothing for the kind that may come back.
    pub(super) fn on_absent(&mut self, now: Instant) {
        self.forget();
        self.attempts = self.attempts.saturating_add(1);
        self.report(GvkStatus::Pending);
        let delay = self.discovering.next_delay();
        self.wait(now, delay, None, Phase::start(Freshness::Recent));
    }

    /// The objects that the store may hold do not exist any more.
    pub(super) fn forget(&mut self) {
        if std::mem::take(&mut self.listed) {
            self.complete = false;
            self.discovering.reset();
            self.steps.push_back(Step::Gone);
        }
    }

    pub(super) fn refuse(&mut self, now: Instant, status: GvkStatus) {
        self.attempts = self.attempts.saturating_add(1);
        self.report(status);
        let delay = self.refused.next_delay();
        self.wait(now, delay, None, Phase::start(Freshness::Recent));
    }

    /// Reports a failure and waits before `then`.
    pub(super) fn fail(&mut self, now: Instant, verb: Verb, error: &SourceError, then: Phase) {
        self.attempts = self.attempts.saturating_add(1);
        if let SourceError::Forbidden(message) = error {
            self.report(GvkStatus::Forbidden { verb, error: message.as_str().into() });
            let delay = self.refused.next_delay();
            return self.wait(now, delay, Some(self.config.refused.max), then);
        }
        let message: Arc<str> = error.to_string().into();
        self.report(match self.complete {
            true => GvkStatus::Stale { error: message },
            false => GvkStatus::Degraded { error: message },
        });
        // A list after a watch that was rejected costs more than another attempt to watch.
        let delay = match (verb, &then) {
            (Verb::Watch, Phase::List(_)) => self.relisting.next_delay(),
            _ => self.retrying.next_delay(),
        };
        match error {
            SourceError::Busy { retry_after, .. } => {
                self.wait(now, delay.max((*retry_after).min(BUSY)), None, then);
            }
            _ => self.wait(now, delay, Some(self.config.retry.max), then),
        }
    }

    fn wait(&mut self, now: Instant, delay: Duration, recovers: Option<Duration>, then: Phase) {
        let until = now.checked_add(delay).unwrap_or(now);
        self.phase = Phase::Wait { until, recovers, then: Box::new(then) };
    }

    pub(super) fn begin_list(&mut self, target: WatchTarget) {
        if !self.complete {
            self.report(GvkStatus::Listing);
        }
        self.phase = Phase::List(self.listing(target));
    }

    pub(super) fn listing(&self, target: WatchTarget) -> Listing {
        Listing { target, page: Page::first(Some(self.config.page_size)), expired: 0 }
    }

    /// Queues the state if it or the number of attempts changed, and whenever a watch is open: registrars that joined
    /// meanwhile may not know.
    pub(super) fn report(&mut self, status: GvkStatus) {
        let news = self.reported != status;
        if news && status.is_stuck() {
            tracing::warn!(%status, "cannot watch the kind");
        } else if news {
            tracing::debug!(%status, attempts = self.attempts, "the watch changed state");
        }
        if news || self.attempts > 0 || status.is_ready() {
            self.reported = status.clone();
            self.steps.push_back(Step::Status(status, self.attempts));
        }
    }

    pub(super) fn decode(
        &mut self,
        raw: &RawValue,
        unreadable: fn(Remains) -> Step,
    ) -> Option<Arc<WatchedObject>> {
        match self.decoder.decode(raw) {
            Ok(object) => Some(Arc::new(object)),
            Err(error) => {
                self.skip(&error, Remains::of(raw), unreadable);
                None
            }
        }
    }

    /// Something cannot be read: what is known of it stays.
    pub(super) fn skip(
        &mut self,
        error: &dyn std::error::Error,
        remains: Remains,
        unreadable: fn(Remains) -> Step,
    ) {
        let object = remains.key.as_ref().map(tracing::field::display);
        tracing::warn!(%error, object, "cannot read what the server sent as an object: its previous state is kept");
        self.doubtful |= remains.key.is_none();
        self.steps.push_back(unreadable(remains));
    }
}
