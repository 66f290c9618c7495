//! An API server in memory, for tests of code that watches: kinds are served and withdrawn, objects come and
//! go, requests fail as ordered. It follows the rules that matter to a watch (resource versions, uids, generations,
//! pages, selectors, expired versions); it validates nothing.
//!
//! It is a [`Source`], and with [`FakeApi::client`] a `kube::Client`, so that a controller that writes can be tested
//! with it too.

mod cursor;
mod fault;
mod http;
mod kind;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tokio::sync::watch;

use self::cursor::Cursor;
use self::fault::{Failed, Faults};
use self::kind::Kind;
use crate::event::Verb;
use crate::source::{Freshness, Listed, Page, Served, Source, SourceError, SourceEvents, WatchTarget};

pub use self::fault::{Fault, SourceCall};

/// A server in memory. Clones are the same server.
#[derive(Clone, Default)]
pub struct FakeApi {
    state: Arc<Mutex<State>>,
    /// Ticks on every change, to wake open watches.
    tick: Arc<watch::Sender<()>>,
}

#[derive(Default)]
struct State {
    /// By group and kind.
    kinds: HashMap<(String, String), Kind>,
    /// Every change takes the next version.
    version: u64,
    uids: u64,
    latency: Duration,
    faults: HashMap<(GroupVersionKind, SourceCall), Faults>,
    calls: HashMap<(GroupVersionKind, SourceCall), usize>,
    in_flight: usize,
    most_in_flight: usize,
    open_watches: usize,
}

// === impl FakeApi: kinds and objects ===

impl FakeApi {
    /// Returns a server that serves nothing.
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
        state.kinds.insert(key(gvk), Kind::new(resource, missing, version));
        drop(state);
        self.tick.send_replace(());
    }

    /// Makes a served kind cluster-scoped. Kinds are namespaced at first, which only matters to requests for certain
    /// namespaces and to [`client`](Self::client).
    pub fn set_cluster_scoped(&self, gvk: &GroupVersionKind) {
        if let Some(kind) = self.lock().kinds.get_mut(&key(gvk)) {
            kind.namespaced = false;
        }
    }

    /// Serves a kind in these versions, the preferred one first. The objects stay. Open watches end, as they do when
    /// a CustomResourceDefinition changes.
    pub fn set_versions(&self, gvk: &GroupVersionKind, versions: &[&str]) {
        if let Some(kind) = self.lock().kinds.get_mut(&key(gvk)) {
            kind.versions = versions.iter().map(|version| (*version).to_owned()).collect();
            kind.interrupt(None);
        }
        self.tick.send_replace(());
    }

    /// Withdraws the kind with all its objects. Open watches end without an event about them, as when the
    /// definition of a custom resource is deleted while the watch is cut off.
    pub fn unserve(&self, gvk: &GroupVersionKind) {
        self.lock().kinds.remove(&key(gvk));
        self.tick.send_replace(());
    }

    /// Creates or replaces an object; needs `metadata.name`, fills in `uid`, `resourceVersion` and
    /// `generation`. Returns the version, or `None` if the kind is not served.
    pub fn apply(&self, gvk: &GroupVersionKind, object: Value) -> Option<u64> {
        let mut state = self.lock();
        let (version, uid) = state.next_identity();
        state.kinds.get_mut(&key(gvk))?.apply(object, version, uid);
        drop(state);
        self.tick.send_replace(());
        Some(version)
    }

    /// Deletes an object; whether there was one.
    pub fn delete(&self, gvk: &GroupVersionKind, namespace: Option<&str>, name: &str) -> bool {
        let mut state = self.lock();
        let version = state.next_version();
        let deleted = state
            .kinds
            .get_mut(&key(gvk))
            .is_some_and(|kind| kind.delete(namespace, name, version).is_some());
        drop(state);
        self.tick.send_replace(());
        deleted
    }

    /// Sends a message that is not an object to the kind's watches.
    pub fn send_garbage(&self, gvk: &GroupVersionKind) {
        let mut state = self.lock();
        let version = state.next_version();
        if let Some(kind) = state.kinds.get_mut(&key(gvk)) {
            kind.garbage(version);
        }
        drop(state);
        self.tick.send_replace(());
    }

    /// Forgets the history of the kind: versions and pages handed out so far have expired.
    pub fn compact(&self, gvk: &GroupVersionKind) {
        let mut state = self.lock();
        let version = state.next_version();
        if let Some(kind) = state.kinds.get_mut(&key(gvk)) {
            kind.compact(version);
        }
    }
}

// === impl FakeApi: faults ===

impl FakeApi {
    /// Makes the next such request for `gvk` fail; repeated calls queue.
    pub fn fail_next(&self, gvk: &GroupVersionKind, call: impl Into<SourceCall>, fault: Fault) {
        self.lock().faults.entry((gvk.clone(), call.into())).or_default().once.push_back(fault);
    }

    /// Makes every such request for `gvk` fail, until [`heal`](Self::heal).
    pub fn fail_always(&self, gvk: &GroupVersionKind, call: impl Into<SourceCall>, fault: Fault) {
        self.lock().faults.entry((gvk.clone(), call.into())).or_default().always = Some(fault);
    }

    /// Ends all failures of such requests for `gvk`.
    pub fn heal(&self, gvk: &GroupVersionKind, call: impl Into<SourceCall>) {
        self.lock().faults.remove(&(gvk.clone(), call.into()));
    }

