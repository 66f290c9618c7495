//! Controllers: they bring the cluster's policies into the process and its results back into the cluster.
//!
//! Knows no enforcement point: policies go out through the handle. Every write is idempotent, so that all pods may
//! make it.

mod crds;
mod duck;
mod enforcement_points;
mod former_webhooks;
mod ingest;
mod kinds;
mod own_crd_controller;
mod own_crds;
mod reachability;
mod repair_log;
mod staleness;
mod status;
mod sync;
mod uninstall;
mod webhook_configuration;
mod webhook_registration;

pub use former_webhooks::FormerRegistrations;
pub(crate) use ingest::gauge_value;
pub use ingest::{Ingest, IngestContext, Registrars};
pub use kinds::{NAMESPACE, OtherVersions, TEMPLATE};
pub use own_crd_controller::OwnCrdController;
pub use own_crds::{InstallError, OwnCrds};
pub use staleness::stale_watches;
pub use status::shapes;
pub use uninstall::{Removed, UNINSTALLED, Uninstall, UninstallError};
pub use webhook_configuration::{WebhookClient, WebhookConfiguration};
pub use webhook_registration::{RegistrationState, Runs, WebhookRegistration};

/// The field manager of everything that the controllers write.
pub const FIELD_MANAGER: &str = "webtroller";
