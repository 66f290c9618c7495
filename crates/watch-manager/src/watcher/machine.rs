//! The decisions of one watch: discover, list, follow, wait, and begin again as far back as needed. Pure: answers
//! and the time go in, the next request and steps come out. `watcher` performs the requests; the tests of
//! `dispatcher` explore it together with a server that fails at every point.
//!
//! The rules follow
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes> and client-go's
//! reflector. `kube::runtime::watcher` is not used: see `docs/upstream` for its defects.
//!
//! Failures and delays are in `machine/failure.rs`, the recovery of others in `machine/recovery.rs`, the version that the
//! server prefers in `machine/preferred.rs`. Two things limit the requests. Delays grow with each failure, and start over
//! only when a watch has lived for ten seconds. Below them, a [`Pacer`] that knows nothing of answers bounds the rate.

mod failure;
mod preferred;
mod recovery;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::core::ApiResource;
use serde_json::value::RawValue;

use super::pace::Pacer;
use super::phase::{Action, Following, Listing, Phase};

use self::preferred::DiscoverySchedule;
use self::recovery::Recovery;
use crate::backoff::Backoff;
use crate::config::{BackoffRange, Config};
use crate::dispatcher::Step;
use crate::event::{GvkStatus, Verb};
use crate::interest::{Part, Selection};
use crate::object::{Decoder, Remains, WatchedObject};
use crate::source::{Freshness, Listed, Page, Served, SourceError, SourceEvent, WatchTarget};

/// A watch that ends sooner counts as a failure. client-go draws the same line.
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// A watch that lived longer has shown that the server is well.
const HEALTHY_WATCH: Duration = Duration::from_secs(10);
/// After so many expired pages the list is requested in one piece.
const EXPIRED_PAGES: u32 = 2;
/// The longest delay before a list that follows a refused watch, before the random part. client-go has the same.
const RELIST: Duration = Duration::from_secs(30);
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    config: Arc<Config>,
    decoder: Decoder,
    part: Part,
    selection: Selection,
    phase: Phase,
    steps: VecDeque<Step>,
    reported: GvkStatus,
    /// Failed attempts since the watch was last ready.
    attempts: u32,
    /// A list was completed since the kind was last served.
    complete: bool,
    /// A list has begun since the kind was last served, or none was requested yet and a former watch may have left objects:
    /// the store may hold some.
    listed: bool,
    /// Something that names no object was reported since the last list began: what it was about is not known before the
    /// next.
    doubtful: bool,
    recovery: Recovery,
    /// Since when it counts as ready without an open watch.
    unwatched: Option<Instant>,
    discovery: DiscoverySchedule,
    discovering: Backoff,
    retrying: Backoff,
    relisting: Backoff,
    refused: Backoff,
    requests: Pacer,
    pages: Pacer,
}

// === impl Machine: the next request ===

impl Machine {
    pub(crate) fn new(config: Arc<Config>, decoder: Decoder, part: Part, selection: Selection) -> Self {
        let backoff = |delays| Backoff::new(delays, config.jitter_seed);
        Self {
            discovering: backoff(config.discovery),
            discovery: DiscoverySchedule::new(&config, &decoder),
            retrying: backoff(config.retry),
            relisting: backoff(BackoffRange::new(config.retry.min, config.retry.max.max(RELIST))),
            refused: backoff(config.refused),
            requests: Pacer::new(config.requests),
            pages: Pacer::new(config.pages),
            decoder: decoder.metadata_only(selection.metadata_only),
            part,
            selection,
            phase: Phase::Discover { freshness: Freshness::Recent, resume: None },
            steps: VecDeque::new(),
            reported: GvkStatus::Pending,
            attempts: 0,
            complete: false,
            listed: true,
            doubtful: false,
            recovery: Recovery::default(),
            unwatched: None,
            config,
        }
    }

    /// It takes the place of a watch that was open until `since`: it counts as ready as long as one whose next request is
    /// under way.
    pub(crate) fn begin_ready(&mut self, since: Instant) {
        (self.reported, self.complete, self.unwatched) = (GvkStatus::Ready, true, Some(since));
    }

    pub(crate) fn take_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(crate) fn is_following(&self) -> bool {
        matches!(self.phase, Phase::Follow(_))
    }

