//! The meter: counts the cost of an evaluation, and ends it when its budget is used up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::budget::{Budget, Limit};

/// Steps between two reads of the clock, unless set otherwise.
const CLOCK_INTERVAL: u64 = 1 << 10;

/// Function calls between two reads of the clock.
const CALL_INTERVAL: u32 = 64;

/// Steps of estimated work beyond which the clock is read once the work is done.
const LONG_WORK: u64 = 1 << 16;

/// Time of one step where work is estimated beforehand; the estimates are of this order, and rather too high.
const STEP_NANOS: u64 = 10;

/// The rest of a [`Budget`] while an evaluation runs.
///
/// Steps are counted exactly; the clock is read every so many steps, because reading it costs more than a step. A
/// limit is therefore noticed up to that many steps late:
///
/// ```text
/// steps   0 ......... 1024 ......... 2048
/// clock   |            |              |      `spend` compares the time here
/// ```
///
/// Methods take `&self`: an evaluator shares its meter with every function it calls, on one thread.
#[derive(Debug)]
pub struct Meter {
    steps: Cell<u64>,
    next_check: Cell<u64>,
    interval: u64,
    bytes: Cell<u64>,
    calls: Cell<u32>,
    /// The stack's address when the evaluation began.
    stack_base: Cell<usize>,
    budget: Budget,
    started: Instant,
}

impl Meter {
    /// Starts the clock, and takes the caller's stack position as the beginning of the stack.
    #[must_use]
    pub fn new(budget: &Budget) -> Self {
        Self::with_clock_interval(budget, CLOCK_INTERVAL)
    }

    /// Starts the clock like [`Self::new`], with another number of steps between two reads of it.
    #[must_use]
    pub fn with_clock_interval(budget: &Budget, interval: u64) -> Self {
        Self {
            steps: Cell::new(0),
            next_check: Cell::new(interval.min(budget.instructions)),
            interval,
            bytes: Cell::new(0),
            calls: Cell::new(0),
            stack_base: Cell::new(stack_position()),
            budget: *budget,
            started: Instant::now(),
        }
    }

