//! The cost of an evaluation, and its bound.
//!
//! Every node evaluated, every element compared and every byte built is counted here; the clock is read now and then.

use eval_budget::Budget;

use crate::error::EvalError;
use crate::value::Value;

/// Steps between two reads of the clock.
const CLOCK_INTERVAL: u64 = 256;

/// Bytes that take as long to build as a step.
const BYTES_PER_STEP: u64 = 8;

/// Counts what an evaluation costs.
#[derive(Debug)]
pub(super) struct Meter(eval_budget::Meter);

impl Meter {
    pub(super) fn new(budget: Budget) -> Self {
        Self(eval_budget::Meter::with_clock_interval(&budget, CLOCK_INTERVAL))
    }

    /// One step.
    pub(super) fn step(&self) -> Result<(), EvalError> {
        Ok(self.0.spend(1)?)
    }

    /// So many steps at once: the work of a function over a long string or list.
    pub(super) fn steps(&self, steps: usize) -> Result<(), EvalError> {
        Ok(self.0.spend(u64::try_from(steps).unwrap_or(u64::MAX))?)
    }

    /// Notes where the stack is: an evaluation begins here.
    pub(super) fn enter(&self) {
        self.0.rebase_stack();
    }

    /// One step deeper: refused when the evaluation has used up its share of the stack.
    pub(super) fn descend(&self) -> Result<(), EvalError> {
        self.0.check_stack()?;
        self.step()
    }

    /// Bytes about to be built. Called before, so that the bound holds for what is never built.
    pub(super) fn bytes(&self, bytes: usize) -> Result<(), EvalError> {
        Ok(self.0.charge(bytes, BYTES_PER_STEP)?)
    }

    /// Elements of a list or a map about to be built.
    pub(super) fn elements(&self, elements: usize) -> Result<(), EvalError> {
        self.bytes(elements.saturating_mul(std::mem::size_of::<Value>()))
    }
}
