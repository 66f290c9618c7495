//! `with`: a context in which some documents and functions are others.

use crate::value::Value;

use crate::error::EvalError;
use crate::plan::{Callee, Override, Replacement, Target, missing};

use super::context::Mock;
use super::{EvalContext, Frame};

impl EvalContext<'_> {
    /// Returns the context with the overrides in place.
    pub(super) fn modified(&self, overrides: &[Override], frame: &Frame) -> Result<Self, EvalError> {
        let mut context = self.branch();
        for change in overrides {
            self.meter.spend(1)?;
            let value = match &change.value {
                Replacement::Value(expr) => {
                    let value = self.value(expr, frame)?.map(std::borrow::Cow::into_owned);
                    Mock::Value(value.unwrap_or(Value::Undefined))
                }
                Replacement::Call(callee) => Mock::Call(*callee),
            };
            context.replace(&change.target, value)?;
        }
        Ok(context)
    }

    fn replace(&mut self, target: &Target, by: Mock) -> Result<(), EvalError> {
        match (target, by) {
            (Target::Call(Callee::Function(id)), _) if self.plan.groups.get(*id).is_none() => {
                Err(missing("rule", *id))
            }
            (Target::Call(callee), mock) => {
                self.mocks.push((*callee, mock));
                Ok(())
            }
            (Target::Input(path), Mock::Value(value)) => set_at(&mut self.input, path, value),
            (Target::Data(path), Mock::Value(value)) => {
                let keys: Vec<Value> = path.iter().map(|name| Value::from(&**name)).collect();
                self.replaced.push(path.clone());
                set_at(&mut self.data, &keys, value)
            }
            (_, Mock::Call(_)) => Err(EvalError::Type("a function cannot stand for a document".to_owned())),
        }
    }
}

/// Replaces what is under a path, making objects where there are none.
fn set_at(document: &mut Value, path: &[Value], value: Value) -> Result<(), EvalError> {
    let Some((key, rest)) = path.split_first() else {
        *document = value;
        return Ok(());
    };
    if !matches!(document, Value::Object(_)) {
        *document = Value::new_object();
    }
    let pairs = document.as_object_mut().map_err(|error| EvalError::Internal(error.to_string()))?;
    let place = pairs.get_or_insert_with(key.clone(), || Value::Undefined);
    match place {
        Some(place) => set_at(place, rest, value),
        None => Err(EvalError::Internal(format!("an object lost its key {key}"))),
    }
}
