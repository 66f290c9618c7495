//! OPA's Rego, exactly: parses, checks and evaluates policies as OPA does, under limits.
//!
//! ```
//! use rego_compat::{Budget, Module, RegoVersion, Restrictions, Value, compile};
//!
//! let text = "package labels\nviolation[{\"msg\": msg}] { not input.labels.owner; msg := \"owner missing\" }";
//! let module = Module::parse("labels.rego", text, RegoVersion::V0)?;
//! let program = compile(&[module], "data.labels.violation", &Restrictions::default())?;
//! let input = Value::from_json_str(r#"{"labels": {}}"#)?;
//! let answer = program.evaluate(&input, &Value::new_object(), &Budget::default())?;
//! assert_eq!(answer, Some(Value::from_json_str(r#"[{"msg": "owner missing"}]"#)?.as_array()?.iter().cloned().collect::<std::collections::BTreeSet<_>>().into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | item | purpose |
//! |---|---|
//! | [`Module`] | parses one module of Rego v0 or v1, checks it alone, rewrites v0 to v1 |
//! | [`compile`], [`Restrictions`] | compile modules to a [`Program`], with OPA's errors and those of the host's restrictions |
//! | [`Program`] | evaluates one document under a [`Budget`]; immutable and shared |
//! | [`Program::analysis`] | the paths of `input` and `data` that a program reads, and the joins that an index can use |
//! | [`Externals`], [`AsyncExternals`] | functions that the host implements, answered at once, in batches or with `async` |
//! | [`Query`] | ad-hoc queries with variables, and all of their solutions |
//! | [`Suite`] | unit tests in Rego, with coverage |
//! | [`Value`] | the values of Rego: JSON with numbers of any precision, sets, undefined |
//!
//! | feature | functions |
//! |---|---|
//! | `crypto` | `crypto.*`, `io.jwt.*`, `providers.aws.sign_req` |
//! | `graphql` | `graphql.*` |
//! | `json-schema` | `json.match_schema`, `json.verify_schema` |
//! | `templates` | `strings.render_template` |
//! | `full` | all of them; the default |
//!
//! The crate reads no files and opens no connections: `http.send` has no implementation here. It has no bundles, no partial
//! evaluation and no WebAssembly, and does not depend on Kubernetes.

mod analysis;
mod annotation;
mod ast;
mod builtin;
mod check;
mod desugar;
mod diagnostic;
mod error;
mod eval;
mod externals;
mod ir;
mod lexer;
mod lookup;
mod meter;
mod module;
mod parser;
mod plan;
mod program;
mod query;
mod restrictions;
mod rewrite;
mod suite;
mod suspend;
mod token;
mod value;
mod walk;

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use analysis::{Analysis, DataAccess, Join, JoinTerm, Segment, values_at};

pub use builtin::{BuiltinFunction, builtin_functions, to_json};
pub use diagnostic::{Diagnostic, DiagnosticCode, Diagnostics};
pub use error::EvalError;
pub use eval_budget::{Budget, Limit};
pub use externals::{Externals, NoExternals};
pub use module::Module;
pub use parser::RegoVersion;
pub use program::{Function, Program, compile};
pub use query::{Query, QueryExpression, QueryScope, Solution};
pub use restrictions::{Bounds, DISABLED_BUILTINS, Restrictions};
pub use suite::{Coverage, FileCoverage, Outcome, Range, Suite, Test, TestCase};
pub use suspend::{AsyncExternals, EvalProgress, ExternalAnswer, ExternalCall, Suspended};
pub use value::{Array, Number, Object, Set, Value, ValueError};
