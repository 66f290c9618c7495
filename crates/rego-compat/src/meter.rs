//! Counts what an evaluation costs, and ends it when its budget is used up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::value::Value;

use crate::budget::{Budget, Limit};
use crate::error::EvalError;

/// Steps between two looks at the clock.
const CLOCK_INTERVAL: u64 = 1 << 10;

/// Calls of builtins between two looks at the clock.
const CALL_INTERVAL: u32 = 64;

/// Steps of estimated work beyond which the clock is looked at once it is done.
const LONG_WORK: u64 = 1 << 16;

/// Time of one step where the work is estimated beforehand; the estimates are of this order, and rather too high.
const STEP_NANOS: u64 = 10;

/// Levels of brackets in a value. Deeper ones cannot be dropped or compared without risk to the stack.
const MAX_NESTING: u32 = 512;

/// Values built around others before their depth is looked at: no policy that is not after it gets this far.
const FREE_WRAPPINGS: u32 = 64;

/// What is left of a budget.
#[derive(Debug)]
pub(crate) struct Meter {
    steps: Cell<u64>,
    next_look: Cell<u64>,
    max_steps: u64,
    bytes: Cell<u64>,
    max_bytes: u64,
    wrappings: Cell<u32>,
    calls: Cell<u32>,
    /// Where the stack was when the evaluation began.
    stack_base: usize,
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
            wrappings: Cell::new(0),
            calls: Cell::new(0),
            stack_base: stack_position(),
            budget: *budget,
            started: Instant::now(),
        }
    }

    /// Steps so far.
    pub(crate) fn spent(&self) -> u64 {
        self.steps.get()
    }

    /// Counts steps.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), EvalError> {
        let total = self.steps.get().saturating_add(steps);
        self.steps.set(total);
        if total < self.next_look.get() { Ok(()) } else { self.look(total) }
    }

    #[cold]
    fn look(&self, total: u64) -> Result<(), EvalError> {
        if total > self.max_steps {
            return Err(EvalError::Budget(Limit::Instructions));
        }
        if self.started.elapsed() > self.budget.time {
            return Err(EvalError::Budget(Limit::Time));
        }
        let next = total.saturating_add(CLOCK_INTERVAL).min(self.max_steps.saturating_add(1));
        self.next_look.set(next.max(total.saturating_add(1)));
        Ok(())
    }

    /// Counts a call of a builtin, which may take much longer than a step: every so often the clock is looked at.
    pub(crate) fn called(&self) -> Result<(), EvalError> {
        let calls = self.calls.get().wrapping_add(1);
        self.calls.set(calls);
        if calls.is_multiple_of(CALL_INTERVAL) {
            self.next_look.set(self.steps.get());
        }
        self.spend(1)
    }

    /// Refuses work that, at its worst, cannot end within the budget. Where it can, nothing is counted yet: what it
    /// really took shows on the clock, which is looked at next.
    pub(crate) fn afford(&self, steps: u64) -> Result<(), EvalError> {
        let total = self.steps.get().saturating_add(steps);
        if total > self.max_steps {
            return Err(EvalError::Budget(Limit::Instructions));
        }
        if steps > LONG_WORK {
            let ahead = Duration::from_nanos(steps.saturating_mul(STEP_NANOS));
            if self.started.elapsed().saturating_add(ahead) > self.budget.time.saturating_mul(2) {
                return Err(EvalError::Budget(Limit::Time));
            }
            self.next_look.set(self.steps.get());
        }
        Ok(())
    }

    /// Refuses to build what does not fit into memory any more; nothing is counted yet.
    pub(crate) fn afford_bytes(&self, bytes: usize) -> Result<(), EvalError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.bytes.get().saturating_add(bytes) > self.max_bytes {
            return Err(EvalError::Budget(Limit::Memory));
        }
        self.afford(bytes / 64)
    }

    /// Bytes that may still be built.
    pub(crate) fn bytes_left(&self) -> usize {
        usize::try_from(self.max_bytes.saturating_sub(self.bytes.get())).unwrap_or(usize::MAX)
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
            Value::Number(number) if number.text_len() > 0 => self.charge(number.text_len()),
            Value::Array(items) => self.charge(items.len().saturating_mul(24)),
            Value::Set(items) => self.charge(items.len().saturating_mul(48)),
            Value::Object(pairs) => self.charge(pairs.len().saturating_mul(64)),
            _ => Ok(()),
        }
    }

    /// Counts the whole tree under a value, shared parts as often as they occur, for those who will walk all of it.
    pub(crate) fn charge_tree(&self, value: &Value) -> Result<(), EvalError> {
        self.charge_level(value, 0).map(drop)
    }

    /// As [`Self::charge_tree`], and how much that was.
    pub(crate) fn weigh(&self, value: &Value) -> Result<u64, EvalError> {
        let before = self.steps.get();
        self.charge_tree(value)?;
        Ok(self.steps.get().saturating_sub(before))
    }

    fn charge_level(&self, value: &Value, depth: u32) -> Result<(), EvalError> {
        if depth > MAX_NESTING {
            return Err(EvalError::Budget(Limit::Depth));
        }
        let deeper = depth.saturating_add(1);
        match value {
            Value::String(text) => {
                self.spend(u64::try_from(text.len()).unwrap_or(u64::MAX).wrapping_shr(5).saturating_add(1))
            }
            Value::Number(_) => self.spend(decimal_work(value).saturating_add(1)),
            Value::Array(items) => {
                self.spend(1)?;
                items.iter().try_for_each(|item| self.charge_level(item, deeper))
            }
            Value::Set(items) => {
                self.spend(1)?;
                items.iter().try_for_each(|item| self.charge_level(item, deeper))
            }
            Value::Object(pairs) => {
                self.spend(1)?;
                pairs.iter().try_for_each(|(key, value)| {
                    self.charge_level(key, deeper)?;
                    self.charge_level(value, deeper)
                })
            }
            _ => self.spend(1),
        }
    }

    /// Refuses to go deeper when the evaluation has used up its share of the stack.
    pub(crate) fn check_stack(&self) -> Result<(), EvalError> {
        let used = self.stack_base.abs_diff(stack_position());
        if used > self.budget.stack { Err(EvalError::Budget(Limit::Depth)) } else { Ok(()) }
    }

    /// Counts a value built from parts; its depth is bounded.
    pub(crate) fn charge_built(&self, value: &Value) -> Result<(), EvalError> {
        self.charge_value(value)?;
        let wraps = match value {
            Value::Array(items) => items.iter().any(is_compound),
            Value::Set(items) => items.iter().any(is_compound),
            Value::Object(pairs) => pairs.iter().any(|(key, value)| is_compound(key) || is_compound(value)),
            _ => false,
        };
        if !wraps {
            return Ok(());
        }
        let count = self.wrappings.get().saturating_add(1);
        self.wrappings.set(count);
        if count > FREE_WRAPPINGS { self.check_nesting(value, 0) } else { Ok(()) }
    }

    fn check_nesting(&self, value: &Value, depth: u32) -> Result<(), EvalError> {
        self.spend(1)?;
        if depth > MAX_NESTING {
            return Err(EvalError::Budget(Limit::Depth));
        }
        let deeper = depth.saturating_add(1);
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.check_nesting(item, deeper)),
            Value::Set(items) => items.iter().try_for_each(|item| self.check_nesting(item, deeper)),
            Value::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
                self.check_nesting(key, deeper)?;
                self.check_nesting(value, deeper)
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a result larger than the budget allows.
    pub(crate) fn check_output(&self, value: &Value) -> Result<(), EvalError> {
        let mut left = self.budget.output;
        self.fits(value, &mut left, 0)
    }

    /// Values may be shared, and then be much larger written out than in memory: measuring them takes time, too.
    fn fits(&self, value: &Value, left: &mut u64, depth: u32) -> Result<(), EvalError> {
        let cost = match value {
            Value::String(text) => u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(3),
            _ => 4,
        };
        let rest = left.checked_sub(cost).filter(|_| depth <= MAX_NESTING);
        *left = rest.ok_or(EvalError::Budget(Limit::Output))?;
        self.spend(1)?;
        let deeper = depth.saturating_add(1);
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.fits(item, left, deeper)),
            Value::Set(items) => items.iter().try_for_each(|item| self.fits(item, left, deeper)),
            Value::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
                self.fits(key, left, deeper)?;
                self.fits(value, left, deeper)
            }),
            _ => Ok(()),
        }
    }
}

