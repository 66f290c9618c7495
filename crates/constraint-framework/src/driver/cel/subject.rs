//! The values of the names of an expression in one case. Nothing is copied: values are shared.

use std::cell::Cell;

use cel_compat::{Bindings, Value};

use crate::driver::Case;
use crate::review::{Document, Json, Unreadable};

/// The values of one case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    case: Case<'a>,
    /// Set once something was asked for that cannot be read.
    unreadable: &'a Cell<bool>,
    /// Match conditions see no namespace: the API server asks them before it has looked for one.
    has_namespace: bool,
}

impl<'a> Subject<'a> {
    /// Returns what validations and messages see.
    pub(super) const fn with_namespace(case: Case<'a>, unreadable: &'a Cell<bool>) -> Self {
        Self { case, unreadable, has_namespace: true }
    }

    /// Returns what match conditions see.
    pub(super) const fn without_namespace(case: Case<'a>, unreadable: &'a Cell<bool>) -> Self {
        Self { case, unreadable, has_namespace: false }
    }

    fn is_delete(&self) -> bool {
        self.case.review.operation() == "DELETE"
    }

    /// On DELETE there is no new object: the target fills it from the old one, and CEL must not see that.
    fn object(&self) -> Value {
        if self.is_delete() { Value::Null } else { self.document(self.case.review.object()) }
    }

    fn old_object(&self) -> Value {
        self.document(self.case.review.old_object())
    }

    fn document(&self, document: Option<&Document>) -> Value {
        document.map_or(Value::Null, |document| self.read(document.body()))
    }

    fn read(&self, json: &Json) -> Value {
        self.noted(json.cel().cloned())
    }

    fn namespace(&self) -> Value {
        self.noted(self.case.review.cel_namespace().cloned())
    }

    /// An expression has to get some value: the program drops its answer once it was given one that is not the object's.
    fn noted(&self, value: Result<Value, Unreadable>) -> Value {
        value.unwrap_or_else(|Unreadable| {
            self.unreadable.set(true);
            Value::Null
        })
    }
}

impl Bindings for Subject<'_> {
    fn value(&self, name: &str) -> Value {
        let review = self.case.review;
        match name {
            "object" => self.object(),
            "oldObject" => self.old_object(),
            "request" => review.cel_request().clone(),
            "namespaceObject" if self.has_namespace => self.namespace(),
            "params" | "variables.params" => self.read(self.case.parameters),
            "variables.anyObject" if self.is_delete() => self.old_object(),
            "variables.anyObject" => self.object(),
            _ => Value::Null,
        }
    }
}
