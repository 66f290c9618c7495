//! Builtins as regorus has them. Errors are undefined, as in OPA when it is not strict.
//!
//! regorus offers its table only under `unstable`; the version is pinned, and the conformance tests call every
//! function through it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use regorus::Value as Engine;
use regorus::unstable::{BUILTINS, BuiltinFcn, Expr, Ref, Source, Span};

use crate::error::EvalError;
use crate::value::{Value, from_engine, to_engine};

/// A builtin of regorus.
pub(crate) type Function = &'static BuiltinFcn;

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
    BUILTINS.get(name)
}

/// Calls a builtin. Code of others that panics ends this evaluation and nothing else.
pub(super) fn call(function: Function, args: &[Value]) -> Result<Option<Value>, EvalError> {
    let Some(place) = place() else { return Ok(None) };
    let Some(exprs) = place.exprs.get(..args.len()) else { return Ok(None) };
    let args: Vec<Engine> = args.iter().map(to_engine).collect();
    let called = catch_unwind(AssertUnwindSafe(|| (function.0)(&place.span, exprs, &args, false)));
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
}