/// Roughly where the stack is now: the address of something on it.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here).addr()
}

const fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Set(_) | Value::Object(_))
}

/// The work of writing a number in decimal: the square of its words, where it has more than one.
fn decimal_work(value: &Value) -> u64 {
    let words = words(value);
    words.saturating_mul(words) / 8
}

/// The words of a number that is longer than most, roughly.
fn words(value: &Value) -> u64 {
    match value {
        Value::Number(number) => u64::try_from(number.weight() / 16).unwrap_or(u64::MAX),
        _ => 0,
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
    fn measuring_what_is_shared_ends_with_the_time() {
        let doubled = |value: &Value| Value::from(vec![value.clone(), value.clone()]);
        let shared = (0..100).fold(Value::Null, |value, _| doubled(&value));
        let budget = Budget::default().with_output(u64::MAX).with_time(std::time::Duration::ZERO);
        assert_eq!(Meter::new(&budget).check_output(&shared), Err(EvalError::Budget(Limit::Time)));
    }

    #[test]
    fn memory_and_output_run_out() {
        let meter = Meter::new(&Budget::default().with_memory(100).with_output(10));
        assert!(meter.charge(100).is_ok());
        assert_eq!(meter.charge(1), Err(EvalError::Budget(Limit::Memory)));
        assert!(meter.check_output(&Value::from("abc")).is_ok());
        assert_eq!(meter.check_output(&Value::from("abcdefghijk")), Err(EvalError::Budget(Limit::Output)));
    }

    #[test]
    fn depth_is_bounded_once_enough_was_built() {
        let meter = Meter::new(&Budget::default());
        let mut value = Value::new_array();
        let end = (0..2000).find_map(|_| {
            value = Value::from(vec![value.clone()]);
            meter.charge_built(&value).err()
        });
        assert_eq!(end, Some(EvalError::Budget(Limit::Depth)));
    }

    #[test]
    fn the_stack_runs_out() {
        fn deeper(meter: &Meter, levels: u32) -> Result<u32, EvalError> {
            meter.check_stack()?;
            if levels == 0 { Ok(0) } else { Ok(deeper(meter, levels - 1)?.wrapping_add(levels)) }
        }
        let meter = Meter::new(&Budget::default().with_stack(1 << 14));
        assert!(deeper(&meter, 2).is_ok());
        assert_eq!(deeper(&meter, 1_000_000), Err(EvalError::Budget(Limit::Depth)));
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
