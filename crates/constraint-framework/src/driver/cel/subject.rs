//! What the names of an expression stand for in one case. Nothing is copied: values are shared.

use std::cell::Cell;

use cel_compat::{Bindings, Value};

use crate::driver::Case;
use crate::review::{Document, Json};

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
    /// What validations and messages see.
    pub(super) const fn with_namespace(case: Case<'a>, unreadable: &'a Cell<bool>) -> Self {
        Self { case, unreadable, has_namespace: true }
    }

    /// What match conditions see.
    pub(super) const fn without_namespace(case: Case<'a>, unreadable: &'a Cell<bool>) -> Self {
        Self { case, unreadable, has_namespace: false }
    }

    fn is_delete(&self) -> bool {
        self.case.review.operation == "DELETE"
    }

    /// On DELETE there is no new object: the target fills it from the old one, and CEL must not see that.
    fn object(&self) -> Value {
        if self.is_delete() { Value::Null } else { self.document(self.case.review.object.as_ref()) }
    }

    fn old_object(&self) -> Value {
        self.document(self.case.review.old_object.as_ref())
    }

    fn document(&self, document: Option<&Document>) -> Value {
        document.map_or(Value::Null, |document| self.read(document.body()))
    }

    fn read(&self, json: &Json) -> Value {
        self.unreadable.set(self.unreadable.get() || json.is_unreadable_to_cel());
        json.cel().clone()
    }

    fn namespace(&self) -> Value {
        let views = self.case.review.cel();
        self.unreadable.set(self.unreadable.get() || views.is_namespace_unreadable);
        views.namespace_object.clone()
    }
}

impl Bindings for Subject<'_> {
    fn value(&self, name: &str) -> Value {
        let review = self.case.review;
        match name {
            "object" => self.object(),
            "oldObject" => self.old_object(),
            "request" => review.cel().request.clone(),
            "namespaceObject" if self.has_namespace => self.namespace(),
            "params" | "variables.params" => self.read(self.case.parameters),
            "variables.anyObject" if self.is_delete() => self.old_object(),
            "variables.anyObject" => self.object(),
            _ => Value::Null,
        }
    }
}
