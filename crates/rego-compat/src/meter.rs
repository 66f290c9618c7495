//! Counts what an evaluation costs: `eval_budget`'s meter, and the cost of values.

use std::cell::{Cell, OnceCell};
use std::time::SystemTime;

use eval_budget::{Budget, Limit};

use crate::error::EvalError;
use crate::value::Value;

/// Bytes that take as long to build as a step.
const BYTES_PER_STEP: u64 = 256;

/// Levels of brackets in a value. Deeper ones cannot be dropped or compared without risk to the stack.
const MAX_NESTING: u32 = 512;

/// Values built around others before their depth is looked at: no policy that is not after it gets this far.
const FREE_WRAPPINGS: u32 = 64;

/// The time of an evaluation, in nanoseconds since 1970.
pub(crate) type Now = i64;

/// The rest of a budget, and the time of the evaluation.
#[derive(Debug)]
pub(crate) struct Meter {
    core: eval_budget::Meter,
    wrappings: Cell<u32>,
    now: OnceCell<Now>,
}

impl Meter {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { core: eval_budget::Meter::new(budget), wrappings: Cell::new(0), now: OnceCell::new() }
    }

    /// Returns a meter for a part of an evaluation whose time is known already.
    pub(crate) fn at(budget: &Budget, now: Option<Now>) -> Self {
        Self { now: now.map_or_else(OnceCell::new, OnceCell::from), ..Self::new(budget) }
    }

    /// Returns the time of the evaluation, which is the time when it was first asked for.
    ///
    /// # Errors
    /// The clock of the system has a time that is not in 64 bits of nanoseconds.
    pub(crate) fn now(&self) -> Result<Now, EvalError> {
        if let Some(now) = self.now.get() {
            return Ok(*now);
        }
        let now = nanoseconds(SystemTime::now())
            .ok_or_else(|| EvalError::Internal("the clock of the system is out of range".to_owned()))?;
        Ok(*self.now.get_or_init(|| now))
    }

    /// Returns the time of the evaluation, if something asked for it.
    pub(crate) fn known_now(&self) -> Option<Now> {
        self.now.get().copied()
    }

    /// Returns the steps so far.
    pub(crate) fn spent(&self) -> u64 {
        self.core.spent()
    }

    /// Counts steps.
    #[inline]
    pub(crate) fn spend(&self, steps: u64) -> Result<(), EvalError> {
        Ok(self.core.spend(steps)?)
    }

    /// Counts a call of a builtin, which may take much longer than a step.
    #[inline]
    pub(crate) fn called(&self) -> Result<(), EvalError> {
        Ok(self.core.called()?)
    }

    /// Refuses work that, at its worst, cannot end within the budget. Nothing is counted yet.
    pub(crate) fn afford(&self, steps: u64) -> Result<(), EvalError> {
        Ok(self.core.afford(steps)?)
    }

    /// Refuses to build what does not fit into memory any more. Nothing is counted yet.
    pub(crate) fn afford_bytes(&self, bytes: usize) -> Result<(), EvalError> {
        Ok(self.core.afford_bytes(bytes)?)
    }

    /// Returns the bytes that may still be built.
    pub(crate) fn bytes_left(&self) -> usize {
        self.core.bytes_left()
    }

    /// Counts bytes of values built; large ones cost time too.
    #[inline]
    pub(crate) fn charge(&self, bytes: usize) -> Result<(), EvalError> {
        Ok(self.core.charge(bytes, BYTES_PER_STEP)?)
    }

    /// Refuses to go deeper when the evaluation has used up its share of the stack.
    #[inline]
    pub(crate) fn check_stack(&self) -> Result<(), EvalError> {
        Ok(self.core.check_stack()?)
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

    /// Counts like [`Self::charge_tree`], and returns how much that was.
    pub(crate) fn weigh(&self, value: &Value) -> Result<u64, EvalError> {
        let before = self.spent();
        self.charge_tree(value)?;
        Ok(self.spent().saturating_sub(before))
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
        let mut left = self.core.budget().output;
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

/// Returns the nanoseconds since 1970, negative before.
fn nanoseconds(time: SystemTime) -> Option<Now> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().and_then(i64::checked_neg),
    }
}

const fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Set(_) | Value::Object(_))
}

/// Returns the work of writing a number in decimal: the square of its words, where it has more than one.
fn decimal_work(value: &Value) -> u64 {
    let words = words(value);
    words.saturating_mul(words) / 8
}

/// Returns the words of a number that is longer than most, roughly.
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
    fn measuring_what_is_shared_ends_with_the_time() {
        let doubled = |value: &Value| Value::from(vec![value.clone(), value.clone()]);
        let shared = (0..100).fold(Value::Null, |value, _| doubled(&value));
        let budget = Budget::default().with_output(u64::MAX).with_time(std::time::Duration::ZERO);
        assert_eq!(Meter::new(&budget).check_output(&shared), Err(EvalError::Budget(Limit::Time)));
    }

    #[test]
    fn an_evaluation_has_one_time() {
        let meter = Meter::new(&Budget::default());
        assert_eq!(meter.known_now(), None);
        let now = meter.now().unwrap();
        assert_eq!((meter.now(), meter.known_now()), (Ok(now), Some(now)));
        assert_eq!(Meter::at(&Budget::default(), Some(now)).now(), Ok(now));
        let second = std::time::Duration::from_secs(1);
        assert_eq!(nanoseconds(SystemTime::UNIX_EPOCH + second), Some(1_000_000_000));
        assert_eq!(nanoseconds(SystemTime::UNIX_EPOCH - second), Some(-1_000_000_000));
        assert_eq!(nanoseconds(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(9_300_000_000)), None);
    }

    #[test]
    fn output_runs_out() {
        let meter = Meter::new(&Budget::default().with_output(10));
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
