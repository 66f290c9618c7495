//! The listener for what policies print. A server has none; the command line has one.

use std::fmt;

use rego_compat::{EvalError, Externals, Silent, Value};

/// Hears what policies in Rego print, see [`Compiler::with_print_listener`](crate::policyset::Compiler::with_print_listener).
pub trait Listener: fmt::Debug + Send + Sync {
    /// Takes what one call of `print` wrote, without a newline. Called on the thread that judges.
    fn hear(&self, line: &str);
}

/// A host with a listener and no functions.
pub(super) struct Heard<'a>(pub(super) &'a dyn Listener);

impl Externals for Heard<'_> {
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError> {
        Silent.call(function, argument)
    }

    fn print(&self, line: &str) {
        self.0.hear(line);
    }
}
