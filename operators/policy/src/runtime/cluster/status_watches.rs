//! The watches from which `pod-status` learns of reports and pods: one of each kind for the reporter and the aggregator of
//! this process together.
//!
//! They have a manager of their own. In that of the policies, a `SyncSet` that names Pods would make the operator's
//! watch of its namespace one of all, and a policy's watch is renewed every five minutes, where a report that is
//! half a minute late delays every `Enforced`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kube::core::DynamicObject;
use pod_status::{Follow, FollowSelection, Followed};
use tokio::time::{Interval, interval};
use watch_manager::{
    Builder, Config, GroupVersionKind, Interest, Registrar, WatchDriver, WatchHandle, WatchManager,
    WatchedObject,
};

use crate::own_watch::{OwnEvent, folded};

/// The API server ends each watch after this time.
const WATCH: Duration = Duration::from_secs(30);
/// A watch without any event, its end included, for this long is a dead connection.
const SILENCE: Duration = Duration::from_secs(40);
/// A restarted API server refuses everything until it knows all rights, so a refusal is soon tried again.
const REFUSED: Duration = Duration::from_secs(30);
/// Changes of one consumer that may have a successor in the queue.
const CHANGES: usize = 1_024;
/// The interval at which the server's last sign of life is read.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Starts the watches that are asked for.
pub(super) struct StatusWatches {
    manager: WatchManager,
    /// The number of the next consumer, for its name.
    next: AtomicU64,
}

/// One consumer.
struct Feed {
    events: BoxStream<'static, OwnEvent>,
    steps: VecDeque<Followed>,
    handle: WatchHandle,
    /// Ends the watch when it is dropped.
    _registrar: Registrar,
    contact_at: Option<Instant>,
    looks: Interval,
}

// === impl StatusWatches ===

impl StatusWatches {
    /// Watches through this manager, and the driver that does the work. It ends when all consumers are gone.
    pub(super) fn new(manager: Builder) -> (Arc<Self>, WatchDriver) {
        let mut config = Config::default();
        (config.watch_timeout, config.idle_timeout, config.refused.max) = (WATCH, SILENCE, REFUSED);
        config.watch_definitions = false;
        let (manager, driver) = manager.config(config).build();
        (Arc::new(Self { manager, next: AtomicU64::new(0) }), driver)
    }
}

impl Follow for StatusWatches {
    fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("pod-status {} {number}", selection.resource.kind);
        let registrar = match self.manager.ordered_registrar(&name, CHANGES) {
            Ok(registrar) => registrar,
            // The driver has ended, and the process with it.
            Err(error) => {
                tracing::debug!(%error, "nothing is watched any more");
                return stream::pending().boxed();
            }
        };
        let feed = Feed::new(registrar, interest(selection));
        stream::unfold(feed, |mut feed| async { Some((feed.next().await, feed)) }).boxed()
    }
}

impl std::fmt::Debug for StatusWatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusWatches").finish_non_exhaustive()
    }
}

// === impl Feed ===

impl Feed {
    fn new(registrar: Registrar, interest: Interest) -> Self {
        Self {
            handle: registrar.add(interest),
            // Only the end of the process ends the driver before its consumers.
            events: folded(registrar.events()).chain(stream::pending()).boxed(),
            steps: VecDeque::new(),
            _registrar: registrar,
            contact_at: None,
            looks: interval(POLL_INTERVAL),
        }
    }

    async fn next(&mut self) -> Followed {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step;
            }
            tokio::select! {
                biased;
                Some(event) = self.events.next() => self.steps.extend(steps(event)),
                _ = self.looks.tick() => self.look(),
            }
        }
    }

    fn look(&mut self) {
        let contact_at = self.handle.store().kind_status().last_contact;
        if contact_at > self.contact_at {
            self.contact_at = contact_at;
            self.steps.push_back(Followed::Alive);
        }
    }
}

fn steps(event: OwnEvent) -> Vec<Followed> {
    match event {
        OwnEvent::Listed(objects) => {
            let found = objects.iter().filter_map(|object| dynamic(object).map(Followed::Found));
            [Followed::Begin].into_iter().chain(found).chain([Followed::End]).collect()
        }
        OwnEvent::Changed(object) => dynamic(&object).map(Followed::Applied).into_iter().collect(),
        OwnEvent::Gone(object) => dynamic(&object).map(Followed::Deleted).into_iter().collect(),
        OwnEvent::Failed(reason) => {
            tracing::warn!(reason, "reports or pods cannot be watched, will retry");
            Vec::new()
        }
    }
}

fn dynamic(object: &WatchedObject) -> Option<DynamicObject> {
    let parsed = object.to_dynamic();
    parsed.inspect_err(|error| tracing::warn!(object = %object.key(), %error, "cannot be read")).ok()
}

