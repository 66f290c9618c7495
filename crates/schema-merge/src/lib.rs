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
//! assert!(schema_merge::check_crd(&crd).iter().all(|diagnostic| !diagnostic.is_error()));
//! ```
//!
//! Several parties each own a part of one CRD's schema and must not collide. Each hands over a [`Fragment`]: a schema
//! as JSON, where it is mounted, and on what terms. [`Merger::build`] gives one schema, or every conflict at once with
//! both parties named.
//!
//! Around that: [`check_structural`] and [`check_crd`] say what the API server would refuse, in its own words, and what it
//! accepts and users regret; [`structuralize`] turns what generators emit into what a CRD may hold; [`validate_object`],
//! [`defaulted`] and [`pruned`] do to an object what the server does; [`compat`] says whether stored objects survive a
//! change. Nothing here talks to a cluster, and nothing panics, whatever JSON it is given.

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

pub use compat::{Change, Direction, Impact, compat, compat_crd};
pub use conflict::{Claim, MergeError};
pub use crd::check_crd;
pub use diagnostic::{Diagnostic, DiagnosticKind, Severity};
pub use errors::Errors;
pub use fragment::{Fragment, MountDefault, MountPolicy, RequiredPropagation, Sharing};
pub use limit::SchemaLimits;
pub use merged::Merged;
pub use merger::{Frame, Merger, MetadataLimits, TextLimits};
pub use object::{ObjectVerdict, Pruned, defaulted, pruned, validate_object};
pub use path::{MountPath, SchemaPath, Step};
pub use structural::{Options, check_structural};
pub use structuralize::{Loss, Reason, StructuralizeError, Structuralized, Style, structuralize};
