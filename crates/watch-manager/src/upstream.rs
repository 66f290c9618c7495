//! The reproductions in `docs/upstream` as documentation tests. One that fails means that kube was fixed: remove its
//! document, and what works around the defect.

#[doc = include_str!("../docs/upstream/kube-owns-shared-stream-with.md")]
struct OwnsSharedStreamWith;
#[doc = include_str!("../docs/upstream/kube-reflect-handle-dynamic.md")]
struct ReflectHandleDynamic;
#[doc = include_str!("../docs/upstream/kube-reflect-handle-wake-up.md")]
struct ReflectHandleWakeUp;
#[doc = include_str!("../docs/upstream/kube-shared-stream-example.md")]
struct SharedStreamExample;
#[doc = include_str!("../docs/upstream/kube-store-wait-until-ready.md")]
struct StoreWaitUntilReady;
#[doc = include_str!("../docs/upstream/kube-watcher-any-semantic.md")]
struct WatcherAnySemantic;
#[doc = include_str!("../docs/upstream/kube-watcher-backoff-resets-on-list.md")]
struct WatcherBackoffResetsOnList;
#[doc = include_str!("../docs/upstream/kube-watcher-error-event.md")]
struct WatcherErrorEvent;
#[doc = include_str!("../docs/upstream/kube-watcher-expired-continue-token.md")]
struct WatcherExpiredContinueToken;
#[doc = include_str!("../docs/upstream/kube-watcher-short-watch.md")]
struct WatcherShortWatch;
#[doc = include_str!("../docs/upstream/kube-watcher-start-410.md")]
struct WatcherStart410;
