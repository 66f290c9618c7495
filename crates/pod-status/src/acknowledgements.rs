//! Acknowledges to a run that serves without something that no status claims this of it any more.
//!
//! A run that gives up a broken policy stores that first ([`Member::incomplete`]), and serves when this is acknowledged. Every
//! parent has to be decided about by then with the run among the members: also one that was being decided about when the run
//! registered, by a count without it. The acknowledgement is an annotation of the run's registration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use crate::catch_up::CatchUp;
use crate::cluster::Cluster;
use crate::keyed_requests::KeyedRequests;
use crate::membership::Count;
use crate::parent::ParentRef;
use crate::registration::Registration;
use crate::report::Member;
use crate::report_store::ReportStore;

pub(crate) struct Acknowledgements {
    cluster: Arc<Cluster>,
    /// By the name of the registration.
    waiting: BTreeMap<String, Waiting>,
    sent: KeyedRequests<String, ()>,
    catch_up: CatchUp,
}

struct Waiting {
    run: Member,
    /// The uid of the registration.
    uid: String,
    /// The parents about which nothing has been decided since the run is known to be incomplete; nothing before they are known.
    undecided: Option<BTreeSet<ParentRef>>,
}

impl Acknowledgements {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        let sent = KeyedRequests::new("acknowledge to a pod that it may serve");
        let catch_up = CatchUp::new(cluster.clone());
        Self { cluster, waiting: BTreeMap::new(), sent, catch_up }
    }

    /// The members have been counted. Returns whether every parent is to be decided about because a run has given up something.
    ///
    /// The run has stored its failures before it says so. So the reports that a parent is decided about by contain the failures
    /// if they contain that; what is stored beside the shards has to be caught up with.
    pub(crate) fn counted(
        &mut self,
        registered: &[Registration],
        count: &Count,
        reports: &ReportStore,
    ) -> bool {
        self.waiting.retain(|_, waiting| is_incomplete_in(&waiting.run, count));
        let now = Instant::now();
        let is_waiting =
            |known: &&Registration| !known.is_acknowledged && is_incomplete_in(&known.run, count);
        self.catch_up.begin(registered.iter().filter(is_waiting), now);
        let mut is_new = false;
        for registration in registered.iter().filter(is_waiting) {
            let Registration { run, name, uid, .. } = registration;
            match self.waiting.get_mut(name) {
                Some(waiting) if waiting.run.is_same_run(run) => waiting.uid.clone_from(uid),
                _ if reports.says_incomplete(run) && self.catch_up.is_done(registration, reports, now) => {
                    let waiting = Waiting { run: run.clone(), uid: uid.clone(), undecided: None };
                    self.waiting.insert(name.clone(), waiting);
                    is_new = true;
                }
                _ => {}
            }
        }
        self.send();
        is_new
    }

    /// These parents are going to be decided about: all of them, if a run is new.
    pub(crate) fn begin<'a>(&mut self, parents: impl Iterator<Item = &'a ParentRef> + Clone) {
        for waiting in self.waiting.values_mut() {
            waiting.undecided.get_or_insert_with(|| parents.clone().cloned().collect());
        }
        self.send();
    }

    /// The status of `parent` is right by this count.
    pub(crate) fn settled(&mut self, parent: &ParentRef, count: &Count) {
        self.decided(parent, |run| is_incomplete_in(run, count));
    }

    /// There are no statuses of the kind of `parent`.
    pub(crate) fn removed(&mut self, parent: &ParentRef) {
        self.decided(parent, |_| true);
    }

    fn decided(&mut self, parent: &ParentRef, is_for: impl Fn(&Member) -> bool) {
        let mut is_over = false;
        for Waiting { run, undecided, .. } in self.waiting.values_mut() {
            if let Some(undecided) = undecided.as_mut().filter(|_| is_for(run)) {
                is_over |= undecided.remove(parent) && undecided.is_empty();
            }
        }
        if is_over {
            self.send();
        }
    }

    /// Sends what can be acknowledged, and has not been refused a short while ago.
    fn send(&mut self) {
        let now = Instant::now();
        self.sent.begin(&self.waiting.keys().cloned().collect(), now);
        let is_over =
            |waiting: &Waiting| waiting.undecided.as_ref().is_some_and(|undecided| undecided.is_empty());
        for (name, waiting) in self.waiting.iter().filter(|(_, waiting)| is_over(waiting)) {
            let (cluster, run) = (self.cluster.clone(), waiting.run.incarnation.clone());
            let (object, uid) = (name.clone(), waiting.uid.clone());
            self.sent.send(name.clone(), async move { cluster.acknowledge(&object, &uid, &run).await }, now);
        }
    }

    /// The time at which the members are to be counted again, because a request failed.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.sent.retry_at().into_iter().chain(self.catch_up.retry_at()).min()
    }

    /// Waits for the answer to a request. Returns whether the members are to be counted again. Cancel-safe.
    pub(crate) async fn answered(&mut self) -> bool {
        tokio::select! {
            sent = self.sent.next() => {
                if let Some((name, ())) = sent {
                    self.waiting.remove(&name);
                }
                false
            }
            is_known = self.catch_up.answered() => is_known,
        }
    }
}

/// Returns true if the run counts as one that serves without something.
fn is_incomplete_in(run: &Member, count: &Count) -> bool {
    count.members.iter().any(|member| member.incomplete && member.is_same_run(run))
}
