//! Kubernetes' CEL, checked before it runs and bounded while it runs.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use cel_compat::{Budget, Environment, Evaluation, Type, Value};
//! use serde_json::json;
//!
//! let mut environment = Environment::default().with("object", Type::Dyn);
//! let images = environment.compile("object.spec.containers.map(c, c.image)")?;
//! environment.define("images", images);
//! let pinned = environment.compile("variables.images.all(i, i.contains('@sha256:'))")?;
//! assert_eq!(*pinned.result(), Type::Bool);
//!
//! let pod = json!({"spec": {"containers": [{"image": "web:latest"}]}});
//! let values = BTreeMap::from([("object".to_owned(), Value::from_json(&pod))]);
//! let mut evaluation = Evaluation::new(&environment, &values, &Budget::default());
//! assert_eq!(evaluation.evaluate(&pinned)?, Value::Bool(false));
//!
//! // An expression that cannot be evaluated is refused before it runs, in the API server's words.
//! assert_eq!(
//!     environment.compile("objekt.spec").unwrap_err().to_string(),
//!     "ERROR: <input>:1:1: undeclared reference to 'objekt' (in container '')\n | objekt.spec\n | ^",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The language, its functions, types and messages are those of ValidatingAdmissionPolicies in Kubernetes 1.36: an
//! [`Environment`] holds the names, [`Environment::compile`] parses and checks an [`Expression`], and an [`Evaluation`]
//! evaluates it under a [`Budget`].
//!
//! | type | purpose |
//! |---|---|
//! | [`Environment`], [`Type`] | the names that expressions may use, and their types |
//! | [`TypeDeclaration`] | the type of a value of a structural schema, and the most that it can hold |
//! | [`Expression`] | a compiled expression: its type, and the API server's estimate of its cost |
//! | [`references()`] | the values that an expression refers to, for explanations |
//! | [`Issues`] | everything that is wrong with an expression, printed as by cel-go |
//! | [`Evaluation`], [`Bindings`] | one evaluation of any number of expressions, and the values of their names |
//! | [`Value`], [`Key`], [`Map`], [`OpaqueValue`] | values, which JSON can be converted to |
//! | [`Budget`], [`Limit`], [`EvalError`] | the limits of an evaluation, and its errors |
//!
//! Not here: reviews, policies and their violations, which `constraint-framework` has; protocol buffers; functions that
//! need a cluster (`authorizer`); expressions of more than 100 brackets around one part, and of more than 500 levels with
//! the variables that they use. The crate has no features.

mod check;
mod compare;
mod cost;
mod declaration;
mod environment;
mod error;
mod eval;
mod issue;
mod json;
mod kubernetes;
mod library;
mod meter;
mod node;
mod operator;
mod overload;
mod parser;
mod references;
mod syntax;
mod token;
mod types;
mod value;

pub use declaration::{TypeDeclaration, escaped};
pub use environment::{Environment, Expression};
pub use error::EvalError;
pub use eval::{Bindings, Evaluation};
pub use eval_budget::{Budget, Limit};
pub use issue::{Issue, Issues};
pub use references::references;
pub use types::Type;
pub use value::{Key, Map, OpaqueValue, Value};

/// The example of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
