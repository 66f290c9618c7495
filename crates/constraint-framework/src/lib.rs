//! The decision process of a policy operator: templates, constraints, targets, drivers, enforcement points.
//!
//! ```
//! use constraint_framework::policyset::{Compiler, PolicySetBuilder};
//! use constraint_framework::review::{Document, EnforcementPoint};
//! use constraint_framework::{api::Constraint, driver::Budget, target::AdmissionTarget};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = PolicySetBuilder::new(Compiler::default());
//! builder.put_template(&json!({
//!     "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "nodefault"},
//!     "spec": {
//!         "crd": {"spec": {"names": {"kind": "NoDefault"}}},
//!         "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": r#"package nodefault
//!             violation[{"msg": "choose another namespace"}] { input.review.object.metadata.namespace == "default" }"#}]
//!     }
//! }))?;
//! let constraint = json!({
//!     "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "NoDefault", "metadata": {"name": "everywhere"}});
//! builder.put_constraint(Constraint::from_value(&constraint)?)?;
//!
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}});
//! let review = AdmissionTarget.object(Document::from_value(&pod)?, None);
//! let verdict = builder.build().review(&review, EnforcementPoint::AUDIT, &Budget::default());
//! assert_eq!(verdict.denial(), "[everywhere] choose another namespace");
//! # Ok(())
//! # }
//! ```
//!
//! A **template** is a policy with open parameters; a **constraint** fills them and says where it applies. A
//! [`target`] knows what is judged, a [`driver`] knows a policy language, and a [`policyset::PolicySet`] puts them
//! together: it is immutable, shared by `Arc`, and gives an enforcement point the [`review::Verdict`] on a
//! [`review::Review`].
//!
//! This crate knows no client, no HTTP and no async runtime. Same review, same verdict, for every caller.

pub mod api;
pub mod driver;
mod error;
mod error_list;
pub mod expansion;
pub mod inventory;
pub mod policyset;
pub mod review;
pub mod target;

pub use error::IngestError;