    /// Refuses lists and watches of the kind but those of single namespaces of these, as a Role does; `None` grants access
    /// to all. Open watches go on until they end.
    pub fn restrict(&self, gvk: &GroupVersionKind, namespaces: Option<&[&str]>) {
        if let Some(kind) = self.lock().kinds.get_mut(&key(gvk)) {
            kind.allowed = namespaces.map(|allowed| allowed.iter().map(|it| (*it).to_owned()).collect());
        }
    }

    /// Grants access to single objects of these names, by `metadata.name=<name>`, where [`restrict`](Self::restrict) refuses
    /// it, as a Role with `resourceNames` does.
    pub fn allow_names(&self, gvk: &GroupVersionKind, names: &[&str]) {
        if let Some(kind) = self.lock().kinds.get_mut(&key(gvk)) {
            kind.allowed_names = names.iter().map(|it| (*it).to_owned()).collect();
        }
    }

    /// Ends the open watches of the kind: with an error, or without.
    pub fn interrupt(&self, gvk: &GroupVersionKind, fault: Option<Fault>) {
        if let Some(kind) = self.lock().kinds.get_mut(&key(gvk)) {
            kind.interrupt(fault);
        }
        self.tick.send_replace(());
    }

    /// Delays every answer.
    pub fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }
}

// === impl FakeApi: counts ===

impl FakeApi {
    /// Returns the number of such requests for `gvk`.
    pub fn calls(&self, gvk: &GroupVersionKind, call: impl Into<SourceCall>) -> usize {
        self.lock().calls.get(&(gvk.clone(), call.into())).copied().unwrap_or_default()
    }

    /// Returns the number of open watches, of all kinds.
    pub fn open_watches(&self) -> usize {
        self.lock().open_watches
    }

    /// Returns the largest number of requests that were in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.lock().most_in_flight
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl FakeApi: the source ===

impl FakeApi {
    /// Counts the request and delays it; returns its fault, if any.
    async fn request(&self, gvk: &GroupVersionKind, call: impl Into<SourceCall>) -> Option<Fault> {
        let call = call.into();
        let (latency, fault) = {
            let mut state = self.lock();
            let calls = state.calls.entry((gvk.clone(), call)).or_default();
            *calls = calls.saturating_add(1);
            state.in_flight = state.in_flight.saturating_add(1);
            state.most_in_flight = state.most_in_flight.max(state.in_flight);
            (state.latency, state.fault(gvk, call))
        };
        let _flight = Leaving { api: self, count: |state| &mut state.in_flight };
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if fault == Some(Fault::Hang) {
            std::future::pending::<()>().await;
        }
        fault
    }

    /// An answer from the server's state.
    fn answer<T>(
        &self,
        resource: &ApiResource,
        answer: impl FnOnce(&mut Kind) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let mut state = self.lock();
        let kind = state.kinds.get_mut(&key(&gvk_of(resource))).filter(|kind| kind.is_at(resource));
        answer(kind.ok_or(SourceError::NotServed)?)
    }

    /// Opens a watch, with a fault or without.
    fn open(
        &self,
        target: &WatchTarget,
        version: &str,
        timeout: Duration,
        fault: Option<Fault>,
    ) -> Result<SourceEvents, SourceError> {
        let position = self.answer(&target.resource, |kind| kind.watch(target, version))?;
        let cursor = Cursor::open(self.clone(), gvk_of(&target.resource), position, fault);
        // Its end does not arrive on a half-open connection either.
        let timeout = if matches!(fault, Some(Fault::Silent)) { Duration::MAX } else { timeout };
        let end = tokio::time::sleep(timeout);
        Ok(cursor.into_stream().take_until(end).boxed())
    }
}

impl FakeApi {
    async fn list_or_fail(&self, target: &WatchTarget, page: &Page) -> Result<Listed, Failed> {
        if let Some(fault) = self.request(&gvk_of(&target.resource), Verb::List).await {
            return Err(Failed::ByOrder(fault));
        }
        let version = self.lock().version;
        Ok(self.answer(&target.resource, |kind| kind.list(target, page, version))?)
    }

    async fn watch_or_fail(
        &self,
        target: &WatchTarget,
        version: &str,
        timeout: Duration,
    ) -> Result<SourceEvents, Failed> {
        match self.request(&gvk_of(&target.resource), Verb::Watch).await {
            Some(fault) if !fault.opens() => Err(Failed::ByOrder(fault)),
            fault => Ok(self.open(target, version, timeout, fault)?),
        }
    }
}

impl Source for FakeApi {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        _freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        async move {
            if let Some(fault) = self.request(gvk, Verb::Discover).await {
                return Err(fault.into());
            }
            let state = self.lock();
            state.kinds.get(&key(gvk)).and_then(|kind| kind.served(gvk)).ok_or(SourceError::NotServed)
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move { Ok(self.list_or_fail(target, page).await?) }.boxed()
    }

    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move { Ok(self.watch_or_fail(target, version, timeout).await?) }.boxed()
    }
}

// === impl State ===

impl State {
    fn next_version(&mut self) -> u64 {
        self.version = self.version.saturating_add(1);
        self.version
    }

    fn next_identity(&mut self) -> (u64, String) {
        self.uids = self.uids.saturating_add(1);
        (self.next_version(), format!("uid-{}", self.uids))
    }

    fn fault(&mut self, gvk: &GroupVersionKind, call: SourceCall) -> Option<Fault> {
        let faults = self.faults.get_mut(&(gvk.clone(), call))?;
        faults.once.pop_front().or(faults.always)
    }
}

/// Decrements a count of the state on drop, also when a request is dropped half-way.
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

fn key(gvk: &GroupVersionKind) -> (String, String) {
    (gvk.group.clone(), gvk.kind.clone())
}
