//! Things that the API server refuses while it takes others: each has a back-off of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::pace::Retry;

/// The things that have failed, each with the time of its next attempt.
#[derive(Debug)]
pub(crate) struct Backoffs<K> {
    retries: BTreeMap<K, (Retry, Instant)>,
    /// The same by time. A thing whose attempt is under way is not in here.
    queue: BTreeSet<(Instant, K)>,
}

impl<K> Default for Backoffs<K> {
    fn default() -> Self {
        Self { retries: BTreeMap::new(), queue: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Backoffs<K> {
    /// Notes one more failure. Returns the time until the next attempt.
    pub(crate) fn failed(&mut self, key: K, error: &kube::Error, now: Instant) -> Duration {
        let (mut retry, until) = self.retries.remove(&key).unwrap_or_else(|| (Retry::new(), now));
        self.queue.remove(&(until, key.clone()));
        let delay = retry.after(error);
        let until = now.checked_add(delay).unwrap_or(now);
        self.queue.insert((until, key.clone()));
        self.retries.insert(key, (retry, until));
        delay
    }

    /// Notes a success: the next failure begins with the shortest delay.
    pub(crate) fn succeeded(&mut self, key: &K) {
        if let Some((_, until)) = self.retries.remove(key) {
            self.queue.remove(&(until, key.clone()));
        }
    }

    /// Forgets all other things.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&K) -> bool) {
        self.retries.retain(|key, _| is_kept(key));
        self.queue.retain(|(_, key)| is_kept(key));
    }

    /// Returns true if the thing is to be left alone until its time.
    pub(crate) fn is_waiting(&self, key: &K, now: Instant) -> bool {
        self.retries.get(key).is_some_and(|(_, until)| *until > now)
    }

    /// The time of the next attempt.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(until, _)| *until)
    }

    /// The things whose time has come, each once.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<K> {
        let mut due = Vec::new();
        while let Some((_, key)) = self.queue.first().filter(|(until, _)| *until <= now) {
            due.push(key.clone());
            self.queue.pop_first();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> kube::Error {
        let status = serde_json::json!({"code": 500, "details": {}});
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn each_thing_has_its_own_delay() {
        let mut backoffs = Backoffs::default();
        let start = Instant::now();
        assert_eq!(backoffs.next(), None);
        for _ in 0..8 {
            backoffs.failed("bad", &error(), start);
        }
        let short = backoffs.failed("new", &error(), start);
        assert!(short < Duration::from_secs(2));
        assert_eq!(backoffs.next(), start.checked_add(short));
        assert!(backoffs.is_waiting(&"new", start) && !backoffs.is_waiting(&"other", start));
        let later = start.checked_add(short).unwrap();
        assert_eq!(backoffs.take_due(later), ["new"]);
        assert!(backoffs.take_due(later).is_empty(), "its attempt is under way");
        assert!(backoffs.is_waiting(&"bad", later) && !backoffs.is_waiting(&"new", later));
        assert!(backoffs.failed("new", &error(), later) > short.checked_div(3).unwrap());
        backoffs.succeeded(&"new");
        backoffs.succeeded(&"bad");
        assert_eq!(backoffs.next(), None);
        assert!(backoffs.failed("bad", &error(), later) < Duration::from_secs(2), "it begins anew");
    }
}
