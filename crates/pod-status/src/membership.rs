//! Which runs must be heard. No I/O: what needs the API server is asked for and told.
//!
//! A pod is a member until its Pod object is known to be gone; a process outside any pod until its
//! heartbeat has stood still, on this process's own clock, for as long as it promised.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::report::Member;

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
        if run.uid.is_some() || run.ttl_seconds.is_none() {
            return;
        }
        let key = (run.id.clone(), run.incarnation.clone());
        let beat = self.beats.entry(key).or_insert((run.heartbeat, now));
        // The shards of a run have no heartbeat; they are no sign of life.
        if run.heartbeat.is_some() && run.heartbeat != beat.0 {
            *beat = (run.heartbeat, now);
        }
    }

    /// When the run counts as gone unless it is heard of. Nothing for a pod.
    pub(crate) fn expiry(&self, run: &Member) -> Option<Instant> {
        let ttl = Duration::from_secs(run.ttl_seconds.filter(|_| run.uid.is_none())?);
        let (_, since) = self.beats.get(&(run.id.clone(), run.incarnation.clone()))?;
        since.checked_add(ttl)
    }

    /// The uid of the run's pod if it is not known to exist: whether it is gone is to be asked.
    pub(crate) fn missing_pod<'a>(&self, run: &'a Member) -> Option<&'a str> {
        run.uid.as_deref().filter(|uid| !self.pods.contains(*uid))
    }

    /// Forgets the heartbeats of all runs but these.
    pub(crate) fn retain(&mut self, runs: &[Member]) {
        let known: BTreeSet<_> = runs.iter().map(|run| (&run.id, &run.incarnation)).collect();
        self.beats
            .retain(|(id, incarnation), _| known.contains(&(id, incarnation)));
    }
}

/// The runs to be considered: all that are registered, and those that have only left entries behind, for a
/// missing registration must not make a pod disappear from the count. An earlier run of a registered pod is
/// not one of them.
pub(crate) fn candidates(registered: Vec<Member>, reporting: &BTreeSet<&Member>) -> Vec<Member> {
    let mut candidates: Vec<Member> = Vec::new();
    let unregistered = |run: &&Member| {
        !registered
            .iter()
            .any(|member| member.id == run.id && member.uid == run.uid)
    };
    for run in reporting.iter().copied().filter(unregistered) {
        if !candidates.iter().any(|known| known.is_same_run(run)) {
            candidates.push(run.clone());
        }
    }
    candidates.extend(registered);
    for run in &mut candidates {
        run.heartbeat = None;
    }
    candidates.sort();
    candidates
}
