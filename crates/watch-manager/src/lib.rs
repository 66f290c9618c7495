//! Watches the union of what its registrars ask for; kinds come and go at run time, with one watch and one
//! store per kind.
//!
#![cfg_attr(feature = "test-util", doc = "```")]
#![cfg_attr(not(feature = "test-util"), doc = "```ignore")]
//! # use watch_manager::{testing::FakeApi, CancellationToken, EventKind, WatchManager};
//! # use kube::core::GroupVersionKind;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), watch_manager::Error> {
//! # let api = FakeApi::new();
//! let (manager, driver) = WatchManager::builder_with_source(api.clone()).build(); // or `builder(client)`
//! let shutdown = CancellationToken::new();
//! let driver = tokio::spawn(driver.run(shutdown.clone()));
//!
//! let gadgets = GroupVersionKind::gvk("example.com", "v1", "Gadget");
//! let mut registrar = manager.registrar("gadgets")?;
//! let handle = registrar.add(gadgets.clone()); // not served yet: that is a state, not an error
//!
//! api.serve(&gadgets, "gadgets");
//! api.apply(&gadgets, serde_json::json!({"metadata": {"name": "lamp"}}));
//! manager.rediscover(&gadgets); // optional: without it the manager discovers the kind by itself
//! while let Some(event) = registrar.next().await {
//!     match event.kind {
//!         EventKind::Applied(object) => assert_eq!(object.name(), "lamp"),
//!         EventKind::Synced => break, // every object that existed has been delivered
//!         _ => {}
//!     }
//! }
//! assert_eq!(handle.store().len(), 1);
//! shutdown.cancel();
//! driver.await.expect("the driver does not panic");
//! # Ok(())
//! # }
//! ```
//!
//! | type | purpose |
//! |---|---|
//! | [`WatchManager`] | makes registrars, reads stores; comes with a [`WatchDriver`] that the caller runs |
//! | [`Registrar`] | one consumer: the kinds it asks for, and a stream of [`WatchEvent`]s |
//! | [`Interest`] | a kind, and optionally namespaces, selectors, metadata only |
//! | [`WatchHandle`] | one kind of one registrar: its state, `ready().await`, its store |
//! | [`StoreHandle`] | reads the objects of a kind without starting anything |
//! | [`reconcile_kinds`] | a controller for any number of kinds |
//! | [`Source`] | the seam to an API server |
//!
//! | feature | adds |
//! |---|---|
//! | `runtime` | `stream::watcher_events`, the events as `kube::runtime::watcher::Event`, and `StoreHandle::get_ref` |
//! | `controller` | `controller`: drives a `kube::runtime::Controller` without a second watch or copy |
//! | `metrics` | counters and gauges through the `metrics` facade |
//! | `test-util` | `testing::FakeApi`, an API server in memory, also as a `kube::Client` |
//!
//! The [`guide`] explains what is guaranteed, and how to ask, read, test and measure.
//!
//! It writes nothing, keeps no finalizers, and makes no decision about an object.

mod backlog;
mod backoff;
mod config;
mod control;
#[cfg(feature = "controller")]
pub mod controller;
mod definitions;
mod dispatcher;
mod driver;
mod error;
mod event;
#[cfg(test)]
mod fixture;
mod handle;
mod intents;
mod interest;
mod manager;
mod object;
mod queue;
mod ready;
mod reconcile;
mod registrar;
pub mod source;
mod store;
pub mod stream;
mod telemetry;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
#[cfg(doctest)]
mod upstream;
mod watcher;

pub use kube::core::GroupVersionKind;
pub use tokio_util::sync::CancellationToken;

pub use self::backlog::{BacklogStats, Replaced};
pub use self::config::{BackoffRange, Config, RateLimit};
pub use self::error::{Error, NotReadyError, ObjectDecodeError};
pub use self::event::{EventKind, GvkStatus, KindStatus, Verb, WatchEvent};
pub use self::handle::WatchHandle;
pub use self::interest::{Interest, Scope, Selection};
pub use self::manager::{Builder, WatchDriver, WatchManager};
pub use self::object::{ObjectKey, WatchedObject};
pub use self::ready::WatchReadiness;
pub use self::reconcile::{ReconcileConfig, ReconcileKey, Reconciled, reconcile_kinds};
pub use self::registrar::Registrar;
pub use self::source::{KubeSource, Source};
pub use self::store::StoreHandle;

// Its programs run as tests, on the server in memory.
#[cfg(all(doc, any(not(doctest), feature = "test-util")))]
#[doc = include_str!("../README.md")]
pub mod guide {}
