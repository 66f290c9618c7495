//! The values of the names of an expression in one case. Nothing is copied: values are shared.

use cel_compat::{Bindings, EvalError, Value};

use crate::driver::Case;
use crate::review::{Document, UnreadableError};

/// The values of one case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    case: Case<'a>,
    /// Match conditions see no namespace: the API server asks them before it has looked for one.
    has_namespace: bool,
}

impl<'a> Subject<'a> {
    /// Returns the values that validations and messages see.
    pub(super) const fn with_namespace(case: Case<'a>) -> Self {
        Self { case, has_namespace: true }
    }

    /// Returns the values that match conditions see.
    pub(super) const fn without_namespace(case: Case<'a>) -> Self {
        Self { case, has_namespace: false }
    }

    fn is_delete(&self) -> bool {
        self.case.review.operation() == "DELETE"
    }

    /// Returns the new object, `null` on DELETE: the target fills it from the old one, and CEL must not see that.
    fn object(&self) -> Result<Value, UnreadableError> {
        if self.is_delete() { Ok(Value::Null) } else { document(self.case.review.object()) }
    }

    fn old_object(&self) -> Result<Value, UnreadableError> {
        document(self.case.review.old_object())
    }
}

fn document(document: Option<&Document>) -> Result<Value, UnreadableError> {
    document.map_or(Ok(Value::Null), |document| document.body().cel().cloned())
}

impl Bindings for Subject<'_> {
    fn value(&self, name: &str) -> Result<Value, EvalError> {
        let review = self.case.review;
        let value = match name {
            "object" => self.object(),
            "oldObject" => self.old_object(),
            "request" => Ok(review.cel_request().clone()),
            "namespaceObject" if self.has_namespace => review.cel_namespace().cloned(),
            "namespaceObject" => Ok(Value::Null),
            "params" | "variables.params" => self.case.parameters.cel().cloned(),
            "variables.anyObject" if self.is_delete() => self.old_object(),
            "variables.anyObject" => self.object(),
            _ => return Err(EvalError::no_value(name)),
        };
        value.map_err(|error| EvalError::Unreadable(error.to_string()))
    }
}
