//! What an evaluation may cost, and what can go wrong in one.
//!
//! Every node evaluated, every element compared and every byte built is counted here; the clock is read now and then.

use std::time::Instant;

use rego_compat::{Budget, Limit};

/// Steps between two looks at the clock.
const STEPS_PER_LOOK: u64 = 256;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An error of the language, which `&&` and `||` may absorb; in the API server's words as far as possible.
    #[error("{0}")]
    Failed(String),
    /// The budget is used up; nothing absorbs that. Raise that limit, or mend the policy.
    #[error("evaluation exceeded its budget: {0}")]
    Budget(Limit),
}

impl EvalError {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub(super) fn no_overload() -> Self {
        Self::failed("no such overload")
    }

    pub(super) fn no_key(key: &str) -> Self {
        Self::Failed(format!("no such key: {key}"))
    }
}

/// Counts what an evaluation costs.
#[derive(Debug)]
pub(super) struct Meter {
    start: Instant,
    /// Where the stack was when the evaluation began.
    stack_base: usize,
    budget: Budget,
    steps: u64,
    bytes: u64,
}

impl Meter {
    pub(super) fn new(budget: Budget) -> Self {
        Self { start: Instant::now(), stack_base: stack_position(), budget, steps: 0, bytes: 0 }
    }

    /// One step.
    pub(super) fn step(&mut self) -> Result<(), EvalError> {
        self.steps(1)
    }

    /// So many steps at once: the work of a function over a long text or list.
    pub(super) fn steps(&mut self, steps: usize) -> Result<(), EvalError> {
        let before = self.steps;
        self.steps = before.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.steps > self.budget.instructions {
            return Err(EvalError::Budget(Limit::Instructions));
        }
        let looked = before.checked_div(STEPS_PER_LOOK);
        if looked != self.steps.checked_div(STEPS_PER_LOOK) && self.start.elapsed() > self.budget.time {
            return Err(EvalError::Budget(Limit::Time));
        }
        Ok(())
    }

    /// Notes where the stack is: an evaluation begins here.
    pub(super) fn enter(&mut self) {
        self.stack_base = stack_position();
    }

    /// One step deeper: refused when the evaluation has used up its share of the stack.
    pub(super) fn descend(&mut self) -> Result<(), EvalError> {
        if self.stack_base.abs_diff(stack_position()) > self.budget.stack {
            return Err(EvalError::Budget(Limit::Depth));
        }
        self.step()
    }

    /// Bytes about to be built. Called before, so that the bound holds for what is never built.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.bytes > self.budget.memory {
            return Err(EvalError::Budget(Limit::Memory));
        }
        // Building takes time too: eight bytes are about a step's worth.
        self.steps(bytes.checked_div(8).unwrap_or(0))
    }

    /// Elements of a list or a map about to be built.
    pub(super) fn elements(&mut self, elements: usize) -> Result<(), EvalError> {
        self.bytes(elements.saturating_mul(std::mem::size_of::<crate::value::Value>()))
    }
}

/// Roughly where the stack is now: the address of something on it.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}
