//! Enforcement points: they ask for a verdict and act on it.
//!
//! Knows no controllers: policies come through the handle, Namespaces through [`Namespaces`].

mod deny_log;
mod label_guard;
mod lockout;
mod namespaces;
mod own_kinds;
mod webhook;

pub use label_guard::{ExemptNamespaces, LabelGuard};
pub use namespaces::{NamespaceError, Namespaces, NoNamespaces};
pub use webhook::Webhook;

/// Returns whether a request is about a Namespace.
fn is_namespace(request: &admission_server::AdmissionRequest) -> bool {
    request.kind.kind == "Namespace" && request.kind.group.is_empty()
}
