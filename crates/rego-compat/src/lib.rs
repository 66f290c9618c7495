//! OPA's Rego, exactly.
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
//! A front end ([`Module`], [`Restrictions`], [`compile`]) refuses what OPA's compiler refuses and rewrites the rest as
//! OPA's compiler does; a [`Program`] evaluates it under a [`Budget`]. There is no Kubernetes in this crate.

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

pub use analysis::{Analysis, DataAccess, Join, Segment, Term, values_at};

pub use builtin::{BuiltinFunction, builtin_functions, to_json};
pub use diagnostic::{Diagnostic, DiagnosticCode, Diagnostics};
pub use error::EvalError;
pub use eval_budget::{Budget, Limit};
pub use externals::{Externals, Silent};
pub use module::Module;
pub use parser::RegoVersion;
pub use program::{Function, Program, compile};
pub use query::{Expression, Query, QueryScope, Solution};
pub use restrictions::{Bounds, DISABLED_BUILTINS, Restrictions};
pub use suite::{Coverage, FileCoverage, Outcome, Range, Suite, Test, TestCase};
pub use suspend::{AsyncExternals, EvalProgress, Request, Response, Suspended};
pub use value::{Array, Number, Object, Set, Value, ValueError};
