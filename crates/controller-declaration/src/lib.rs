//! Declares what a controller reads, writes and waits for, and holds it to that.
//!
//! ```
//! use controller_declaration::{DeclaredAccess, Declaration, check, of_user};
//! use serde_json::json;
//!
//! let drain = Declaration::new("drain", "Moves the jobs off a Machine that is being deleted.")
//!     .access(DeclaredAccess::to("example.com", "machines").watches().adds_finalizer("example.com/drain"))
//!     .access(DeclaredAccess::to("", "configmaps").lists().deletes());
//! assert_eq!(drain.role("shop").rules.unwrap().len(), 2);
//!
//! // One line of an audit log: a call that is not declared.
//! let user = "system:serviceaccount:shop:drain";
//! let log = [json!({"verb": "list", "user": {"username": user}, "objectRef": {"resource": "secrets"}})];
//! let report = check(&drain, of_user(&log, user));
//! let differences = report.into_result().unwrap_err();
//! assert_eq!(differences.undeclared.iter().map(ToString::to_string).collect::<Vec<_>>(), ["list secrets"]);
//! ```
//!
//! | for | use |
//! |---|---|
//! | stating it | [`Declaration`], [`DeclaredAccess`] |
//! | the rights | [`Declaration::role`], [`Declaration::cluster_role`] |
//! | a page with a table and a graph | [`render_page`], [`render_graph`] |
//! | two owners of one field, a finalizer that no controller adds | [`check_consistency`] |
//! | an audit log | [`check`], [`of_user`] |
//!
//! It computes: it has no client, reads no file and writes none.

mod access;
mod audit_log;
mod call;
mod consistency;
mod declaration;
mod field;
mod page;
mod role;

pub use access::DeclaredAccess;
pub use audit_log::{AuditLogReport, check, of_user};
pub use call::Call;
pub use consistency::{Diagnostic, Diagnostics, check_consistency};
pub use declaration::Declaration;
pub use page::{render_graph, render_page};
pub use role::FINALIZERS;

/// The program of the README is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
