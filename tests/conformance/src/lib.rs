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
//! The judges are two small Go programs under `judge/` that link OPA and Gatekeeper as pinned modules;
//! [`Judge`] builds and starts them. The rest of the crate makes questions: [`library`] reads templates and
//! samples, [`mutation`] damages inputs, [`generator`] writes modules. The comparisons are the tests.

pub mod admission;
pub mod argument;
pub mod cel;
pub mod generator;
pub mod judge;
pub mod library;
pub mod mutation;
pub mod operand;
pub mod ours;
pub mod random;
pub mod scale;
pub mod tagged;
pub mod verdict;

pub use judge::{Error, Judge};
pub use verdict::Verdict;
