//! The watch of one kind, as a stream of steps: find out how it is served, list it, follow it, begin again
//! as far back as needed. It decides when to wait and when to look again; it keeps no objects and knows no
//! registrar. `manager` polls it and drops it to stop it.
//!
//! Why not `kube::runtime::watcher`: it holds on to a URL and a resourceVersion when the kind goes away and
//! comes back, its backoff restarts with every attempt to list, and a server that closes watches at once
//! makes it spin. The rules here follow
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes> and
//! client-go's reflector.

mod phase;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::core::ApiResource;
use serde_json::value::RawValue;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use self::phase::{Following, Listing, Phase};
use crate::backoff::Backoff;
use crate::config::Config;
use crate::event::{GvkStatus, Verb};
use crate::object::{Keep, WatchedObject};
use crate::roster::Gvk;
use crate::source::{Frame, Listed, Page, Source, SourceError};
use crate::switchboard::Step;

/// A watch that ends sooner, and brought nothing, counts as a failure. client-go draws the same line.
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// A watch that lived longer has proved that the server is well.
const HEALTHY_WATCH: Duration = Duration::from_secs(60);
/// After so many expired pages the list is asked for in one piece.
const EXPIRED_PAGES: u32 = 2;

/// What all feeds of a manager share.
#[derive(Clone)]
pub(crate) struct Supply {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) config: Arc<Config>,
    /// Limits how many kinds start at once.
    pub(crate) starts: Arc<Semaphore>,
}

pub(crate) struct Feed {
    supply: Supply,
    gvk: Gvk,
    /// Rung when somebody believes that the kind is served now.
    hint: Arc<Notify>,
    phase: Phase,
    outbox: VecDeque<Step>,
    reported: GvkStatus,
    /// Whether a list was completed since the kind was last served.
    complete: bool,
    /// One each, because a success of one says nothing about the others.
    discovering: Backoff,
    listing: Backoff,
    watching: Backoff,
    refused: Backoff,
}

// === impl Feed ===

impl Feed {
    pub(crate) fn new(supply: Supply, gvk: Gvk, hint: Arc<Notify>) -> Self {
        let backoff = |delays| Backoff::new(delays, supply.config.jitter_seed);
        Self {
            discovering: backoff(supply.config.discovery),
            listing: backoff(supply.config.retry),
            watching: backoff(supply.config.retry),
            refused: backoff(supply.config.refused),
            supply,
            gvk,
            hint,
            phase: Phase::Resolve,
            outbox: VecDeque::new(),
            reported: GvkStatus::Pending,
            complete: false,
        }
    }

