//! The listener for what policies print. A server has none; the command line has one.

use std::fmt;

use rego_compat::{EvalError, Externals, NoExternals, Value};

/// A listener for what policies in Rego print, see
/// [`Compiler::with_print_listener`](crate::policyset::Compiler::with_print_listener).
pub trait PrintListener: fmt::Debug + Send + Sync {
    /// Takes the output of one call of `print`, without a newline. Called on the thread that evaluates the policy, once for
    /// each call and in order.
    fn on_print(&self, line: &str);
}

/// The externals of a policy that prints to a listener and has no further functions.
pub(super) struct PrintExternals<'a>(pub(super) &'a dyn PrintListener);

impl Externals for PrintExternals<'_> {
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError> {
        NoExternals.call(function, argument)
    }

    fn print(&self, line: &str) {
        self.0.on_print(line);
    }
}
