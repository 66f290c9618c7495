//! The runs that are registered and may serve: for a host that has to know if the process that wrote something is still there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::{Instant, sleep_until};

use crate::follow::{Changes, Follow, FollowSelection, Followed};
use crate::membership::Membership;
use crate::registration::Registration;
use crate::report::{Member, REGISTRATION, ReportKind, SHARD_LABEL};

/// The runs in a namespace that are registered, by a copy that may lag behind.
///
/// A run is live until it has reported that it stopped, its registration is gone (with its pod, or because another run of the
/// pod has replaced it), or its heartbeat has stood still for as long as it promised.
pub struct LiveRuns {
    /// Never locked: the mutex makes this `Sync`.
    steps: Mutex<BoxStream<'static, Followed>>,
    /// By the names of their objects.
    registered: BTreeMap<String, Member>,
    /// The names in a listing that is not complete.
    listed: Option<BTreeSet<String>>,
    is_known: bool,
    membership: Membership,
}

impl LiveRuns {
    /// Follows the registrations of a namespace: by the streams of `host`, by requests of `client` if there is none.
    pub fn new(
        client: kube::Client,
        host: Option<Arc<dyn Follow>>,
        kind: &ReportKind,
        namespace: &str,
    ) -> Self {
        let registrations = FollowSelection::new(kind.api_resource(), namespace);
        let registrations = registrations.label(SHARD_LABEL, REGISTRATION.to_string());
        let steps = Changes::new(client, host).follow(&registrations);
        Self {
            steps: Mutex::new(steps.chain(stream::pending()).boxed()),
            registered: BTreeMap::new(),
            listed: None,
            is_known: false,
            membership: Membership::default(),
        }
    }

    /// Waits until an answer of [`LiveRuns::is_live`] may be another one.
    ///
    /// # Guarantees
    ///
    /// - Returns after each change of a registration, and when the time of a run with a heartbeat is over.
    /// - Requests that fail are retried; the last answers stay meanwhile.
    /// - Cancel-safe. Nothing is followed while no call is polled.
    pub async fn changed(&mut self) {
        let now = Instant::now();
        let expiries = self.registered.values().filter_map(|run| self.membership.expiry(run));
        let expiry = expiries.filter(|expiry| *expiry > now).min();
        let steps = self.steps.get_mut().unwrap_or_else(PoisonError::into_inner);
        tokio::select! {
            Some(step) = steps.next() => self.note(step),
            () = sleep_until(expiry.unwrap_or(now)), if expiry.is_some() => {}
        }
    }

    /// Returns true unless the run with this [`crate::PodIdentity::holder`] is known to have ended.
    pub fn is_live(&self, holder: &str) -> bool {
        let now = Instant::now();
        let is_it = |run: &Member| format!("{}_{}", run.id, run.incarnation) == holder;
        !self.is_known || self.registered.values().any(|run| is_it(run) && !self.membership.is_over(run, now))
    }

    fn note(&mut self, step: Followed) {
        match step {
            Followed::Begin => self.listed = Some(BTreeSet::new()),
            Followed::Found(object) | Followed::Applied(object) => {
                let Registration { run, name, .. } = Registration::of(object);
                self.membership.seen(&run, Instant::now());
                if let Some(listed) = &mut self.listed {
                    listed.insert(name.clone());
                }
                self.registered.insert(name, run);
            }
            Followed::End => {
                let listed = self.listed.take().unwrap_or_default();
                self.registered.retain(|name, _| listed.contains(name));
                self.is_known = true;
            }
            Followed::Deleted(object) => {
                self.registered.remove(&object.metadata.name.unwrap_or_default());
            }
            Followed::Alive => return,
        }
        self.membership.retain(self.registered.values());
    }
}

impl std::fmt::Debug for LiveRuns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveRuns").field("registered", &self.registered).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::api::DynamicObject;
    use kube::core::ApiResource;
    use serde_json::json;
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;
    use crate::report::PodReport;

    fn registration(run: &Member) -> DynamicObject {
        let report = PodReport { pod: run.clone(), shard: REGISTRATION, entries: Vec::new() };
        let resource: ApiResource = ReportKind::default().api_resource();
        DynamicObject::new(&run.id, &resource).data(json!(report))
    }

    fn runs() -> (LiveRuns, mpsc::UnboundedSender<Followed>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let steps =
            stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
        let runs = LiveRuns {
            steps: Mutex::new(steps.chain(stream::pending()).boxed()),
            registered: BTreeMap::new(),
            listed: None,
            is_known: false,
            membership: Membership::default(),
        };
        (runs, sender)
    }

    async fn all_noted(runs: &mut LiveRuns) {
        while timeout(Duration::from_millis(1), runs.changed()).await.is_ok() {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_live_until_it_is_known_to_have_ended() {
        let (mut runs, steps) = runs();
        let mut run = Member { ttl_seconds: Some(60), heartbeat: Some(1), ..Member::new("a", "1") };
        assert!(runs.is_live("a_1"), "nothing is known yet");
        steps.send(Followed::Begin).unwrap();
        steps.send(Followed::Found(registration(&run))).unwrap();
        steps.send(Followed::End).unwrap();
        all_noted(&mut runs).await;
        assert_eq!(["a_1", "a_2", "b_1"].map(|holder| runs.is_live(holder)), [true, false, false]);

        // Another run of the pod takes its place, stops, and a third one ends without a word.
        run.incarnation = "2".to_owned();
        steps.send(Followed::Applied(registration(&run))).unwrap();
        all_noted(&mut runs).await;
        assert_eq!(["a_1", "a_2"].map(|holder| runs.is_live(holder)), [false, true]);
        run.stopped = true;
        steps.send(Followed::Applied(registration(&run))).unwrap();
        all_noted(&mut runs).await;
        assert!(!runs.is_live("a_2"));
        (run.incarnation, run.stopped) = ("3".to_owned(), false);
        steps.send(Followed::Applied(registration(&run))).unwrap();
        all_noted(&mut runs).await;
        assert!(runs.is_live("a_3"));
        timeout(Duration::from_secs(70), runs.changed()).await.unwrap();
        assert!(!runs.is_live("a_3"));

        run.heartbeat = Some(2);
        steps.send(Followed::Applied(registration(&run))).unwrap();
        all_noted(&mut runs).await;
        assert!(runs.is_live("a_3"), "it was only slow");
        steps.send(Followed::Deleted(registration(&run))).unwrap();
        all_noted(&mut runs).await;
        assert!(!runs.is_live("a_3"));
    }
}
