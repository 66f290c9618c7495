//! Merges partial OpenAPI schemas into separate roots of one structural CRD schema.
//!
//! ```
//! use schema_merge::{Fragment, Merger, MountPath};
//! use serde_json::json;
//!
//! let of_platform = json!({"type": "object", "properties": {"kinds": {"type": "array", "items": {"type": "string"}}}});
//! let of_author = json!({"type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string"}}}});
//! let merged = Merger::new()
//!     .mount(Fragment::new("platform", MountPath::of(["spec", "match"]), of_platform))
//!     .mount(Fragment::new("author", MountPath::of(["spec", "parameters"]), of_author))
//!     .build()
//!     .expect("each has a place of its own");
//! assert_eq!(merged.blame("spec.validation.openAPIV3Schema.properties[spec].properties[match]"), ["platform"]);
//! ```
//!
//! Several parties each own a part of one CRD's schema and must not collide. Each hands over a [`Fragment`]: a schema
//! as JSON, where it is mounted, and on what terms. [`Merger::build`] gives one schema, or every conflict at once with
//! both parties named.

mod cel;
mod compat;
mod crd;
mod decode;
mod error;
mod finding;
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
mod regexp;
mod structural;
mod structuralize;

pub use compat::{Change, Direction, Impact, compat, compat_crd};
pub use crd::check_crd;
pub use error::{Claim, MergeError};
pub use finding::{Finding, Problem, Severity};
pub use fragment::{Fragment, MountDefault, MountPolicy, RequiredPropagation, Sharing};
pub use limit::Limits;
pub use merged::Merged;
pub use merger::{Merger, MetadataLimits, TextLimits};
pub use object::{ObjectVerdict, Pruned, defaulted, pruned, validate_object};
pub use path::{MountPath, SchemaPath, Step};
pub use structural::{Options, check_structural};
pub use structuralize::{Loss, Obstacle, Reason, Structuralized, Style, structuralize};
