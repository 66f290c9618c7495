//! Counts what an evaluation costs, and ends it when its budget is used up.

use std::cell::Cell;
use std::time::Instant;

use regorus::Value;

use crate::budget::{Budget, Limit};
use crate::error::EvalError;

/// Steps between two looks at the clock.
const CLOCK_INTERVAL: u64 = 1 << 10;

/// Rules and functions inside one another before the stack is at risk.
const MAX_DEPTH: u32 = 192;

/// What is left of a budget.
#[derive(Debug)]
pub(crate) struct Meter {
    steps: Cell<u64>,
    next_look: Cell<u64>,
    max_steps: u64,
    bytes: Cell<u64>,
    max_bytes: u64,
    depth: Cell<u32>,
    budget: Budget,
    started: Instant,
}

impl Meter {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self {
            steps: Cell::new(0),
            next_look: Cell::new(CLOCK_INTERVAL.min(budget.instructions)),
            max_steps: budget.instructions,
            bytes: Cell::new(0),
            max_bytes: budget.memory,
            depth: Cell::new(0),
            budget: *budget,
            started: Instant::now(),
        }
    }

    /// Counts steps.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), EvalError> {
        let total = self.steps.get().saturating_add(steps);
        self.steps.set(total);
        if total < self.next_look.get() {
            Ok(())
        } else {
            self.look(total)
        }
    }

    #[cold]
    fn look(&self, total: u64) -> Result<(), EvalError> {
        if total > self.max_steps {
            return Err(EvalError::Budget(Limit::Instructions));
        }
        if self.started.elapsed() > self.budget.time {
            return Err(EvalError::Budget(Limit::Time));
        }
        let next = total
            .saturating_add(CLOCK_INTERVAL)
            .min(self.max_steps.saturating_add(1));
        self.next_look.set(next.max(total.saturating_add(1)));
        Ok(())
    }

    /// Counts bytes of values built; large ones cost time too.
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), EvalError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let total = self.bytes.get().saturating_add(bytes);
        self.bytes.set(total);
        if total > self.max_bytes {
            return Err(EvalError::Budget(Limit::Memory));
        }
        self.spend(bytes / 256)
    }

    /// Counts the memory of a value just made, its parts not included.
    pub(crate) fn charge_value(&self, value: &Value) -> Result<(), EvalError> {
        match value {
            Value::String(text) => self.charge(text.len()),
            Value::Array(items) => self.charge(items.len().saturating_mul(24)),
            Value::Set(items) => self.charge(items.len().saturating_mul(48)),
            Value::Object(pairs) => self.charge(pairs.len().saturating_mul(64)),
            _ => Ok(()),
        }
    }

    /// Counts the whole tree under a value, shared parts as often as they occur, for those who will walk all of it.
    pub(crate) fn charge_tree(&self, value: &Value) -> Result<(), EvalError> {
        self.spend(1)?;
        match value {
            Value::String(text) => self.charge(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| self.charge_tree(item)),
            Value::Set(items) => items.iter().try_for_each(|item| self.charge_tree(item)),
            Value::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
                self.charge_tree(key)?;
                self.charge_tree(value)
            }),
            _ => Ok(()),
        }
    }

    /// One level of calls deeper.
    pub(crate) fn enter(&self) -> Result<(), EvalError> {
        let depth = self.depth.get().saturating_add(1);
        self.depth.set(depth);
        if depth > MAX_DEPTH {
            Err(EvalError::Budget(Limit::Depth))
        } else {
            Ok(())
        }
    }

    /// Back from a call.
    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Refuses a result larger than the budget allows.
    pub(crate) fn check_output(&self, value: &Value) -> Result<(), EvalError> {
        let mut left = self.budget.output;
        if fits(value, &mut left) {
            Ok(())
        } else {
            Err(EvalError::Budget(Limit::Output))
        }
    }
}

/// Whether a value's text is within what is left, roughly.
fn fits(value: &Value, left: &mut u64) -> bool {
    let cost = match value {
        Value::String(text) => u64::try_from(text.len())
            .unwrap_or(u64::MAX)
            .saturating_add(3),
        _ => 4,
    };
    let Some(rest) = left.checked_sub(cost) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Set(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(pairs) => pairs
            .iter()
            .all(|(key, value)| fits(key, left) && fits(value, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out() {
        let meter = Meter::new(&Budget::default().with_instructions(10));
        assert!(meter.spend(10).is_ok());
        assert_eq!(meter.spend(1), Err(EvalError::Budget(Limit::Instructions)));
    }

    #[test]
    fn time_runs_out_at_the_next_look() {
        let meter = Meter::new(&Budget::default().with_time(std::time::Duration::ZERO));
        let end = (0..2 * CLOCK_INTERVAL).find_map(|_| meter.spend(1).err());
        assert_eq!(end, Some(EvalError::Budget(Limit::Time)));
    }

    #[test]
    fn memory_and_output_run_out() {
        let meter = Meter::new(&Budget::default().with_memory(100).with_output(10));
        assert!(meter.charge(100).is_ok());
        assert_eq!(meter.charge(1), Err(EvalError::Budget(Limit::Memory)));
        assert!(meter.check_output(&Value::from("abc")).is_ok());
        assert_eq!(
            meter.check_output(&Value::from("abcdefghijk")),
            Err(EvalError::Budget(Limit::Output))
        );
    }

    #[test]
    fn a_shared_tree_counts_as_often_as_it_occurs() {
        let mut value = Value::from("x");
        for _ in 0..60 {
            value = Value::from(vec![value.clone(), value]);
        }
        let meter = Meter::new(&Budget::default().with_instructions(1000));
        assert!(meter.charge_tree(&value).is_err());
        assert!(meter.check_output(&value).is_err());
    }
}
