//! Every revision of every policy: by a watch, and by the API server's audit log, which has the objects and the times.
//!
//! A statement is made somewhere between the two times of its audit event: the request was received, it was carried out,
//! and it was answered. The earlier one is taken, because the statement must be true before it is sent: the aggregator has
//! read all reports by then. A process that judges by an older generation after that moment has disproved it, also if
//! the write was not yet carried out. The later one would excuse whatever happened until the answer.
//!
//! A write whose audit event is missing, because the API server was killed before it was logged, has the time at
//! which the watch delivered it. That is later than the write itself, so no revision is wrongly
//! reported as a lie. A watch that goes on after a restart may be refused (410): the server's cache begins anew. What it missed is
//! in the audit log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::child::now;
use crate::judgement::Revision;

/// One version of a policy as the watch delivered it.
struct Seen {
    at: u64,
    policy: DynamicObject,
}

#[derive(Default)]
struct State {
    /// By version.
    seen: BTreeMap<String, Seen>,
    /// The version of the last event, of deletions too.
    last: String,
    /// The watch was refused, and may have missed revisions.
    has_gap: bool,
}

/// Follows all policies from the beginning.
pub struct Recorder {
    state: Arc<Mutex<State>>,
    watching: AbortHandle,
    /// The offset that is added to a wall-clock time to get one of [`now`], at the beginning.
    offset: i128,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Recorder {
    pub async fn start(policies: Api<DynamicObject>) -> Self {
        let list = policies.list(&ListParams::default()).await.unwrap();
        assert!(list.items.is_empty(), "there are policies already");
        let state = State { last: list.metadata.resource_version.unwrap(), ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let watching = tokio::spawn(follow(policies, state.clone()));
        Self { state, watching: watching.abort_handle(), offset: offset() }
    }

    /// Waits until the watch has delivered what is stored now.
    pub async fn catch_up(&self, policies: &Api<DynamicObject>) {
        for policy in policies.list(&ListParams::default()).await.unwrap() {
            let version = policy.resource_version().unwrap();
            let mut ticks = tokio::time::interval(Duration::from_millis(20));
            while !self.state.lock().unwrap().seen.contains_key(&version) {
                ticks.tick().await;
            }
        }
    }

    /// All revisions so far, and how many of them have no audit event.
    pub fn revisions(&self, audit_log: &[Value]) -> (Vec<Revision>, usize) {
        // If the wall clock was set meanwhile, use the later times: they report no false violation.
        let offset = self.offset.max(offset());
        let mut written = written(audit_log, offset);
        let state = self.state.lock().unwrap();
        let is_missing = |version: &&String| !state.seen.contains_key(*version);
        let unseen: Vec<&String> = written.keys().filter(is_missing).collect();
        assert!(state.has_gap || unseen.is_empty(), "the watch did not deliver {unseen:?}");
        let missing = state.seen.keys().filter(|version| !written.contains_key(*version)).count();
        for (version, seen) in &state.seen {
            written.entry(version.clone()).or_insert_with(|| Revision::of(&seen.policy, seen.at, seen.at));
        }
        let mut revisions: Vec<Revision> = written.into_values().collect();
        revisions.sort_by_key(|revision| revision.time);
        (revisions, missing)
    }
}

/// The wall clock is read before the other one, so that what is computed is late, if anything.
fn offset() -> i128 {
    let sample = || {
        let before = now();
        let wall = Timestamp::now().as_nanosecond();
        let after = now();
        (after - before, i128::from(after) - wall)
    };
    (0..20).map(|_| sample()).min().unwrap().1
}

/// The revisions in the log, by version. A write that changed nothing has the version of an earlier one, whose time counts.
fn written(audit_log: &[Value], offset: i128) -> BTreeMap<String, Revision> {
    let mut revisions: BTreeMap<String, Revision> = BTreeMap::new();
    for event in audit_log {
        if ![200, 201].iter().any(|code| event["responseStatus"]["code"] == *code) {
            continue;
        }
        let at = |field: &str| {
            let time: Timestamp = event[field].as_str().unwrap().parse().unwrap();
            u64::try_from(time.as_nanosecond() + offset).unwrap()
        };
        let Ok(policy) = serde_json::from_value::<DynamicObject>(event["responseObject"].clone()) else {
            continue;
        };
        let Some(version) = policy.resource_version() else { continue };
        let new = Revision::of(&policy, at("requestReceivedTimestamp"), at("stageTimestamp"));
        let known = revisions.entry(version).or_insert_with(|| new.clone());
        if new.time < known.time {
            *known = new;
        }
    }
    revisions
}

/// Goes on where it ended, also after the API server was killed.
async fn follow(policies: Api<DynamicObject>, state: Arc<Mutex<State>>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    loop {
        ticks.tick().await;
        let version = state.lock().unwrap().last.clone();
        match policies.watch(&WatchParams::default(), &version).await {
            Ok(events) => {
                let mut events = events.boxed();
                while let Some(Ok(event)) = events.next().await {
                    if !state.lock().unwrap().note(event) {
                        list_again(&policies, &state).await;
                        break;
                    }
                }
            }
            Err(kube::Error::Api(status)) if status.code == 410 => list_again(&policies, &state).await,
            Err(_) => {}
        }
    }
}

async fn list_again(policies: &Api<DynamicObject>, state: &Mutex<State>) {
    let Ok(list) = policies.list(&ListParams::default()).await else { return };
    let mut state = state.lock().unwrap();
    state.has_gap = true;
    list.items.into_iter().for_each(|policy| state.see(policy));
    state.last = list.metadata.resource_version.unwrap();
}

impl State {
    /// Returns whether the watch goes on.
    fn note(&mut self, event: WatchEvent<DynamicObject>) -> bool {
        match event {
            WatchEvent::Added(policy) | WatchEvent::Modified(policy) => self.see(policy),
            WatchEvent::Deleted(policy) => self.last = policy.resource_version().unwrap(),
            WatchEvent::Bookmark(bookmark) => self.last = bookmark.metadata.resource_version,
            WatchEvent::Error(_) => return false,
        }
        true
    }

    fn see(&mut self, policy: DynamicObject) {
        self.last = policy.resource_version().unwrap();
        let seen = Seen { at: now(), policy };
        self.seen.entry(self.last.clone()).or_insert(seen);
    }
}
