//! Enforcement points: they ask for a verdict and act on it.
//!
//! Knows no controllers: policies come through the handle, Namespaces through [`Namespaces`].

mod costs;
mod deny_events;
mod deny_log;
mod enforcement;
mod inline_review;
mod label_guard;
mod lockout;
mod namespaces;
mod own_kinds;
mod recent;
mod records;
mod webhook;

pub use costs::{Cost, Costs};
pub use label_guard::{ExemptNamespaces, LabelGuard};
pub use lockout::refused_as_lockout;
pub use namespaces::{NamespaceError, Namespaces, NoNamespaces};
pub use recent::{Denial, RecentDenials};
pub use records::Records;
pub use webhook::Webhook;

/// Returns whether a request is about a Namespace.
fn is_namespace(request: &admission_server::AdmissionRequest) -> bool {
    request.kind.kind == "Namespace" && request.kind.group.is_empty()
}
