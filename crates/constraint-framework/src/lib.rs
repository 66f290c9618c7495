//! The decision process of a policy operator: templates and constraints in, a verdict on each review out.
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
//! A **template** is a policy with open parameters; a **constraint** is an instance with their values and with the scope of the
//! policy. A [`policyset::PolicySet`] holds both in compiled form: it is immutable, shared by `Arc`, and gives an enforcement
//! point the [`review::Verdict`] on a [`review::Review`]. The same review has the same verdict for every caller.
//!
//! | module | content |
//! |---|---|
//! | [`api`] | templates, constraints and their statuses as users write and read them, and the errors in them |
//! | [`review`] | the input and the output of a decision: documents, reviews, violations, actions, verdicts |
//! | [`inventory`] | the objects that policies read below `data.inventory`, and their reduction for one review |
//! | [`expansion`] | the objects that a workload would create, such as the Pod of a Deployment |
//! | [`target`] | the subjects of policies: match schema, matching, construction of reviews, constraint CRD |
//! | [`driver`] | policy languages: Rego, CEL, and the traits for others |
//! | [`policyset`] | the compiler, the builder of policy sets, the sets, and explanations of single answers |
//!
//! It does not watch, list or write objects, serve HTTP, spawn tasks or threads, read files or fetch anything, and has no async
//! runtime: an operator, a webhook or a command line does that and calls [`policyset::PolicySet::review`]. It does not apply
//! mutators. Compilation and evaluation block the calling thread, and evaluation ends within its [`driver::Budget`].

pub mod api;
pub mod driver;
mod error;
pub mod expansion;
pub mod inventory;
pub mod policyset;
pub mod review;
pub mod target;

pub use error::IngestError;

/// The example of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
