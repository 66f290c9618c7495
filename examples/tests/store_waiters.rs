//! A defect of kube-runtime 5.0 that the kill-at-every-write tests found, see `docs/upstream/kube-store-wait-until-ready.md`.

#![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

use futures::task::noop_waker;
use futures::{FutureExt, task::ArcWake};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Context;

struct Woken(AtomicU32);

impl ArcWake for Woken {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// When this fails, the defect is fixed: delete it, the page, and the readiness of `examples::Watched`.
#[test]
fn a_store_wakes_only_the_last_of_those_that_wait_for_it() {
    let (reader, mut writer) = store::<ConfigMap>();
    let woken = Arc::new(Woken(AtomicU32::new(0)));
    let first_waker = futures::task::waker(Arc::clone(&woken));
    let mut first = reader.wait_until_ready().boxed();
    assert!(first.poll_unpin(&mut Context::from_waker(&first_waker)).is_pending());
    let mut second = reader.wait_until_ready().boxed();
    assert!(second.poll_unpin(&mut Context::from_waker(&noop_waker())).is_pending());
    writer.apply_watcher_event(&Event::Init);
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(woken.0.load(Ordering::SeqCst), 0, "the first one is woken now");
}