    /// The next action. A request that is returned counts as sent.
    pub(crate) fn next_action(&mut self, now: Instant) -> Action {
        if let Phase::Wait { until, then, .. } = &mut self.phase {
            let delay = until.saturating_duration_since(now);
            if !delay.is_zero() {
                return Action::Sleep(delay);
            }
            let then = std::mem::replace(&mut **then, Phase::start(Freshness::Recent));
            self.phase = then;
        }
        self.look_first(now);
        self.note_absence(now);
        let further = matches!(&self.phase, Phase::List(listing) if listing.page.continue_token.is_some());
        let action = match &self.phase {
            Phase::Discover { freshness, .. } => Action::Discover(*freshness),
            Phase::List(listing) => Action::List(listing.target.clone(), listing.page.clone()),
            Phase::Connect { target, version } => Action::Connect(target.clone(), version.clone()),
            Phase::Follow(_) | Phase::Wait { .. } => return Action::Read,
        };
        let pacer = if further { &mut self.pages } else { &mut self.requests };
        let delay = pacer.delay(now);
        if !delay.is_zero() {
            return Action::Sleep(delay);
        }
        pacer.take(now);
        if !further && matches!(action, Action::List(..)) {
            (self.listed, self.doubtful) = (true, false);
            self.steps.push_back(Step::ListStarted);
        }
        action
    }

    /// The kind may be served, or in another way, or access granted: ends a wait, and the next waits are short,
    /// because the change may not have reached every part of the server.
    pub(crate) fn on_hint(&mut self, now: Instant) {
        self.discovery.hasten(now);
        if let Phase::Wait { until, then, .. } = &mut self.phase {
            *until = now;
            if let Phase::Discover { freshness, .. } = &mut **then {
                *freshness = Freshness::Now;
            }
            self.discovering.reset();
            self.refused.reset();
        }
    }

    /// Lists again, and forgets what was not taken yet: it may be older than what others have reported since. The pace and
    /// the delays stay.
    pub(crate) fn start_over(&mut self) {
        // The store may hold objects of watches that it takes over from, also if it knows that the kind is not served.
        self.listed = true;
        self.steps.retain(|step| !matches!(step, Step::ListStarted) && !step.reports_objects());
        let phase = std::mem::replace(&mut self.phase, Phase::start(Freshness::Recent));
        self.phase = match phase {
            Phase::Wait { until, recovers, then } => {
                Phase::Wait { until, recovers, then: Box::new(self.anew(*then)) }
            }
            phase => self.anew(phase),
        };
    }

    fn anew(&self, phase: Phase) -> Phase {
        match phase {
            Phase::Discover { freshness, resume } => {
                Phase::Discover { freshness, resume: resume.map(|phase| Box::new(self.anew(*phase))) }
            }
            Phase::List(Listing { target, .. })
            | Phase::Connect { target, .. }
            | Phase::Follow(Following { target, .. }) => Phase::List(self.listing(target)),
            Phase::Wait { .. } => phase,
        }
    }
}

// === impl Machine: answers ===

impl Machine {
    pub(crate) fn on_discovered(&mut self, now: Instant, answer: Result<Served, SourceError>) {
        let resume = match &mut self.phase {
            Phase::Discover { resume, .. } => resume.take(),
            _ => None,
        };
        self.discovery.schedule(now);
        match answer {
            Ok(Served { missing: Some(verb), .. }) => self.refuse(now, GvkStatus::Unwatchable { verb }),
            Ok(Served { namespaced: false, .. }) if self.part.is_some() => {
                self.forget();
                self.refuse(now, GvkStatus::NotNamespaced);
            }
            Ok(Served { resource, .. }) => match resume {
                Some(phase) if phase.is_of(&resource) => self.phase = *phase,
                _ => self.follow_as(resource),
            },
            // As `on_looked`.
            Err(error) => match (resume, error) {
                (Some(phase), _) => self.phase = *phase,
                (None, SourceError::NotServed) => self.on_absent(now),
                (None, error) => self.fail(now, Verb::Discover, &error, Phase::start(Freshness::Recent)),
            },
        }
    }

    /// Lists the kind as it is served now.
    fn follow_as(&mut self, resource: ApiResource) {
        self.decoder.set_resource(&resource);
        let target =
            WatchTarget { resource, namespace: self.part.clone(), selection: self.selection.clone() };
        self.begin_list(target);
    }

    pub(crate) fn on_listed(&mut self, now: Instant, answer: Result<Listed, SourceError>) {
        let Phase::List(mut listing) = std::mem::replace(&mut self.phase, Phase::start(Freshness::Now))
        else {
            return;
        };
        match answer {
            Ok(page) => self.on_page(now, listing, page),
            Err(SourceError::Expired) if listing.page.continue_token.is_some() => {
                listing.expired = listing.expired.saturating_add(1);
                let limit = (listing.expired < EXPIRED_PAGES).then_some(self.config.page_size);
                listing.page = Page::first(limit);
                self.phase = Phase::List(listing);
            }
            Err(error) => {
                let again = Phase::List(self.listing(listing.target));
                self.interrupt(now, Verb::List, &error, again);
            }
        }
    }

