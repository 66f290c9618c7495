//! Values that are found in the documents or the frame without computing anything, as most expressions of policies are.
//!
//! Everything else is left to `expr`, which also returns the errors.

use crate::lookup;
use crate::plan::{Expr, Get};
use crate::value::Value;

use super::{EvalContext, Frame};

/// `Some(Some(value))` for a value that exists, `Some(None)` for undefined, `None` where it has to be computed.
type Place<'a> = Option<Option<&'a Value>>;

impl EvalContext<'_> {
    /// Looks up an expression without computing anything.
    pub(super) fn place<'a>(&'a self, expr: &'a Expr, frame: &'a Frame) -> Place<'a> {
        match expr {
            Expr::Const(value) => Some(Some(value)),
            // A slot without a value is left to `expr`, which returns the error.
            Expr::Slot(slot) => Some(Some(defined(frame.get(*slot)?)?)),
            Expr::Input => Some(defined(&self.input)),
            Expr::Rule(group) => self.rules.get(*group)?.get().map(Option::as_ref),
            Expr::Invariant(invariant) => self.invariants.get(invariant.id)?.get().map(Option::as_ref),
            Expr::Get(get) => self.place_below(get, frame),
            _ => None,
        }
    }

    fn place_below<'a>(&'a self, get: &'a Get, frame: &'a Frame) -> Place<'a> {
        let mut found = self.place(&get.base, frame)?;
        for part in &get.path {
            let key = match part {
                Expr::Const(key) => key,
                Expr::Slot(slot) => frame.get(*slot).filter(|key| is_cheap(key))?,
                _ => return None,
            };
            found = found.and_then(|value| lookup::get(value, key));
        }
        self.meter.spend(1).ok()?;
        Some(found)
    }
}

const fn defined(value: &Value) -> Option<&Value> {
    match value {
        Value::Undefined => None,
        value => Some(value),
    }
}

/// Returns true if looking for the key is not worth counting.
const fn is_cheap(key: &Value) -> bool {
    matches!(key, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
}
