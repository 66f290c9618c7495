//! Builtins as regorus has them. Errors are undefined, as in OPA when it is not strict.
//!
//! regorus offers its table only under `unstable`; the version is pinned, and the conformance tests call every
//! function through it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use regorus::Value as Engine;
use regorus::unstable::{BUILTINS, BuiltinFcn, Expr, Ref, Source, Span};

use crate::error::EvalError;
use crate::signature::{self, Spec};
use crate::value::{Value, from_engine, to_engine};

/// A builtin of regorus.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    run: &'static BuiltinFcn,
    args: &'static [Spec],
}

/// The arguments' places in the source, which regorus wants for its messages and nobody reads.
struct Place {
    span: Span,
    exprs: Vec<Ref<Expr>>,
}

static PLACE: OnceLock<Option<Place>> = OnceLock::new();

/// More arguments than any builtin takes.
const MAX_ARGS: usize = 8;

fn place() -> Option<&'static Place> {
    let made = PLACE.get_or_init(|| {
        let source = Source::from_contents("builtin".to_owned(), String::new()).ok()?;
        let span = Span { source, line: 1, col: 1, start: 0, end: 0 };
        let null = || Ref::new(Expr::Null { span: span.clone(), value: Engine::Null, eidx: 0 });
        let exprs = std::iter::repeat_with(null).take(MAX_ARGS).collect();
        Some(Place { span, exprs })
    });
    made.as_ref()
}

pub(super) fn find(name: &str) -> Option<Function> {
    let args = signature::find(name)?.args;
    BUILTINS.get(name).map(|run| Function { run, args })
}

/// Whether a value may have that type, as far as its outside tells.
fn fits(spec: Spec, value: &Value) -> bool {
    match (spec, value) {
        (Spec::Any, _)
        | (Spec::Null, Value::Null)
        | (Spec::Bool, Value::Bool(_))
        | (Spec::Number, Value::Number(_))
        | (Spec::String, Value::String(_))
        | (Spec::Array(_) | Spec::Tuple(_), Value::Array(_))
        | (Spec::Set(_), Value::Set(_))
        | (Spec::Object(..), Value::Object(_)) => true,
        (Spec::Or(specs), value) => specs.iter().any(|spec| fits(*spec, value)),
        _ => false,
    }
}

/// Calls a builtin. Code of others that panics ends this evaluation and nothing else.
pub(super) fn call(function: Function, args: &[Value]) -> Result<Option<Value>, EvalError> {
    let Some(place) = place() else { return Ok(None) };
    let Some(exprs) = place.exprs.get(..args.len()) else { return Ok(None) };
    // regorus prints an argument of another type into its error, and panics when that is a number out of its range.
    if function.args.iter().zip(args).any(|(spec, value)| !fits(*spec, value)) {
        return Ok(None);
    }
    let args: Vec<Engine> = args.iter().map(to_engine).collect();
    let called = catch_unwind(AssertUnwindSafe(|| (function.run.0)(&place.span, exprs, &args, false)));
    match called {
        Ok(Ok(Engine::Undefined) | Err(_)) => Ok(None),
        Ok(Ok(value)) => Ok(Some(from_engine(&value))),
        Err(_) => Err(EvalError::Internal("a builtin function panicked".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regorus_answers_and_its_errors_are_undefined() {
        let upper = find("upper").unwrap();
        assert_eq!(call(upper, &["a".into()]), Ok(Some("A".into())));
        assert_eq!(call(upper, &[1u64.into()]), Ok(None));
        assert!(find("no.such").is_none());
    }

    #[test]
    fn a_number_that_regorus_cannot_print_is_an_argument_of_another_type() {
        let number = Value::from_json_str("1e30000").unwrap();
        assert_eq!(call(find("trim_space").unwrap(), &[number]), Ok(None));
    }
}