    fn on_page(&mut self, now: Instant, mut listing: Listing, page: Listed) {
        let objects = page.items.iter().filter_map(|raw| self.decode(raw, Step::Unreadable)).collect();
        self.steps.push_back(Step::Listed(objects));
        if page.continue_token.is_some() {
            listing.page.continue_token = page.continue_token;
            self.phase = Phase::List(listing);
        } else if page.resource_version.is_empty() {
            // A watch from the empty version would begin anywhere.
            let error = SourceError::Unavailable("the list has no resourceVersion".to_owned());
            let again = Phase::List(self.listing(listing.target));
            self.fail(now, Verb::List, &error, again);
        } else {
            self.steps.push_back(Step::ListDone);
            self.complete = true;
            self.phase = Phase::Connect { target: listing.target, version: page.resource_version };
        }
    }

    pub(crate) fn on_connected(&mut self, now: Instant, answer: Result<(), SourceError>) {
        let Phase::Connect { target, version } =
            std::mem::replace(&mut self.phase, Phase::start(Freshness::Now))
        else {
            return;
        };
        match answer {
            Ok(()) => {
                self.recovery.on_ready(self.attempts);
                (self.attempts, self.unwatched) = (0, None);
                self.report(GvkStatus::Ready);
                self.steps.push_back(Step::Contact);
                self.phase = Phase::Follow(Following { target, version, since: now });
            }
            Err(error) => self.disconnect(now, target, version, &error),
        }
    }

    /// A message of the watch; `None` if the server closed it.
    pub(crate) fn on_message(&mut self, now: Instant, message: Option<Result<SourceEvent, SourceError>>) {
        let Phase::Follow(following) = &mut self.phase else { return };
        match message {
            Some(Ok(SourceEvent::Bookmark(version))) => {
                if !version.is_empty() {
                    following.version = version;
                }
                self.steps.push_back(Step::Contact);
            }
            Some(Ok(SourceEvent::Applied(raw))) => self.on_object(&raw, Step::Applied, Step::Unreadable),
            Some(Ok(SourceEvent::Deleted(raw))) => {
                self.on_object(&raw, Step::Deleted, Step::UnreadableDeleted);
            }
            Some(Err(SourceError::Undecodable(error))) => {
                self.skip(&*error, Remains::default(), Step::Unreadable);
            }
            Some(Err(error)) => self.on_end(now, Some(&error)),
            None => self.on_end(now, None),
        }
    }

    /// No message for longer than the server is ever silent: the connection is dead.
    pub(crate) fn on_silence(&mut self, now: Instant) {
        self.on_end(now, None);
    }

    fn on_object(
        &mut self,
        raw: &RawValue,
        step: fn(Arc<WatchedObject>) -> Step,
        unreadable: fn(Remains) -> Step,
    ) {
        let Some(object) = self.decode(raw, unreadable) else { return };
        if let Phase::Follow(following) = &mut self.phase
            && !object.resource_version().is_empty()
        {
            following.version = object.resource_version().to_owned();
        }
        self.steps.push_back(step(object));
    }

    /// A watch is over. One that the server closed after a while is renewed at once.
    fn on_end(&mut self, now: Instant, error: Option<&SourceError>) {
        let Phase::Follow(following) = std::mem::replace(&mut self.phase, Phase::start(Freshness::Now))
        else {
            return;
        };
        let Following { target, version, since } = following;
        let lived = now.saturating_duration_since(since);
        if lived >= HEALTHY_WATCH {
            self.on_healthy();
        }
        match error {
            Some(error) => self.disconnect(now, target, version, error),
            None if lived >= SHORT_WATCH => self.phase = self.resume(target, version),
            None => {
                let error = SourceError::Unavailable("the server closes watches at once".to_owned());
                self.disconnect(now, target, version, &error);
            }
        }
    }
}

// === impl Phase ===

impl Phase {
    fn start(freshness: Freshness) -> Self {
        Self::Discover { freshness, resume: None }
    }

    fn is_of(&self, resource: &ApiResource) -> bool {
        match self {
            Self::Connect { target, .. } | Self::List(Listing { target, .. }) => target.resource == *resource,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
