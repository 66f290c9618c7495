//! The runs that a statement about all pods must wait for. No I/O: what needs the API server is asked for.
//!
//! A pod is a member until its Pod object is known to be gone, whether or not it is terminating: until the
//! kubelet has confirmed the end, it may serve. A run that has reported that it stopped is not a member. A
//! run with a time to live is one until its heartbeat has stood still, on this process's own clock, for as
//! long as it promised, and a margin for clocks that run at different rates. That holds for a pod whose
//! object is gone too: after a forced deletion the process may still run, until its own clock fences it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::expected::UNREGISTERED;
use crate::report::Member;

/// Added to a tenth of the time to live.
const MARGIN: Duration = Duration::from_secs(1);

/// The runs that were known when they were counted.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) members: Vec<Member>,
    /// They do not serve, but their pods exist.
    pub(crate) excluded: Vec<Member>,
    /// Their pods do not exist, and the processes have ended or fenced themselves.
    pub(crate) gone: Vec<Member>,
}

impl Count {
    /// Sets the gauge.
    pub(crate) fn publish(&self) {
        for (state, runs) in [("active", &self.members), ("stopped", &self.excluded), ("gone", &self.gone)] {
            let runs = u32::try_from(runs.len()).unwrap_or(u32::MAX);
            metrics::gauge!("pod_status_members", "state" => state).set(runs);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Membership {
    /// Uids of the pods that exist and are not finished, by a copy that may lag behind.
    pods: BTreeSet<String>,
    listed: Option<BTreeSet<String>>,
    /// The last heartbeat of each run outside any pod, and when it was first seen.
    beats: BTreeMap<(String, String), (Option<u64>, Instant)>,
}

impl Membership {
    /// A listing of pods begins: what it does not contain is gone.
    pub(crate) fn listing_begins(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// The listing is complete. Returns whether any pod has gone.
    pub(crate) fn listing_ends(&mut self) -> bool {
        let Some(listed) = self.listed.take() else {
            return false;
        };
        let gone = !self.pods.is_subset(&listed);
        self.pods = listed;
        gone
    }

    /// A pod exists.
    pub(crate) fn pod_exists(&mut self, uid: String) {
        if let Some(listed) = &mut self.listed {
            listed.insert(uid.clone());
        }
        self.pods.insert(uid);
    }

    /// A pod is gone, or finished.
    pub(crate) fn pod_gone(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    /// The run has been seen in the API server.
    pub(crate) fn seen(&mut self, run: &Member, now: Instant) {
        if run.ttl_seconds.is_none() {
            return;
        }
        let key = (run.id.clone(), run.incarnation.clone());
        let beat = self.beats.entry(key).or_insert((run.heartbeat, now));
        // The shards of a run have no heartbeat; they are not a sign of life.
        if run.heartbeat.is_some() && run.heartbeat != beat.0 {
            *beat = (run.heartbeat, now);
        }
    }

    /// The time at which the run counts as gone unless there is a heartbeat. Nothing for a run that has only
    /// its Pod object.
    pub(crate) fn expiry(&self, run: &Member) -> Option<Instant> {
        // Example: a fence of 60 s. The pod stops answering 60 s after the *start* of its last renewal, by its clock. That renewal
        // is seen here later than it was sent, so 60 s from then are enough, and 6 s + 1 s for a clock that runs slower there.
        let ttl = Duration::from_secs(run.ttl_seconds?);
        let margin = ttl.checked_div(10)?.checked_add(MARGIN)?;
        let (_, since) = self.beats.get(&(run.id.clone(), run.incarnation.clone()))?;
        since.checked_add(ttl)?.checked_add(margin)
    }

    /// Returns true if the run does not serve any more: it said so, or its time is over.
    pub(crate) fn is_over(&self, run: &Member, now: Instant) -> bool {
        run.stopped || self.expiry(run).is_some_and(|expiry| expiry <= now)
    }

    /// The uid of the run's pod if it is not known to exist, so that the API server is to be asked. A run with a time to live
    /// counts until that is over, whatever has become of its pod.
    pub(crate) fn missing_pod<'a>(&self, run: &'a Member, now: Instant) -> Option<&'a str> {
        let is_asked = run.ttl_seconds.is_none() || self.is_over(run, now);
        run.uid.as_deref().filter(|uid| is_asked && !self.pods.contains(*uid))
    }

    /// Forgets the heartbeats of all runs but these. A run that is over is kept as long as it has objects:
    /// seen again for the first time, it would count as alive.
    pub(crate) fn retain<'a>(&mut self, runs: impl IntoIterator<Item = &'a Member>) {
        let known: BTreeSet<_> = runs.into_iter().map(|run| (&run.id, &run.incarnation)).collect();
        self.beats.retain(|(id, incarnation), _| known.contains(&(id, incarnation)));
    }
}

/// The runs to be considered: all that are registered, and those that were counted before or have only left
/// entries behind, for a missing registration must not make a pod disappear from the count. An earlier run
/// of a registered pod is not one of them.
pub(crate) fn candidates<'a>(
    registered: Vec<Member>,
    reporting: &BTreeSet<&'a Member>,
    counted: &'a [Member],
) -> Vec<Member> {
    let mut candidates: Vec<Member> = Vec::new();
    let is_registered =
        |run: &Member| registered.iter().any(|member| member.id == run.id && member.uid == run.uid);
    // A registration that could not be read stands for a run without uid and time, which would never be over.
    let remembered = counted.iter().filter(|run| run.uid.is_some() || run.ttl_seconds.is_some());
    let remembered = remembered.filter(|run| run.incarnation != UNREGISTERED);
    for run in reporting.iter().copied().chain(remembered).filter(|run| !is_registered(run)) {
        if !candidates.iter().any(|known| known.is_same_run(run)) {
            candidates.push(run.clone());
        }
    }
    candidates.extend(registered);
    // A count with another heartbeat is the same count: otherwise each renewal would have all parents decided about again.
    for run in &mut candidates {
        run.heartbeat = None;
    }
    candidates.sort();
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(id: &str, uid: &str, incarnation: &str) -> Member {
        Member { id: id.into(), uid: Some(uid.into()), incarnation: incarnation.into(), ..Member::default() }
    }

    fn process(heartbeat: Option<u64>) -> Member {
        Member { id: "laptop".into(), ttl_seconds: Some(60), heartbeat, ..Member::default() }
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start.checked_add(Duration::from_secs(seconds)).unwrap()
    }

    #[test]
    fn a_lost_registration_does_not_hide_a_pod() {
        let reporting = pod("a", "u1", "i1");
        assert_eq!(candidates(vec![], &[&reporting].into(), &[]), std::slice::from_ref(&reporting));
    }

    #[test]
    fn a_pod_whose_reports_were_all_deleted_is_still_counted() {
        let counted = pod("a", "u1", "i1");
        let unreadable = Member { id: "x".into(), ..Member::default() };
        let counted = [counted, unreadable];
        assert_eq!(candidates(vec![], &BTreeSet::new(), &counted), &counted[..1]);
    }

    #[test]
    fn a_restarted_container_counts_once() {
        let (old, new) = (pod("a", "u1", "i1"), pod("a", "u1", "i2"));
        assert_eq!(candidates(vec![new.clone()], &[&old, &new].into(), std::slice::from_ref(&old)), [new]);
    }

    #[test]
    fn a_recreated_pod_is_asked_about_beside_its_predecessor() {
        let (old, new) = (pod("a", "u1", "i1"), pod("a", "u2", "i2"));
        let candidates = candidates(vec![new.clone()], &[&old].into(), &[]);
        assert_eq!(candidates, [old, new]);
    }

    #[test]
    fn the_order_of_a_list_does_not_matter() {
        let (a, b) = (pod("a", "u1", "i1"), pod("b", "u2", "i1"));
        let none = BTreeSet::new();
        let forward = candidates(vec![a.clone(), b.clone()], &none, &[]);
        assert_eq!(forward, candidates(vec![b, a], &none, &[]));
    }

    #[test]
    fn a_process_is_gone_when_its_heartbeat_stands_still() {
        let start = Instant::now();
        let mut membership = Membership::default();
        membership.seen(&process(Some(1)), start);
        membership.seen(&process(Some(1)), after(start, 50));
        assert_eq!(membership.expiry(&process(None)), Some(after(start, 67)));
        membership.seen(&process(Some(2)), after(start, 50));
        assert_eq!(membership.expiry(&process(None)), Some(after(start, 117)));
    }

    #[test]
    fn a_shard_is_not_a_sign_of_life() {
        let start = Instant::now();
        let mut membership = Membership::default();
        membership.seen(&process(Some(1)), start);
        membership.seen(&process(None), after(start, 50));
        assert_eq!(membership.expiry(&process(None)), Some(after(start, 67)));
    }

    #[test]
    fn only_a_pod_that_is_not_known_is_asked_about() {
        let mut membership = Membership::default();
        let run = pod("a", "u1", "i1");
        assert_eq!(membership.missing_pod(&run, Instant::now()), Some("u1"));
        membership.pod_exists("u1".into());
        assert_eq!(membership.missing_pod(&run, Instant::now()), None);
        membership.listing_begins();
        assert!(membership.listing_ends());
        assert_eq!(membership.missing_pod(&run, Instant::now()), Some("u1"));
        assert_eq!(membership.expiry(&run), None, "this pod has no heartbeat");
    }

    #[test]
    fn a_run_that_is_over_stays_so_until_its_heartbeat_moves() {
        let start = Instant::now();
        let mut membership = Membership::default();
        membership.seen(&process(Some(1)), start);
        let dead = after(start, 70);
        assert!(membership.is_over(&process(None), dead));
        // It is in no list of members, and its objects are still there because the sweep failed.
        membership.retain(&[process(None)]);
        membership.seen(&process(Some(1)), dead);
        assert!(membership.is_over(&process(None), dead), "it must not count as alive once more");
        membership.seen(&process(Some(2)), dead);
        assert!(!membership.is_over(&process(None), dead));
    }

    #[test]
    fn a_fenced_pod_counts_until_its_time_is_over_or_it_says_that_it_stopped() {
        let start = Instant::now();
        let mut membership = Membership::default();
        let mut run = Member { ttl_seconds: Some(30), heartbeat: Some(1), ..pod("a", "u1", "i1") };
        membership.seen(&run, start);
        assert!(!membership.is_over(&run, after(start, 33)));
        assert!(membership.is_over(&run, after(start, 34)));
        assert!(!membership.is_over(&run, start));
        run.stopped = true;
        assert!(membership.is_over(&run, start));
    }

    #[test]
    fn a_pod_that_appears_during_a_listing_is_kept() {
        let mut membership = Membership::default();
        membership.listing_begins();
        membership.pod_exists("u1".into());
        assert!(!membership.listing_ends());
        assert_eq!(membership.missing_pod(&pod("a", "u1", "i1"), Instant::now()), None);
    }
}
