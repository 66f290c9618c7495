//! What the names of an expression stand for in one case. Nothing is copied: values are shared.

use cel_compat::{Bindings, Value};

use crate::driver::Case;
use crate::review::Document;

/// The values of one case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    case: Case<'a>,
    /// Match conditions see no namespace: the API server asks them before it has looked for one.
    has_namespace: bool,
}

impl<'a> Subject<'a> {
    /// What validations and messages see.
    pub(super) const fn with_namespace(case: Case<'a>) -> Self {
        Self { case, has_namespace: true }
    }

    /// What match conditions see.
    pub(super) const fn without_namespace(case: Case<'a>) -> Self {
        Self { case, has_namespace: false }
    }

    fn is_delete(&self) -> bool {
        self.case.review.operation == "DELETE"
    }

    /// On DELETE there is no new object: the target fills it from the old one, and CEL must not see that.
    fn object(&self) -> Value {
        if self.is_delete() { Value::Null } else { value(self.case.review.object.as_ref()) }
    }

    fn old_object(&self) -> Value {
        value(self.case.review.old_object.as_ref())
    }
}

impl Bindings for Subject<'_> {
    fn value(&self, name: &str) -> Value {
        let review = self.case.review;
        match name {
            "object" => self.object(),
            "oldObject" => self.old_object(),
            "request" => review.cel().request.clone(),
            "namespaceObject" if self.has_namespace => review.cel().namespace_object.clone(),
            "variables.params" => self.case.parameters.cel().clone(),
            "variables.anyObject" if self.is_delete() => self.old_object(),
            "variables.anyObject" => self.object(),
            _ => Value::Null,
        }
    }
}

fn value(document: Option<&Document>) -> Value {
    document.map_or(Value::Null, |document| document.body().cel().clone())
}
