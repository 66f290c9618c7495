//! Compares `rego-compat` with the Open Policy Agent, `cel-compat` with Kubernetes, the framework with Gatekeeper.
//!
//! ```
//! use conformance::tagged;
//! use rego_compat::Value;
//!
//! // Values cross the pipe in a form that tells a set from an array.
//! let value = tagged::read(&serde_json::json!({"s": [{"n": "1"}, "a"]})).ok_or("not a tagged value")?;
//! assert!(matches!(value, Value::Set(_)));
//! assert_eq!(tagged::write(&value), serde_json::json!({"s": [{"n": "1"}, "a"]}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The judges are small Go programs under `judge/` that link OPA, Gatekeeper and Go's own library as pinned modules;
//! [`Judge`] builds and starts them. The rest of the crate makes questions: [`library`] reads templates and
//! samples, [`mutation`] damages inputs, [`generator`] writes modules. The comparisons are the tests.

pub mod admission;
pub mod argument;
pub mod calls;
/// Our side of a comparison of expressions, shared with the test of `cel-compat` that needs no judge.
#[path = "../../../crates/cel-compat/tests/recorded/answer.rs"]
pub mod cel;
pub mod generator;
pub mod go;
pub mod judge;
pub mod library;
pub mod mutation;
pub mod native;
pub mod operand;
pub mod ours;
pub mod random;
/// Our side of a comparison of reviews, shared with the test of `constraint-framework` that needs no judge.
#[path = "../../../crates/constraint-framework/tests/recorded/answer.rs"]
pub mod reviews;
pub mod scale;
pub mod tagged;
pub mod verdict;

pub use judge::{Error, Judge};
pub use verdict::Verdict;
