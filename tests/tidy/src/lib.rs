//! Holds the doors between packages and rooms, and the habits that keep files small.
//!
//! ```
//! use tidy::{Rule, Source};
//!
//! let source = Source::parse("crates/example/src/lib.rs", "//! An example.\nfn later() { todo!() }\n").unwrap();
//! let findings = tidy::habits(&source);
//! assert!(findings.iter().any(|finding| finding.rule == Rule::Unfinished && finding.line == 2));
//! ```
//!
//! Each check is a function from what it reads to [`Finding`]s, so it is tested on snippets; `tests/workspace.rs`
//! runs all of them on this repository. What is let through is a line with a reason in `exceptions.txt`, and a
//! line that lets nothing through is a finding too. It changes no file, and it judges no taste: rustfmt and
//! clippy come before it.

mod banned;
mod cycle;
mod door;
mod edge;
mod error;
mod exception;
mod finding;
mod manifest;
mod markdown;
mod name;
mod pure;
mod room;
mod size;
mod source;
mod text;
mod tree;
mod workspace;

pub use cycle::file_cycles;
pub use door::package_edges;
pub use edge::{Edge, edges};
pub use error::Error;
pub use exception::Exceptions;
pub use finding::{Finding, Rule};
pub use manifest::{Metadata, Package, manifest_edges, toolchain};
pub use markdown::links;
pub use pure::purity;
pub use room::room_edges;
pub use source::Source;
pub use text::text;
pub use tree::dependency_trees;
pub use workspace::Workspace;

/// All checks that need nothing but one Rust file.
#[must_use]
pub fn habits(source: &Source) -> Vec<Finding> {
    [banned::check(source), name::check(source), size::check(source), text::rust(source)].concat()
}
