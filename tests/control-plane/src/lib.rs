//! A real etcd, kube-apiserver and kube-controller-manager for tests.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use control_plane::{Component, ControlPlane};
//!
//! let mut plane = ControlPlane::start().await?;
//! let version = plane.client()?.apiserver_version().await?;
//! assert_eq!(version.git_version, ControlPlane::pinned_version());
//!
//! plane.pause(Component::ApiServer)?; // Open connections go silent...
//! plane.resume(Component::ApiServer)?; // ...and come back.
//! # Ok(())
//! # }
//! ```
//!
//! Tests that break nothing share one per binary: `ControlPlane::shared().await?`, each with its own
//! [`namespace`](ControlPlane::namespace) and its own [`client`](ControlPlane::client).
//!
//! The programs come from `$KUBEBUILDER_ASSETS` when that is set, and are otherwise built once with Go from
//! the modules pinned in this crate's `go.mod`. There is no scheduler and no kubelet: a pod stays Pending.
//! It fakes nothing, and it is not a cluster manager: everything ends with the test.

mod assets;
mod build;
mod certificate;
mod component;
mod control_plane;
mod error;
mod launch;
mod namespace;
mod options;
mod port;
mod ready;
mod supervisor;

pub use certificate::ServingCertificate;
pub use component::Component;
pub use control_plane::ControlPlane;
pub use error::Error;
pub use options::Options;

/// The example of the guide compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/control-plane.md")]
struct Guide;
