//! Counts the runs that a statement must wait for, and deletes the reports of those that are gone.
//!
//! The registrations are listed anew for each count: without them nothing can be said. Whether the Pod of one run exists is
//! another matter. Where the watch does not show it, the API server is asked, beside everything else; until it has answered,
//! the run counts: a pod that cannot be asked about may serve.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use tokio::time::Instant;

use crate::aggregator_config::AggregatorConfig;
use crate::cluster::Cluster;
use crate::expected::{Expected, PodEvent};
use crate::follow::Followed;
use crate::keyed_requests::KeyedRequests;
use crate::membership::{Count, Membership, candidates};
use crate::registration::Registration;
use crate::report::Member;
use crate::report_store::ReportStore;
use crate::run_state::{RunState, run_state};

/// A count waits so long for answers about single pods. A server that is well answers in time, and the statuses need not be
/// written once with the pod and once without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The count of the members, and the requests that it needs.
pub(crate) struct MemberCount {
    cluster: Arc<Cluster>,
    membership: Membership,
    /// The pods that must register, if any must.
    expected: Option<Expected>,
    /// The runs that the next count is about.
    candidates: Vec<Member>,
    /// The last count.
    count: Arc<Count>,
    /// Look-ups by uid: true if the pod is gone.
    lookups: KeyedRequests<String, bool>,
    /// The uids of pods that are gone. That is final.
    gone: BTreeSet<String>,
    /// Deletions of reports, by collection and name: false if the report is in no collection.
    sweeps: KeyedRequests<String, bool>,
    /// The reports that cannot be deleted.
    not_swept: BTreeSet<String>,
}

impl MemberCount {
    pub(crate) fn new(cluster: Arc<Cluster>, config: &AggregatorConfig) -> Self {
        let expected = config.expected.as_ref().map(|(_, operations)| Expected::new(operations.clone()));
        Self {
            cluster,
            membership: Membership::default(),
            expected,
            candidates: Vec::new(),
            count: Arc::default(),
            lookups: KeyedRequests::new("ask for a pod"),
            gone: BTreeSet::new(),
            sweeps: KeyedRequests::new("delete a report of a pod that is gone"),
            not_swept: BTreeSet::new(),
        }
    }

    pub(crate) fn count(&self) -> &Arc<Count> {
        &self.count
    }

    /// The run has been seen in the API server. Returns whether that may change the count.
    pub(crate) fn note_run(&mut self, run: &Member) -> bool {
        self.membership.seen(run, Instant::now());
        let is_known = |member: &Member| {
            member.is_same_run(run)
                && member.operations == run.operations
                && (member.stopped, member.incomplete) == (run.stopped, run.incomplete)
        };
        !self.count.members.iter().any(is_known)
    }

    /// Notes a change of the pods. Returns whether that may change the count.
    pub(crate) fn note_pod(&mut self, event: PodEvent) -> bool {
        match event {
            PodEvent::Any(event) => self.note_any_pod(event),
            PodEvent::Expected(event) => self.expected.as_mut().is_some_and(|expected| expected.note(event)),
        }
    }

    fn note_any_pod(&mut self, event: Followed) -> bool {
        match event {
            Followed::Alive => false,
            Followed::Begin => {
                self.membership.listing_begins();
                false
            }
            Followed::Found(pod) | Followed::Applied(pod) => {
                self.membership.pod_exists(pod.uid().unwrap_or_default());
                false
            }
            Followed::End => self.membership.listing_ends(),
            Followed::Deleted(pod) => {
                self.membership.pod_gone(&pod.uid().unwrap_or_default());
                true
            }
        }
    }

    /// Returns true if the pods that must register have been listed.
    pub(crate) fn knows_expected(&self) -> bool {
        self.expected.as_ref().is_none_or(Expected::is_known)
    }

    /// The times at which the count is to be taken again, whatever happens.
    pub(crate) fn due(&self) -> impl Iterator<Item = Instant> {
        let expiries = self.count.members.iter().filter_map(|run| self.membership.expiry(run));
        expiries.chain(self.lookups.retry_at()).chain(self.sweeps.retry_at())
    }

    /// Waits for an answer about a pod, or a deletion. Returns whether the count is to be taken again. Cancel-safe.
    pub(crate) async fn answered(&mut self) -> bool {
        tokio::select! {
            lookup = self.lookups.next() => self.note_lookup(lookup),
            sweep = self.sweeps.next() => {
                self.note_sweep(sweep);
                false
            }
        }
    }

    fn note_sweep(&mut self, sweep: Option<(String, bool)>) {
        let Some((name, false)) = sweep else { return };
        tracing::error!(
            name,
            "cannot delete a report of a pod that is gone: it is in no collection of reports"
        );
        self.not_swept.insert(name);
    }

    fn note_lookup(&mut self, lookup: Option<(String, bool)>) -> bool {
        let Some((uid, true)) = lookup else { return false };
        self.gone.insert(uid);
        true
    }

