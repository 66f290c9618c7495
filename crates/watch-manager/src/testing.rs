//! An API server in memory, for tests of code that watches: kinds are served and withdrawn, objects come and
//! go, requests fail as told. It follows the rules that matter to a watch (resource versions, uids, pages,
//! expired versions); it validates nothing and serves no HTTP.
//!
//! Without the manager's own waiting rules there would be nothing to test, so this replaces the server and
//! nothing else.

mod fault;
mod kind;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tokio::sync::watch;

use self::fault::Faults;
use self::kind::{Kind, ServedKind};
use crate::event::Verb;
use crate::source::{Frame, Frames, Listed, Page, Served, Source, SourceError};

pub use self::fault::Fault;

/// A server in memory. Clones are the same server.
#[derive(Clone, Default)]
pub struct FakeApi {
    state: Arc<Mutex<State>>,
    /// Ticks on every change, to wake open watches.
    tick: Arc<watch::Sender<()>>,
}

#[derive(Default)]
struct State {
    kinds: HashMap<GroupVersionKind, Kind>,
    /// The server's one clock: every change takes the next version.
    version: u64,
    uids: u64,
    latency: Duration,
    faults: HashMap<(GroupVersionKind, Verb), Faults>,
    calls: HashMap<(GroupVersionKind, Verb), usize>,
    in_flight: usize,
    most_in_flight: usize,
    open_watches: usize,
}

// === impl FakeApi: what exists ===

impl FakeApi {
    /// A server that serves nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves `gvk` under `plural`, empty. Again under another plural after [`unserve`](Self::unserve).
    pub fn serve(&self, gvk: &GroupVersionKind, plural: &str) {
        self.serve_as(gvk, plural, None);
    }

    /// Serves `gvk` without the verb `missing`.
    pub fn serve_without(&self, gvk: &GroupVersionKind, plural: &str, missing: Verb) {
        self.serve_as(gvk, plural, Some(missing));
    }

    fn serve_as(&self, gvk: &GroupVersionKind, plural: &str, missing: Option<Verb>) {
        let mut state = self.lock();
        let version = state.next_version();
        let resource = ApiResource::from_gvk_with_plural(gvk, plural);
        state.kinds.insert(gvk.clone(), Kind::new(resource, missing, version));
        drop(state);
        self.tick.send_replace(());
    }

    /// Withdraws the kind with all its objects. Open watches end without a word about them, as when the
    /// definition of a custom resource is deleted while the watch is cut off.
    pub fn unserve(&self, gvk: &GroupVersionKind) {
        self.lock().kinds.remove(gvk);
        self.tick.send_replace(());
    }

    /// Creates or replaces an object; needs `metadata.name`, fills in `uid` and `resourceVersion`. Returns
    /// the version, or `None` if the kind is not served.
    pub fn apply(&self, gvk: &GroupVersionKind, object: Value) -> Option<u64> {
        let mut state = self.lock();
        let version = state.next_version();
        state.uids = state.uids.saturating_add(1);
        let uid = format!("uid-{}", state.uids);
        state.kinds.get_mut(gvk)?.apply(object, version, uid);
        drop(state);
        self.tick.send_replace(());
        Some(version)
    }

    /// Deletes an object; whether there was one.
    pub fn delete(&self, gvk: &GroupVersionKind, namespace: Option<&str>, name: &str) -> bool {
        let mut state = self.lock();
        let version = state.next_version();
        let deleted = state.kinds.get_mut(gvk).is_some_and(|kind| kind.delete(namespace, name, version));
        drop(state);
        self.tick.send_replace(());
        deleted
    }

    /// Sends a message that is not an object to the kind's watches.
    pub fn send_garbage(&self, gvk: &GroupVersionKind) {
        let mut state = self.lock();
        let version = state.next_version();
        if let Some(kind) = state.kinds.get_mut(gvk) {
            kind.garbage(version);
        }
        drop(state);
        self.tick.send_replace(());
    }

    /// Forgets the history of the kind: versions and pages handed out so far have expired.
    pub fn compact(&self, gvk: &GroupVersionKind) {
        let mut state = self.lock();
        let version = state.next_version();
        if let Some(kind) = state.kinds.get_mut(gvk) {
            kind.compact(version);
        }
    }
}

// === impl FakeApi: what goes wrong ===

impl FakeApi {
    /// The next request of this verb for `gvk` fails; repeated calls queue.
    pub fn fail_next(&self, gvk: &GroupVersionKind, verb: Verb, fault: Fault) {
        self.lock().faults.entry((gvk.clone(), verb)).or_default().once.push_back(fault);
    }

    /// Every request of this verb for `gvk` fails, until [`heal`](Self::heal).
    pub fn fail_always(&self, gvk: &GroupVersionKind, verb: Verb, fault: Fault) {
        self.lock().faults.entry((gvk.clone(), verb)).or_default().always = Some(fault);
    }

    /// Ends all failures of this verb for `gvk`.
    pub fn heal(&self, gvk: &GroupVersionKind, verb: Verb) {
        self.lock().faults.remove(&(gvk.clone(), verb));
    }

    /// Ends the open watches of the kind: with an error, or politely without.
    pub fn interrupt(&self, gvk: &GroupVersionKind, fault: Option<Fault>) {
        if let Some(kind) = self.lock().kinds.get_mut(gvk) {
            kind.interrupt(fault);
        }
        self.tick.send_replace(());
    }