fn interest(selection: &FollowSelection) -> Interest {
    let resource = &selection.resource;
    let gvk = GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind);
    let mut interest = Interest::new(gvk).namespaces([&selection.namespace]);
    if !selection.labels.is_empty() {
        interest = interest.labels(selection.labels.clone().into_iter().collect::<kube::core::Selector>());
    }
    if let Some(fields) = &selection.fields {
        interest = interest.fields(fields);
    }
    if selection.metadata_only { interest.metadata_only() } else { interest }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kube::core::ApiResource;
    use serde_json::json;
    use watch_manager::testing::{FakeApi, Fault};
    use watch_manager::{CancellationToken, Verb};

    use super::*;

    fn gvk() -> GroupVersionKind {
        GroupVersionKind::gvk("status.webtroller.dev", "v1alpha1", "PodReport")
    }

    fn report(api: &FakeApi, name: &str, pod: &str) {
        let metadata = json!({"name": name, "namespace": "ours", "labels": {"pod": pod}});
        api.apply(&gvk(), json!({"metadata": metadata, "shard": 0})).unwrap();
    }

    fn selection(labels: &[(&str, &str)]) -> FollowSelection {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let resource = ApiResource::from_gvk_with_plural(&gvk(), "podreports");
        let mut selection = FollowSelection::new(resource, "ours");
        (selection.metadata_only, selection.labels) = (!labels.is_empty(), labels);
        selection
    }

    fn word(step: &Followed) -> String {
        let name = |object: &DynamicObject| object.metadata.name.clone().unwrap();
        match step {
            Followed::Begin => "begin".to_owned(),
            Followed::Found(object) => format!("found {}", name(object)),
            Followed::End => "end".to_owned(),
            Followed::Applied(object) => format!("applied {}", name(object)),
            Followed::Deleted(object) => format!("deleted {}", name(object)),
            Followed::Alive => "alive".to_owned(),
            other => panic!("{other:?}"),
        }
    }

    async fn take(steps: &mut BoxStream<'static, Followed>, count: usize) -> Vec<String> {
        let mut said = Vec::new();
        while said.len() < count {
            let step = steps.next().await.unwrap();
            said.extend((step != Followed::Alive).then(|| word(&step)));
        }
        said
    }

    /// Counts how often the server is in contact in this time, in which nothing else is reported.
    async fn contacts(steps: &mut BoxStream<'static, Followed>, seconds: u64) -> usize {
        let mut count = 0;
        let counted = async {
            while let Some(step) = steps.next().await {
                assert_eq!(step, Followed::Alive);
                count = usize::saturating_add(count, 1);
            }
        };
        tokio::time::timeout(Duration::from_secs(seconds), counted).await.unwrap_err();
        count
    }

    #[tokio::test(start_paused = true)]
    async fn the_reporter_and_the_aggregator_of_a_process_share_one_watch_and_get_each_their_part() {
        let api = FakeApi::new();
        api.serve(&gvk(), "podreports");
        report(&api, "a", "mine");
        report(&api, "b", "other");
        let (watches, driver) = StatusWatches::new(WatchManager::builder_with_source(api.clone()));
        let driver = tokio::spawn(driver.run(CancellationToken::new()));
        let mut mine = watches.follow(&selection(&[("pod", "mine")]));
        assert_eq!(take(&mut mine, 3).await, ["begin", "found a", "end"]);
        let mut all = watches.follow(&selection(&[]));
        assert_eq!(take(&mut all, 4).await, ["begin", "found a", "found b", "end"]);
        assert_eq!(take(&mut mine, 3).await, ["begin", "found a", "end"], "the watch is another");

        report(&api, "b", "other");
        api.delete(&gvk(), Some("ours"), "a");
        assert_eq!(take(&mut all, 2).await, ["applied b", "deleted a"]);
        assert_eq!(take(&mut mine, 1).await, ["deleted a"]);
        assert_eq!(api.open_watches(), 1);

        drop((watches, all, mine));
        driver.await.unwrap();
    }

    /// The reporter may have written an object of which the watch never told, and which another client deleted meanwhile.
    #[tokio::test(start_paused = true)]
    async fn a_gap_in_the_watch_ends_with_a_list_also_if_nothing_has_changed() {
        let api = FakeApi::new();
        api.serve(&gvk(), "podreports");
        report(&api, "a", "mine");
        let (watches, driver) = StatusWatches::new(WatchManager::builder_with_source(api.clone()));
        let driver = tokio::spawn(driver.run(CancellationToken::new()));
        let mut steps = watches.follow(&selection(&[]));
        assert_eq!(take(&mut steps, 3).await, ["begin", "found a", "end"]);
        api.interrupt(&gvk(), None);
        report(&api, "b", "mine");
        api.delete(&gvk(), Some("ours"), "b");
        api.compact(&gvk());
        assert_eq!(take(&mut steps, 3).await, ["begin", "found a", "end"]);
        drop((watches, steps));
        driver.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_in_contact_while_it_is_there_and_not_while_it_is_away() {
        let api = FakeApi::new();
        api.serve(&gvk(), "podreports");
        let (watches, driver) = StatusWatches::new(WatchManager::builder_with_source(api.clone()));
        let driver = tokio::spawn(driver.run(CancellationToken::new()));
        let mut steps = watches.follow(&selection(&[]));
        assert_eq!(take(&mut steps, 2).await, ["begin", "end"]);
        let count = contacts(&mut steps, 300).await;
        assert!(count >= 5, "{count} times in 300 s");
        for verb in [Verb::List, Verb::Watch] {
            api.fail_always(&gvk(), verb, Fault::Unavailable);
        }
        api.interrupt(&gvk(), None);
        contacts(&mut steps, 10).await;
        assert_eq!(contacts(&mut steps, 300).await, 0);
        drop((watches, steps));
        driver.await.unwrap();
    }
}
