//! The command line's own work: reading manifests, judging them, saying what came of it. Touches no cluster.

mod admission;
pub mod folder;
mod load;
mod schema;
mod suite;
mod verify;

pub use admission::admission_review;
pub use load::{LoadError, Manifest, load, load_file};
pub use schema::{SchemaArgs, schema};
pub use verify::{VerifyArgs, verify};
