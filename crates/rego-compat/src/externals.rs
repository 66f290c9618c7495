//! Functions that the host answers.

use crate::value::Value;

use crate::error::EvalError;

/// Answers functions named with [`crate::Restrictions::with_external_functions`].
///
/// Within one evaluation, a function is asked once for each argument.
pub trait Externals {
    /// The function's value; `None` where it is undefined.
    ///
    /// # Errors
    /// The call failed, and the evaluation with it.
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError>;

    /// Takes a line that a module prints, where [`crate::Restrictions::with_print`] lets it. Does nothing unless overridden.
    fn print(&self, _: &str) {}
}

/// A host without functions, who does not hear what is printed.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Externals for Silent {
    fn call(&self, function: &str, _: &Value) -> Result<Option<Value>, EvalError> {
        let message = "the host does not answer this function here".to_owned();
        Err(EvalError::External { function: function.to_owned(), message })
    }
}
