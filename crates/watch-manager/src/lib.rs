//! Watches the union of what its registrars ask for; kinds come and go at run time, with one watch and one
//! store per kind.
//!
//! ```
//! # use watch_manager::{testing::FakeApi, EventKind, WatchManager};
//! # use kube::core::GroupVersionKind;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), watch_manager::Error> {
//! # let api = FakeApi::new();
//! let (manager, driver) = WatchManager::builder_with_source(api.clone()).build(); // or `builder(client)`
//! let driver = tokio::spawn(driver);
//!
//! let gadgets = GroupVersionKind::gvk("example.com", "v1", "Gadget");
//! let mut registrar = manager.registrar("gadgets")?;
//! registrar.add(gadgets.clone()); // nobody serves this kind yet: that is a state, not an error
//!
//! api.serve(&gadgets, "gadgets");
//! api.apply(&gadgets, serde_json::json!({"metadata": {"name": "lamp"}}));
//! manager.rediscover(&gadgets); // optional: without it the manager looks again by itself
//! while let Some(event) = registrar.next().await {
//!     match event.kind {
//!         EventKind::Applied(object) => assert_eq!(object.name(), "lamp"),
//!         EventKind::Synced => break, // every object that existed has been delivered
//!         _ => {}
//!     }
//! }
//! # manager.shutdown();
//! # driver.await.expect("the driver does not panic");
//! # Ok(())
//! # }
//! ```
//!
//! - [`WatchManager`] makes registrars, reads stores, and comes with a driver that the caller spawns.
//! - [`Registrar`] is one consumer: a roster of kinds, and a stream of [`WatchEvent`]s.
//! - [`StoreHandle`] reads the objects of a kind without starting anything.
//! - [`Source`] is the seam to an API server; `testing` (feature `test-util`) has one in memory.
//!
//! What it does *not* do: it writes nothing, keeps no finalizers, and makes no decision about an object.

mod backoff;
mod config;
mod error;
mod event;
mod feed;
#[cfg(test)]
mod fixture;
mod inbox;
mod manager;
mod object;
mod ready;
mod registrar;
mod replay;
mod roster;
pub mod source;
mod store;
mod switchboard;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;

pub use kube::core::GroupVersionKind;

pub use self::config::{Config, Delays};
pub use self::error::Error;
pub use self::event::{EventKind, GvkStatus, Verb, WatchEvent};
pub use self::manager::{Builder, Driver, WatchManager};
pub use self::object::{ObjectKey, WatchedObject};
pub use self::ready::Readiness;
pub use self::registrar::Registrar;
pub use self::roster::Replaced;
pub use self::source::{KubeSource, Source};
pub use self::store::StoreHandle;
