//! Controllers: they bring the cluster's policies into the process and its results back into the cluster.
//!
//! Knows no enforcement point: policies go out through the handle. Every write is idempotent, so that all pods may
//! make it.

mod crds;
mod duck;
mod former;
mod ingest;
mod install;
mod kinds;
mod points;
mod reachability;
mod registration;
mod repairs;
mod staleness;
mod status;
mod sync;
mod uninstall;
mod upkeep;
mod webhook_configuration;

pub use former::FormerRegistrations;
pub(crate) use ingest::gauge_value;
pub use ingest::{Ingest, Registrars, Wiring};
pub use install::{InstallError, OwnCrds};
pub use kinds::{NAMESPACE, OtherVersions, TEMPLATE};
pub use registration::{Registration, RegistrationState, Runs};
pub use staleness::stale_watches;
pub use status::shapes;
pub use uninstall::{Removed, UNINSTALLED, Uninstall, UninstallError};
pub use upkeep::Upkeep;
pub use webhook_configuration::{WebhookClient, WebhookConfiguration};

/// The field manager of everything that the controllers write.
pub const FIELD_MANAGER: &str = "webtroller";
