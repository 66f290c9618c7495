//! The command line's own work: reading manifests, judging them, saying what came of it. Touches no cluster.

mod admission;
mod assemble;
mod bench;
pub mod folder;
mod input;
mod judge;
mod krm;
mod load;
mod prints;
mod progress;
mod rego;
mod sarif;
mod schema;
mod suite;
mod test;
mod verify;

pub use admission::admission_review;
pub use bench::{BenchArgs, bench};
pub use input::{InputArgs, StandardInput};
pub use krm::{FunctionArgs, function};
pub use load::{LoadError, Manifest, load, load_file};
pub use rego::{RegoArgs, rego};
pub use schema::{SchemaArgs, schema};
pub use test::{TestArgs, test};
pub use verify::{EngineChoice, VerifyArgs, verify};