    /// Every request takes so long.
    pub fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }
}

// === impl FakeApi: what was asked ===

impl FakeApi {
    /// How many requests of this verb were made for `gvk`.
    pub fn calls(&self, gvk: &GroupVersionKind, verb: Verb) -> usize {
        self.lock().calls.get(&(gvk.clone(), verb)).copied().unwrap_or_default()
    }

    /// How many watches are open, of all kinds.
    pub fn open_watches(&self) -> usize {
        self.lock().open_watches
    }

    /// The largest number of requests that were under way at once.
    pub fn most_in_flight(&self) -> usize {
        self.lock().most_in_flight
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl FakeApi: the source ===

impl FakeApi {
    /// Counts the request and lets it take its time; the fault it meets, if any.
    async fn request(&self, gvk: &GroupVersionKind, verb: Verb) -> Option<Fault> {
        let (latency, fault) = {
            let mut state = self.lock();
            let calls = state.calls.entry((gvk.clone(), verb)).or_default();
            *calls = calls.saturating_add(1);
            state.in_flight = state.in_flight.saturating_add(1);
            state.most_in_flight = state.most_in_flight.max(state.in_flight);
            (state.latency, state.fault(gvk, verb))
        };
        let _flight = Leaving { api: self, count: |state| &mut state.in_flight };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        fault
    }

    /// What the server answers from its state.
    fn answer<T>(
        &self,
        resource: &ApiResource,
        answer: impl FnOnce(&mut Kind) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let mut state = self.lock();
        let kind = state.kinds.get_mut(&gvk_of(resource)).filter(|kind| kind.is_at(resource));
        answer(kind.ok_or(SourceError::NotServed)?)
    }

    /// The next message of a watch; `None` at its end.
    async fn frame(&self, cursor: &mut Cursor) -> Option<Result<Frame, SourceError>> {
        let mut tick = self.tick.subscribe();
        loop {
            let next = {
                let mut state = self.lock();
                state.kinds.get_mut(&cursor.gvk).map_or(kind::Next::End, |kind| kind.next(&mut cursor.served))
            };
            match next {
                kind::Next::Frame(frame) => return Some(Ok(frame)),
                kind::Next::Error(error) => return Some(Err(error)),
                kind::Next::End => return None,
                kind::Next::Nothing => tick.changed().await.ok()?,
            }
        }
    }

    fn open(&self, gvk: GroupVersionKind, served: ServedKind) -> Frames {
        let mut state = self.lock();
        state.open_watches = state.open_watches.saturating_add(1);
        drop(state);
        let cursor = Cursor { api: self.clone(), gvk, served };
        stream::unfold(cursor, async |mut cursor| {
            let api = cursor.api.clone();
            let frame = api.frame(&mut cursor).await?;
            Some((frame, cursor))
        })
        .boxed()
    }
}

impl Source for FakeApi {
    fn resolve<'a>(&'a self, gvk: &'a GroupVersionKind) -> BoxFuture<'a, Result<Served, SourceError>> {
        async move {
            if let Some(fault) = self.request(gvk, Verb::Discover).await {
                return Err(fault.into());
            }
            self.lock().kinds.get(gvk).map(Kind::served).ok_or(SourceError::NotServed)
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        resource: &'a ApiResource,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            if let Some(fault) = self.request(&gvk_of(resource), Verb::List).await {
                return Err(fault.into());
            }
            let version = self.lock().version;
            self.answer(resource, |kind| kind.list(page, version))
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        resource: &'a ApiResource,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Frames, SourceError>> {
        async move {
            let gvk = gvk_of(resource);
            match self.request(&gvk, Verb::Watch).await {
                Some(Fault::ClosedAtOnce) => return Ok(stream::empty().boxed()),
                Some(Fault::ExpiredAtOnce) => {
                    return Ok(stream::iter([Err(SourceError::Expired)]).boxed());
                }
                Some(Fault::Silent) => return Ok(stream::pending().boxed()),
                Some(fault) => return Err(fault.into()),
                None => {}
            }
            let served = self.answer(resource, |kind| kind.watch(version))?;
            let end = tokio::time::sleep(timeout);
            Ok(self.open(gvk, served).take_until(end).boxed())
        }
        .boxed()
    }
}

// === impl State ===

impl State {
    fn next_version(&mut self) -> u64 {
        self.version = self.version.saturating_add(1);
        self.version
    }

    fn fault(&mut self, gvk: &GroupVersionKind, verb: Verb) -> Option<Fault> {
        let faults = self.faults.get_mut(&(gvk.clone(), verb))?;
        faults.once.pop_front().or(faults.always)
    }
}

/// An open watch: where it stands. Dropping it closes the watch.
struct Cursor {
    api: FakeApi,
    gvk: GroupVersionKind,
    served: ServedKind,
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = self.api.lock();
        state.open_watches = state.open_watches.saturating_sub(1);
    }
}

/// Takes one off a count of the state when it goes, also when a request is dropped half-way.
struct Leaving<'a> {
    api: &'a FakeApi,
    count: fn(&mut State) -> &mut usize,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut state = self.api.lock();
        let count = (self.count)(&mut state);
        *count = count.saturating_sub(1);
    }
}

fn gvk_of(resource: &ApiResource) -> GroupVersionKind {
    GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind)
}
