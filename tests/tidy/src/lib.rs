//! Checks the dependencies between packages and between modules, and the habits that keep files small.
//!
//! ```
//! use tidy::{Rule, Source};
//!
//! let source = Source::parse("crates/example/src/lib.rs", "//! An example.\nfn later() { todo!() }\n").unwrap();
//! let diagnostics = tidy::habits(&source);
//! assert!(diagnostics.iter().any(|diagnostic| diagnostic.rule == Rule::Unfinished && diagnostic.line == 2));
//! ```
//!
//! Each check is a function from what it reads to [`Diagnostic`]s, so it is tested on snippets; `tests/workspace.rs`
//! runs all of them on this repository. What is let through is a line with a reason in `exceptions.txt`, and a
//! line that lets nothing through is a diagnostic too. It changes no file, and it judges no taste: rustfmt and
//! clippy come before it.

mod banned;
mod cycle;
mod diagnostic;
mod documentation;
mod edge;
mod error;
mod exception;
mod manifest;
mod markdown;
mod module_dependencies;
mod name;
mod package_dependencies;
mod packaged;
mod public_name;
mod pure;
mod size;
mod source;
mod text;
mod tree;
mod variable;
mod workspace;

pub use cycle::file_cycles;
pub use diagnostic::{Diagnostic, Rule};
pub use edge::{Edge, edges};
pub use error::Error;
pub use exception::Exceptions;
pub use manifest::{Metadata, Package, manifest_edges, toolchain};
pub use markdown::links;
pub use module_dependencies::module_edges;
pub use package_dependencies::package_edges;
pub use pure::purity;
pub use source::Source;
pub use text::text;
pub use tree::dependency_trees;
pub use variable::variables;
pub use workspace::Workspace;

/// All checks that need nothing but one Rust file.
#[must_use]
pub fn habits(source: &Source) -> Vec<Diagnostic> {
    [
        banned::check(source),
        documentation::check(source),
        name::check(source),
        packaged::check(source),
        size::check(source),
        text::rust(source),
    ]
    .concat()
}
