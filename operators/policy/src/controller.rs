//! Controllers: they bring the cluster's policies into the process and its results back into the cluster.
//!
//! Knows no enforcement point: policies go out through the handle. Every write is idempotent, so that all pods may
//! make it.

mod apply;
mod constraint_crd;
mod duck;
mod ingest;
mod install;
mod kinds;
mod status;
mod sync;
mod uninstall;
mod webhook_configuration;

pub use ingest::{Ingest, Registrars};
pub use install::{InstallError, install};
pub use kinds::{NAMESPACE, TEMPLATE};
pub use status::shapes;
pub use uninstall::{UNINSTALLED, Uninstall, UninstallError};
pub use webhook_configuration::{WebhookClient, WebhookConfiguration};

/// The field manager of everything that the controllers write.
pub const FIELD_MANAGER: &str = "webtroller";
