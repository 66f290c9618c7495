//! Functions that the host implements.

use crate::value::Value;

use crate::error::EvalError;

/// The functions of a host, named with [`crate::Restrictions::with_external_functions`].
///
/// Within one evaluation, a function is called once for each different argument.
pub trait Externals {
    /// Returns the function's value; `None` where it is undefined.
    ///
    /// # Errors
    /// Any error ends the evaluation with that error; see [`EvalError::Pending`] for an answer that comes later.
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError>;

    /// Receives each line that a module prints, if [`crate::Restrictions::with_print`] is set. Does nothing unless overridden.
    fn print(&self, _: &str) {}
}

/// A host without functions: a call is an [`EvalError::External`], and printed lines are dropped.
#[derive(Clone, Copy, Debug)]
pub struct NoExternals;

impl Externals for NoExternals {
    fn call(&self, function: &str, _: &Value) -> Result<Option<Value>, EvalError> {
        let message = "the host does not answer this function here".to_owned();
        Err(EvalError::External { function: function.to_owned(), message })
    }
}