    /// Returns the budget that this meter was made for.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns the number of steps so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.steps.get()
    }

    /// Takes the caller's stack position as the beginning of the stack.
    pub fn rebase_stack(&self) {
        self.stack_base.set(stack_position());
    }

    /// Counts steps; reads the clock every 1,024 of them, or as often as [`Self::with_clock_interval`] says.
    ///
    /// # Errors
    /// Returns [`Limit::Instructions`] or [`Limit::Time`] where the budget is exceeded.
    #[inline]
    pub fn spend(&self, steps: u64) -> Result<(), Limit> {
        let total = self.steps.get().saturating_add(steps);
        self.steps.set(total);
        if total < self.next_check.get() { Ok(()) } else { self.check(total) }
    }

    #[cold]
    fn check(&self, total: u64) -> Result<(), Limit> {
        if total > self.budget.instructions {
            return Err(Limit::Instructions);
        }
        if self.started.elapsed() > self.budget.time {
            return Err(Limit::Time);
        }
        let next = total.saturating_add(self.interval).min(self.budget.instructions.saturating_add(1));
        self.next_check.set(next.max(total.saturating_add(1)));
        Ok(())
    }

    /// Counts the call of a function, which may take much longer than a step: the clock is read every 64 calls.
    ///
    /// # Errors
    /// Returns the limits of [`Self::spend`].
    #[inline]
    pub fn called(&self) -> Result<(), Limit> {
        let calls = self.calls.get().wrapping_add(1);
        self.calls.set(calls);
        if calls.is_multiple_of(CALL_INTERVAL) {
            self.next_check.set(self.steps.get());
        }
        self.spend(1)
    }

    /// Refuses work that, at its worst, cannot end within the budget. Counts nothing: what the work really took shows
    /// on the clock, which is read next.
    ///
    /// # Errors
    /// Returns [`Limit::Instructions`] where the steps exceed the budget, [`Limit::Time`] where they would end after twice its
    /// time.
    pub fn afford(&self, steps: u64) -> Result<(), Limit> {
        let total = self.steps.get().saturating_add(steps);
        if total > self.budget.instructions {
            return Err(Limit::Instructions);
        }
        if steps > LONG_WORK {
            let ahead = Duration::from_nanos(steps.saturating_mul(STEP_NANOS));
            if self.started.elapsed().saturating_add(ahead) > self.budget.time.saturating_mul(2) {
                return Err(Limit::Time);
            }
            self.next_check.set(self.steps.get());
        }
        Ok(())
    }

    /// Refuses to build what does not fit into the budget's memory. Counts nothing.
    ///
    /// # Errors
    /// Returns [`Limit::Memory`] where the bytes do not fit; otherwise as [`Self::afford`] of a step for each 64 bytes.
    pub fn afford_bytes(&self, bytes: usize) -> Result<(), Limit> {
        let bytes = size(bytes);
        if self.bytes.get().saturating_add(bytes) > self.budget.memory {
            return Err(Limit::Memory);
        }
        self.afford(bytes / 64)
    }

    /// Returns the number of bytes that may still be built.
    #[must_use]
    pub fn bytes_left(&self) -> usize {
        usize::try_from(self.budget.memory.saturating_sub(self.bytes.get())).unwrap_or(usize::MAX)
    }

    /// Counts bytes of values built. Building takes time too: every `bytes_per_step` bytes count as a step.
    ///
    /// # Errors
    /// Returns [`Limit::Memory`] where the bytes exceed the budget; otherwise as [`Self::spend`].
    #[inline]
    pub fn charge(&self, bytes: usize, bytes_per_step: u64) -> Result<(), Limit> {
        let bytes = size(bytes);
        let total = self.bytes.get().saturating_add(bytes);
        self.bytes.set(total);
        if total > self.budget.memory {
            return Err(Limit::Memory);
        }
        self.spend(bytes.checked_div(bytes_per_step).unwrap_or(0))
    }

    /// Refuses to go deeper when the evaluation has used up its share of the stack.
    ///
    /// # Errors
    /// Returns [`Limit::Depth`] where the stack is deeper than the budget allows.
    #[inline]
    pub fn check_stack(&self) -> Result<(), Limit> {
        let used = self.stack_base.get().abs_diff(stack_position());
        if used > self.budget.stack { Err(Limit::Depth) } else { Ok(()) }
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the address of a local variable, which is roughly where the stack is now.
#[inline]
fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out() {
        let meter = Meter::new(&Budget::default().with_instructions(10));
        assert!(meter.spend(10).is_ok());
        assert_eq!(meter.spend(1), Err(Limit::Instructions));
    }

    #[test]
    fn time_runs_out_at_the_next_read_of_the_clock() {
        let meter = Meter::new(&Budget::default().with_time(Duration::ZERO));
        let end = (0..2 * CLOCK_INTERVAL).find_map(|_| meter.spend(1).err());
        assert_eq!(end, Some(Limit::Time));
        let meter = Meter::with_clock_interval(&Budget::default().with_time(Duration::ZERO), 4);
        assert_eq!((0..8).position(|_| meter.spend(1).is_err()), Some(3));
    }

    #[test]
    fn memory_runs_out() {
        let meter = Meter::new(&Budget::default().with_memory(100));
        assert!(meter.charge(100, 256).is_ok());
        assert_eq!(meter.bytes_left(), 0);
        assert_eq!(meter.charge(1, 256), Err(Limit::Memory));
        assert_eq!(meter.afford_bytes(1), Err(Limit::Memory));
    }

    #[test]
    fn the_stack_runs_out() {
        fn deeper(meter: &Meter, levels: u32) -> Result<u32, Limit> {
            meter.check_stack()?;
            if levels == 0 { Ok(0) } else { Ok(deeper(meter, levels - 1)?.wrapping_add(levels)) }
        }
        let meter = Meter::new(&Budget::default().with_stack(1 << 14));
        assert!(deeper(&meter, 2).is_ok());
        assert_eq!(deeper(&meter, 1_000_000), Err(Limit::Depth));
    }
}