    /// The next step. Endless; not cancel-safe, so the stream around it is dropped as a whole.
    pub(crate) async fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.outbox.pop_front() {
                return step;
            }
            self.phase = match std::mem::replace(&mut self.phase, Phase::Resolve) {
                Phase::Resolve => self.resolve().await,
                Phase::List(listing) => self.list(listing).await,
                Phase::Connect { resource, version } => self.connect(resource, version).await,
                Phase::Follow(following) => self.follow(following).await,
                Phase::Wait { delay, then } => self.wait(delay, *then).await,
            };
        }
    }

    /// Resolve => List | Wait
    async fn resolve(&mut self) -> Phase {
        let permit = self.permit().await;
        match self.supply.source.resolve(&self.gvk).await {
            Ok(served) => {
                if let Some(verb) = served.missing {
                    self.report(GvkStatus::Unwatchable { verb });
                    return Phase::wait(self.refused.next_delay(), Phase::Resolve);
                }
                self.discovering.reset();
                if !self.complete {
                    self.report(GvkStatus::Listing);
                }
                Phase::List(self.listing_of(served.resource, permit))
            }
            Err(SourceError::NotServed) => {
                self.lose();
                Phase::wait(self.discovering.next_delay(), Phase::Resolve)
            }
            Err(error) => {
                let delay = self.fail(Verb::Discover, &error, |feed| &mut feed.discovering);
                Phase::wait(delay, Phase::Resolve)
            }
        }
    }

    /// List => List | Connect | Resolve | Wait
    async fn list(&mut self, mut listing: Listing) -> Phase {
        if listing.permit.is_none() {
            listing.permit = self.permit().await;
        }
        if listing.page.continue_token.is_none() {
            self.outbox.push_back(Step::ListStarted);
        }
        match self.supply.source.list(&listing.resource, &listing.page).await {
            Ok(page) => self.listed(listing, page),
            Err(SourceError::Expired) if listing.page.continue_token.is_some() => {
                listing.expired = listing.expired.saturating_add(1);
                let limit = (listing.expired < EXPIRED_PAGES).then_some(self.supply.config.page_size);
                listing.page = Page { limit, continue_token: None };
                Phase::List(listing)
            }
            Err(SourceError::NotServed) => self.look_again(),
            Err(error) => self.unlisted(listing.resource, &error),
        }
    }

    fn listed(&mut self, mut listing: Listing, page: Listed) -> Phase {
        let objects = page.items.iter().filter_map(|raw| self.seal(raw)).collect();
        self.outbox.push_back(Step::Listed(objects));
        if let Some(token) = page.continue_token {
            listing.page.continue_token = Some(token);
            return Phase::List(listing);
        }
        if page.resource_version.is_empty() {
            // A watch from the empty version would begin anywhere.
            let error = SourceError::Unavailable("the list has no resourceVersion".to_owned());
            return self.unlisted(listing.resource, &error);
        }
        self.outbox.push_back(Step::ListDone);
        self.complete = true;
        self.listing.reset();
        Phase::Connect { resource: listing.resource, version: page.resource_version }
    }

    fn unlisted(&mut self, resource: ApiResource, error: &SourceError) -> Phase {
        let delay = self.fail(Verb::List, error, |feed| &mut feed.listing);
        Phase::wait(delay, Phase::List(self.listing_of(resource, None)))
    }

    /// Connect => Follow | List | Resolve | Wait
    async fn connect(&mut self, resource: ApiResource, version: String) -> Phase {
        let permit = self.permit().await;
        let opened = self.supply.source.watch(&resource, &version, self.supply.config.watch_timeout).await;
        drop(permit);
        match opened {
            Ok(frames) => {
                self.refused.reset();
                self.report(GvkStatus::Ready);
                let since = Instant::now();
                Phase::Follow(Following { resource, version, frames, since, advanced: false })
            }
            Err(error) => self.interrupted(resource, version, &error),
        }
    }

    /// Follow => Follow | Connect | List | Resolve | Wait
    async fn follow(&mut self, mut following: Following) -> Phase {
        let next = timeout(self.supply.config.idle_timeout, following.frames.next()).await;
        match next {
            Ok(Some(Ok(frame))) => {
                self.pass_on(frame, &mut following);
                Phase::Follow(following)
            }
            Ok(Some(Err(SourceError::Undecodable(error)))) => {
                self.skip(&*error);
                Phase::Follow(following)
            }
            Ok(Some(Err(error))) => {
                self.judge(&following);
                self.interrupted(following.resource, following.version, &error)
            }
            // The server closed the watch, as it does when `watch_timeout` is over.
            Ok(None) if following.advanced || following.since.elapsed() >= SHORT_WATCH => {
                self.judge(&following);
                Phase::Connect { resource: following.resource, version: following.version }
            }
            Ok(None) => {
                let error = SourceError::Unavailable("the server closes watches at once".to_owned());
                self.interrupted(following.resource, following.version, &error)
            }
            // Silence for longer than the server may keep a watch open: the connection is dead.
            Err(_) => {
                self.judge(&following);
                Phase::Connect { resource: following.resource, version: following.version }
            }
        }
    }

    /// Wait => what it waited for; a hint ends the wait, and the next waits are short: what is hinted at may
    /// not have reached every part of the server.
    async fn wait(&mut self, delay: Duration, then: Phase) -> Phase {
        tokio::select! {
            () = sleep(delay) => {}
            () = self.hint.notified() => {
                self.discovering.reset();
                self.refused.reset();
            }
        }
        then
    }

    fn pass_on(&mut self, frame: Frame, following: &mut Following) {
        let (raw, step): (_, fn(Arc<WatchedObject>) -> Step) = match frame {
            Frame::Bookmark(version) => {
                following.version = version;
                return;
            }
            Frame::Applied(raw) => (raw, Step::Applied),
            Frame::Deleted(raw) => (raw, Step::Deleted),
        };
        let Some(object) = self.seal(&raw) else { return };
        if object.resource_version() != following.version {
            following.version = object.resource_version().to_owned();
            following.advanced = true;
        }
        self.outbox.push_back(step(object));
    }

    /// A watch that could not be opened, or broke.
    fn interrupted(&mut self, resource: ApiResource, version: String, error: &SourceError) -> Phase {
        if matches!(error, SourceError::NotServed) {
            return self.look_again();
        }
        let delay = self.fail(Verb::Watch, error, |feed| &mut feed.watching);
        let then = match error {
            SourceError::Expired => Phase::List(self.listing_of(resource, None)),
            _ => Phase::Connect { resource, version },
        };
        Phase::wait(delay, then)
    }

    /// The kind is not where it was: it may be gone, or served elsewhere. The first time at once, because
    /// that is how the end of a kind shows.
    fn look_again(&mut self) -> Phase {
        let first = self.listing.is_fresh();
        let delay = self.listing.next_delay();
        if first { Phase::Resolve } else { Phase::wait(delay, Phase::Resolve) }
    }

    /// The kind is not served. A version of it seen so far says nothing about the kind that may come back.
    fn lose(&mut self) {
        if self.complete {
            self.complete = false;
            self.outbox.push_back(Step::Gone);
        }
        self.report(GvkStatus::Pending);
    }

    /// Reports a failure; how long to wait for the next attempt.
    fn fail(
        &mut self,
        verb: Verb,
        error: &SourceError,
        backoff: impl FnOnce(&mut Self) -> &mut Backoff,
    ) -> Duration {
        if let SourceError::Forbidden(message) = error {
            self.report(GvkStatus::Forbidden { verb, error: message.as_str().into() });
            return self.refused.next_delay();
        }
        let error: Arc<str> = error.to_string().into();
        self.report(if self.complete { GvkStatus::Stale { error } } else { GvkStatus::Degraded { error } });
        backoff(self).next_delay()
    }

    /// A watch is over: did it show that the server is well?
    fn judge(&mut self, following: &Following) {
        if following.advanced || following.since.elapsed() >= HEALTHY_WATCH {
            self.watching.reset();
        }
    }

    fn report(&mut self, status: GvkStatus) {
        if self.reported == status {
            return;
        }
        if status.is_stuck() {
            tracing::warn!(kind = %self.gvk.kind, group = %self.gvk.group, %status, "cannot watch");
        } else {
            tracing::debug!(kind = %self.gvk.kind, group = %self.gvk.group, %status, "watch changed state");
        }
        self.reported = status.clone();
        self.outbox.push_back(Step::Status(status));
    }

    fn seal(&mut self, raw: &RawValue) -> Option<Arc<WatchedObject>> {
        let keep = if self.supply.config.keep_managed_fields {
            Keep::Everything
        } else {
            Keep::WithoutManagedFields
        };
        match WatchedObject::seal(&self.gvk, raw, keep) {
            Ok(object) => Some(Arc::new(object)),
            Err(error) => {
                self.skip(&error);
                None
            }
        }
    }

    fn skip(&mut self, error: &dyn std::error::Error) {
        tracing::warn!(kind = %self.gvk.kind, group = %self.gvk.group, %error, "skipped what is no object");
        self.outbox.push_back(Step::Undecodable);
    }

    fn listing_of(&self, resource: ApiResource, permit: Option<OwnedSemaphorePermit>) -> Listing {
        let page = Page { limit: Some(self.supply.config.page_size), continue_token: None };
        Listing { resource, page, expired: 0, permit }
    }

    /// `None` never comes: the semaphore is not closed.
    async fn permit(&mut self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.supply.starts).acquire_owned().await.ok()
    }
}
