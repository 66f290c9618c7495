//! Functions whose effect is outside the evaluation. Source: OPA `topdown/print.go`, `topdown/trace.go` and
//! `topdown/runtime.go`.

use crate::meter::Meter;
use crate::value::Value;

use super::{Answer, answer, text_at};

/// Implements `print(...)` without a listener.
pub(super) fn print(_: &[&Value], _: &Meter) -> Answer {
    answer(true)
}

/// Implements `trace(text)`, where nothing is traced.
pub(super) fn trace(args: &[&Value], _: &Meter) -> Answer {
    Ok(text_at(args, 0).map(|_| true.into()))
}

/// Implements `opa.runtime()`: what OPA answers where no runtime is configured.
pub(super) fn opa_runtime(_: &[&Value], _: &Meter) -> Answer {
    answer(Value::new_object())
}
