//! Merges partial OpenAPI schemas into separate roots of one structural CRD schema.
//!
//! ```
//! use schema_merge::{Fragment, Merger, MountPath, Style, structuralize};
//!
//! #[derive(schemars::JsonSchema)]
//! struct Backup {
//!     schedule: String,
//!     keep: Option<u8>,
//! }
//!
//! let spec = structuralize(&schemars::schema_for!(Backup).to_value(), Style::default()).expect("a plain struct");
//! let merged = Merger::new().mount(Fragment::new("Backup", MountPath::of(["spec"]), spec.schema)).build().expect("one mount");
//! let crd = serde_json::json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "backups.example.com"},
//!     "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Backup", "plural": "backups"}, "versions": [
//!         {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": merged.schema()}}]},
//! });
//! assert!(schema_merge::validate_crd(&crd).iter().all(|diagnostic| !diagnostic.is_error()));
//! ```
//!
//! Several parties each own a part of one CRD's schema and must not collide. Each hands over a [`Fragment`]: a schema
//! as JSON, where it is mounted, and on what terms. [`Merger::build`] gives one schema, or every conflict at once with
//! both parties named.
//!
//! | function or type | purpose |
//! |---|---|
//! | [`Merger`], [`Fragment`], [`Merged`] | one schema of several fragments, or all [`MergeError`]s; the contributors of each place |
//! | [`Frame`] | many schemas that differ in one fragment |
//! | [`check_structural`], [`validate_crd`] | validation of a schema or a CRD as by the API server, in its own words, with lints: [`ValidationResult`] |
//! | [`structuralize`] | a structural schema of what generators emit, with its losses |
//! | [`validate_object`], [`defaulted`], [`pruned`] | the effect of a schema on one object |
//! | [`compare`], [`compare_crds`] | the effect of a change of a schema on stored objects and clients |
//! | [`is_dns1035_label`], [`is_dns1123_subdomain`] | the form of names |
//!
//! | feature | adds |
//! |---|---|
//! | `cel` | compilation and cost of `x-kubernetes-validations`, in [`check_structural`] and [`validate_crd`]; without it only their form is checked |
//!
//! Not here: clients and clusters, updates of a CRD that exists, webhook conversion, and the evaluation of rules on objects
//! ([`validate_object`] leaves them out). Nothing panics, whatever JSON it is given.

mod cel;
mod compat;
mod conflict;
mod crd;
mod decode;
mod diagnostic;
mod errors;
mod fragment;
mod keyword;
mod label;
mod limit;
mod merged;
mod merger;
mod node;
mod number;
mod object;
mod path;
mod structural;
mod structuralize;

pub use compat::{Change, Direction, Impact, compare, compare_crds};
pub use conflict::{ConflictSide, MergeError};
pub use crd::validate_crd;
pub use diagnostic::{Diagnostic, DiagnosticKind, Severity};
pub use errors::{Errors, ValidationResult};
pub use fragment::{Fragment, MountDefault, MountPolicy, RequiredPropagation, Sharing};
pub use label::{is_dns1035_label, is_dns1123_subdomain};
pub use limit::SchemaLimits;
pub use merged::Merged;
pub use merger::{Frame, Merger, MetadataLimits, StringLimits};
pub use object::{ObjectVerdict, Pruned, defaulted, pruned, validate_object};
pub use path::{MountPath, SchemaPath, Step};
pub use structural::{StructuralOptions, check_structural};
pub use structuralize::{
    Loss, StructuralizeError, StructuralizeErrorKind, Structuralized, Style, structuralize,
};

/// The example of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
