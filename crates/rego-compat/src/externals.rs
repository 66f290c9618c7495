//! Functions that the host answers.

use regorus::Value;

use crate::error::EvalError;

/// Answers functions named with [`crate::Rules::with_external_functions`].
///
/// Within one evaluation, a function is asked once for each argument.
pub trait Externals {
    /// The function's value; `None` where it is undefined.
    ///
    /// # Errors
    /// The call failed, and the evaluation with it.
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError>;
}

/// No function has a value.
pub(crate) struct NoExternals;

impl Externals for NoExternals {
    fn call(&self, function: &str, _: &Value) -> Result<Option<Value>, EvalError> {
        let message = "the host does not answer this function here".to_owned();
        Err(EvalError::External { function: function.to_owned(), message })
    }
}
