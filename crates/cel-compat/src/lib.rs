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
//! [`Environment`] says which names there are, [`Environment::compile`] parses and checks an [`Expression`], and an
//! [`Evaluation`] answers under a [`Budget`]. Reviews, policies and their violations are the business of
//! `constraint-framework`.

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
pub use types::Type;
pub use value::{Key, Map, OpaqueValue, Value};
