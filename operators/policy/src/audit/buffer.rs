//! The objects between the request that brought them and the judge: the only ones that the audit has in memory.
//!
//! The watch manager stores what it is given for as long as an object exists. It is given identities, and the objects
//! themselves wait here, each until its event is delivered. Their total size is bounded: a request for more waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use watch_manager::GroupVersionKind;

/// The event of an object comes within seconds; what is older belongs to none.
const LONGEST: Duration = Duration::from_secs(300);
/// The time that a request waits for room. It has a deadline of its own, and one page too much does no harm.
const PATIENCE: Duration = Duration::from_secs(10);

/// Objects that wait to be judged. Clones share them.
#[derive(Clone)]
pub(super) struct ObjectBuffer(Arc<Shared>);

struct Shared {
    held: Mutex<Held>,
    freed: Notify,
    limit: usize,
}

/// Namespace and name.
type Key = (Box<str>, Box<str>);

#[derive(Default)]
struct Held {
    kinds: HashMap<GroupVersionKind, HashMap<Key, Content>>,
    bytes: usize,
}

/// An object as the API server sent it.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) version: String,
    pub(super) text: String,
    since: Instant,
}

impl ObjectBuffer {
    /// Room for `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Shared { held: Mutex::default(), freed: Notify::new(), limit }))
    }

    /// Waits until there is room, or for a while.
    pub(super) async fn room(&self) {
        let waited = async {
            loop {
                let freed = self.0.freed.notified();
                if self.lock().bytes < self.0.limit {
                    return;
                }
                freed.await;
            }
        };
        if timeout(PATIENCE, waited).await.is_err() {
            self.lock().forget(|content| content.since.elapsed() > LONGEST);
        }
    }

    /// Puts an object. The newest of one name is kept.
    pub(super) fn put(
        &self,
        gvk: &GroupVersionKind,
        namespace: &str,
        name: &str,
        version: &str,
        text: String,
    ) {
        let content = Content { version: version.to_owned(), text, since: Instant::now() };
        let mut held = self.lock();
        held.bytes = held.bytes.saturating_add(content.text.len());
        let kind = held.kinds.entry(gvk.clone()).or_default();
        let former = kind.insert((namespace.into(), name.into()), content);
        held.count_down(former.as_ref());
    }

    /// Takes an object out.
    pub(super) fn take(&self, gvk: &GroupVersionKind, namespace: &str, name: &str) -> Option<Content> {
        let mut held = self.lock();
        let taken = held.kinds.get_mut(gvk)?.remove(&(namespace.into(), name.into()));
        held.count_down(taken.as_ref());
        drop(held);
        self.0.freed.notify_waiters();
        taken
    }

    /// Takes out all objects of a kind that is not watched any more.
    pub(super) fn drop_kind(&self, gvk: &GroupVersionKind) {
        let mut held = self.lock();
        for content in held.kinds.remove(gvk).into_iter().flat_map(HashMap::into_values) {
            held.count_down(Some(&content));
        }
        drop(held);
        self.0.freed.notify_waiters();
    }

    /// The size of all objects.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn count_down(&mut self, content: Option<&Content>) {
        self.bytes = self.bytes.saturating_sub(content.map_or(0, |content| content.text.len()));
    }

    fn forget(&mut self, gone: impl Fn(&Content) -> bool) {
        let mut freed = 0_usize;
        for kind in self.kinds.values_mut() {
            for (_, content) in kind.extract_if(|_, content| gone(content)) {
                freed = freed.saturating_add(content.text.len());
            }
        }
        self.bytes = self.bytes.saturating_sub(freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_room_and_the_newest_object_of_a_name_is_kept() {
        let (hold, pods) = (ObjectBuffer::new(6), GroupVersionKind::gvk("", "v1", "Pod"));
        hold.put(&pods, "n", "a", "1", "1234".to_owned());
        hold.put(&pods, "n", "a", "2", "123456".to_owned());
        assert_eq!(hold.bytes(), 6);
        let (waiter, started) = (hold.clone(), Instant::now());
        let waiting = tokio::spawn(async move { waiter.room().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(hold.take(&pods, "n", "a").unwrap().version, "2");
        waiting.await.unwrap();
        assert_eq!((hold.bytes(), started.elapsed()), (0, Duration::ZERO));
        assert!(hold.take(&pods, "n", "a").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_forgotten_and_delays_nobody_for_long() {
        let (hold, pods) = (ObjectBuffer::new(1), GroupVersionKind::gvk("", "v1", "Pod"));
        hold.put(&pods, "n", "a", "1", "1234".to_owned());
        hold.room().await;
        assert_eq!(hold.bytes(), 4, "its event may still come");
        tokio::time::advance(LONGEST).await;
        hold.room().await;
        assert_eq!(hold.bytes(), 0);
    }
}
