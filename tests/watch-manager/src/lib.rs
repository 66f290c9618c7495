//! Tests of watch-manager that need a real API server. The control plane is not published, so they are not part of the crate.
//!
//! ```console
//! $ cargo test -p watch-manager-tests --test churn
//! ```