    /// Notes the registrations, and asks for the pods that the watch does not show. Returns until when the count should wait
    /// for answers, if any was asked for that was not before. What is not answered by then is answered later.
    pub(crate) fn note_registrations(
        &mut self,
        registered: &[Registration],
        reports: &ReportStore,
    ) -> Option<Instant> {
        let now = Instant::now();
        for registration in registered {
            self.membership.seen(&registration.run, now);
        }
        let runs = registered.iter().map(|registration| registration.run.clone()).collect();
        self.candidates = candidates(runs, &reports.runs(), &self.count.members);
        self.look_up(now).then(|| now.checked_add(PATIENCE).unwrap_or(now))
    }

    /// Returns true if nothing is asked for.
    pub(crate) fn is_answered(&self) -> bool {
        self.lookups.is_idle()
    }

    /// Establishes the members. Returns whether they have changed.
    pub(crate) fn take(&mut self, reports: &ReportStore) -> bool {
        let now = Instant::now();
        let candidates = std::mem::take(&mut self.candidates);
        let mut count = Count::default();
        for run in &candidates {
            let runs = match run_state(&self.membership, run, &self.gone, now) {
                RunState::Member => &mut count.members,
                RunState::Excluded => &mut count.excluded,
                RunState::Gone => &mut count.gone,
            };
            runs.push(run.clone());
        }
        let unregistered = self.expected.iter().flat_map(|expected| expected.unregistered(&candidates));
        count.members.extend(unregistered);
        count.members.sort();
        self.membership.retain(&candidates);
        let has_changed = count.members != self.count.members;
        count.publish();
        self.count = Arc::new(count);
        self.sweep(reports, now);
        has_changed
    }

    /// Asks for the pods that the watch does not show. Returns whether any was asked for that was not before.
    fn look_up(&mut self, now: Instant) -> bool {
        let missing =
            |run: &Member| Some((run.id.clone(), self.membership.missing_pod(run, now)?.to_owned()));
        let missing: Vec<(String, String)> = self.candidates.iter().filter_map(missing).collect();
        let uids = missing.iter().map(|(_, uid)| uid.clone()).collect();
        self.lookups.begin(&uids, now);
        self.gone.retain(|uid| uids.contains(uid));
        let mut is_new = false;
        for (name, uid) in missing.into_iter().filter(|(_, uid)| !self.gone.contains(uid)).collect::<Vec<_>>()
        {
            let cluster = self.cluster.clone();
            let asked = uid.clone();
            is_new |= self.lookups.send(uid, async move { cluster.is_pod_gone(&name, &asked).await }, now);
        }
        is_new
    }

    /// Deletes what runs that are gone have left behind. Does not rely on the garbage collector, which one broken API
    /// service can stop in the whole cluster.
    fn sweep(&mut self, reports: &ReportStore, now: Instant) {
        let left: Vec<(String, String)> =
            self.count.gone.iter().flat_map(|run| reports.objects_of(run)).collect();
        let names = left.iter().map(|(name, _)| name.clone()).collect();
        self.sweeps.begin(&names, now);
        self.not_swept.retain(|name| names.contains(name));
        for (name, uid) in left.into_iter().filter(|(name, _)| !self.not_swept.contains(name)) {
            let (cluster, object) = (self.cluster.clone(), name.clone());
            self.sweeps.send(name, async move { cluster.sweep(&object, uid).await }, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::identity::PodIdentity;
    use crate::parent::ParentRef;
    use crate::report::PodReport;

    #[tokio::test(start_paused = true)]
    async fn a_report_in_no_collection_is_not_deleted_again_and_again() {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            seen.lock().unwrap().push(request.uri().path().to_owned());
            async { Ok::<_, Infallible>(Response::new(Body::from(br#"{"kind": "Status"}"#.to_vec()))) }
        });
        let identity = PodIdentity::detached("n", "p", ["audit"]);
        let config = AggregatorConfig::new(&identity, |_: &ParentRef| None);
        let cluster = Arc::new(Cluster::new(kube::Client::new(service, "n"), &config));
        let mut counted = MemberCount::new(cluster, &config);
        let run = Member { id: "p".into(), incarnation: "i".into(), ..Member::default() };
        let mut reports = ReportStore::default();
        let known = format!("{}/known", config.kind.plural);
        for name in ["elsewhere/unknown", known.as_str()] {
            reports.apply(name, "u".into(), Some(PodReport { pod: run.clone(), ..PodReport::default() }));
        }
        counted.count = Arc::new(Count { gone: vec![run], ..Count::default() });
        counted.sweep(&reports, Instant::now());
        for _ in 0..2 {
            assert!(!counted.answered().await);
        }
        assert_eq!(counted.due().next(), None, "nothing is to be tried again");
        reports.remove(&known);
        counted.sweep(&reports, Instant::now());
        assert!(counted.sweeps.is_idle());
        let requests = requests.lock().unwrap();
        assert!(matches!(&requests[..], [path] if path.ends_with("/known")), "{requests:?}");
    }
}
