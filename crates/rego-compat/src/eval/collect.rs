//! Comprehensions.

use std::borrow::Cow;

use crate::value::Value;
use crate::value::{Array, Object, Set};

use crate::error::EvalError;
use crate::plan::{Collect, CollectKind, Expr, Step, missing};

use super::conflict::{KEY_CONFLICT, conflict};
use super::{EvalContext, Flow, Frame};

impl EvalContext<'_> {
    /// Computes a comprehension and matches it with its target.
    pub(super) fn collected(&self, collect: &Collect, frame: &mut Frame) -> Result<bool, EvalError> {
        let Some(id) = collect.invariant else {
            let value = self.collect(collect, frame)?;
            return self.matches(&collect.target, &value, frame);
        };
        let Some(cell) = self.invariants.get(id) else { return Err(missing("invariant", id)) };
        let known = match cell.get() {
            Some(known) => known,
            None => {
                let value = self.collect(collect, frame)?;
                cell.get_or_init(|| Some(value))
            }
        };
        known.as_ref().map_or(Ok(false), |value| self.matches(&collect.target, value, frame))
    }

    fn collect(&self, collect: &Collect, frame: &mut Frame) -> Result<Value, EvalError> {
        let value = match &collect.kind {
            CollectKind::Array(head) => self.collect_array(&collect.body, head, frame)?,
            CollectKind::Set(head) => self.collect_set(&collect.body, head, frame)?,
            CollectKind::Object(key, value) => self.collect_object(collect, key, value, frame)?,
        };
        self.meter.charge_built(&value)?;
        Ok(value)
    }

    fn collect_array(&self, body: &[Step], head: &Expr, frame: &mut Frame) -> Result<Value, EvalError> {
        let mut items = Array::new();
        self.run(body, frame, &mut |frame| {
            if let Some(value) = self.value(head, frame)? {
                self.meter.charge(24)?;
                items.push(value.into_owned());
            }
            Ok(Flow::Continue)
        })?;
        Ok(items.into_value())
    }

    fn collect_set(&self, body: &[Step], head: &Expr, frame: &mut Frame) -> Result<Value, EvalError> {
        let mut items = Set::new();
        self.run(body, frame, &mut |frame| {
            if let Some(value) = self.value(head, frame)? {
                self.meter.charge(48)?;
                self.pay_element(&value)?;
                items.insert(value.into_owned());
            }
            Ok(Flow::Continue)
        })?;
        Ok(items.into_value())
    }

    fn collect_object(
        &self,
        collect: &Collect,
        key: &Expr,
        value: &Expr,
        frame: &mut Frame,
    ) -> Result<Value, EvalError> {
        let mut pairs = Object::new();
        self.run(&collect.body, frame, &mut |frame| {
            if let (Some(key), Some(value)) = (self.value(key, frame)?, self.value(value, frame)?) {
                self.meter.charge(64)?;
                self.pay_element(&key)?;
                if let Some(known) = pairs.get(&key) {
                    crate::builtin::pay(known, &value, self.meter)?;
                }
                if !insert_once(&mut pairs, key, value) {
                    return Err(conflict(collect.spot.as_deref(), KEY_CONFLICT));
                }
            }
            Ok(Flow::Continue)
        })?;
        Ok(pairs.into_value())
    }
}

/// Inserts a pair, unless the key has another value.
fn insert_once(pairs: &mut Object, key: Cow<'_, Value>, value: Cow<'_, Value>) -> bool {
    match pairs.get(&key) {
        Some(known) => *known == *value,
        None => {
            pairs.insert(key.into_owned(), value.into_owned());
            true
        }
    }
}
