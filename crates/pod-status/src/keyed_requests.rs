//! Requests about single things, which are under way beside everything else: one that is refused or not answered delays no
//! other, and is sent again after a time of its own.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::backoffs::Backoffs;
use crate::reason::reason;

/// Requests that are under way at the same time.
const CONCURRENCY: usize = 8;

type Request<K, T> = BoxFuture<'static, (K, kube::Result<T>)>;

/// At most one request for each key.
pub(crate) struct KeyedRequests<K, T> {
    /// The purpose, for the log: `cannot …, will retry`.
    purpose: &'static str,
    queue: VecDeque<Request<K, T>>,
    running: FuturesUnordered<Request<K, T>>,
    /// The keys in `queue` and `running`.
    busy: BTreeSet<K>,
    backoffs: Backoffs<K>,
}

impl<K: Ord + Clone + Send + 'static, T: 'static> KeyedRequests<K, T> {
    pub(crate) fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            queue: VecDeque::new(),
            running: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            backoffs: Backoffs::default(),
        }
    }

    /// Sends a request, unless one for this key is under way or has failed a short while ago. Returns whether it does.
    pub(crate) fn send<F>(&mut self, key: K, request: F, now: Instant) -> bool
    where
        F: Future<Output = kube::Result<T>> + Send + 'static,
    {
        if self.backoffs.is_waiting(&key, now) || !self.busy.insert(key.clone()) {
            return false;
        }
        self.queue.push_back(Box::pin(async move { (key, request.await) }));
        true
    }

    /// The time at which a request that failed may be sent again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.backoffs.next()
    }

    /// The caller is about to send what it still wants, which are these keys: forgets the failures of all others.
    pub(crate) fn begin(&mut self, wanted: &BTreeSet<K>, now: Instant) {
        self.backoffs.take_due(now);
        self.backoffs.retain(|key| wanted.contains(key));
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// The next answer; nothing for a request that failed. Pending without any request. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<(K, T)> {
        while self.running.len() < CONCURRENCY
            && let Some(request) = self.queue.pop_front()
        {
            self.running.push(request);
        }
        let Some((key, answer)) = self.running.next().await else {
            return std::future::pending().await;
        };
        self.busy.remove(&key);
        match answer {
            Ok(answer) => {
                self.backoffs.succeeded(&key);
                Some((key, answer))
            }
            Err(error) => {
                let (reason, purpose) = (reason(&error), self.purpose);
                let delay = self.backoffs.failed(key, &error, Instant::now());
                tracing::warn!(reason, ?delay, "cannot {purpose}, will retry");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{advance, timeout};

    use super::*;

    fn refused() -> kube::Error {
        let status = serde_json::json!({"code": 429, "details": {"retryAfterSeconds": 20}});
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_refused_waits_as_long_as_it_is_told_and_delays_no_other() {
        let mut requests = KeyedRequests::new("do it");
        let start = Instant::now();
        assert!(requests.send("lost", std::future::pending(), start));
        assert!(requests.send("refused", async { Err(refused()) }, start));
        assert!(!requests.send("refused", async { Ok(0) }, start), "it is under way");
        assert!(requests.send("good", async { Ok(1) }, start));
        assert_eq!([requests.next().await, requests.next().await].iter().flatten().count(), 1);
        assert!(!requests.send("refused", async { Ok(0) }, start), "20 s are not over");
        assert!(requests.retry_at() >= start.checked_add(Duration::from_secs(20)));
        advance(Duration::from_secs(20)).await;
        let now = Instant::now();
        requests.begin(&["refused", "lost"].into(), now);
        assert_eq!(requests.retry_at(), None, "it is to be sent now");
        assert!(requests.send("refused", async { Ok(2) }, now));
        assert_eq!(requests.next().await, Some(("refused", 2)));
        assert!(!requests.is_idle() && timeout(Duration::from_secs(9), requests.next()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_wanted_any_more_is_forgotten() {
        let mut requests: KeyedRequests<&str, u32> = KeyedRequests::new("do it");
        let now = Instant::now();
        requests.send("refused", async { Err(refused()) }, now);
        assert_eq!(requests.next().await, None);
        requests.begin(&BTreeSet::new(), now);
        assert_eq!(requests.retry_at(), None);
        assert!(requests.send("refused", async { Ok(2) }, now));
    }
}
