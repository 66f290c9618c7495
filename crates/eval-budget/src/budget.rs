//! The limits of one evaluation.

use std::fmt;
use std::time::Duration;

/// The upper bounds of one evaluation. Exceeding one ends the evaluation with a [`Limit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Wall-clock time. Default 1 s.
    pub time: Duration,
    /// Steps of evaluation: one per statement tried, element visited and call made. Default 50 million.
    pub instructions: u64,
    /// Bytes of values built during evaluation, estimated. Default 256 MiB.
    pub memory: u64,
    /// Bytes of the result, estimated. Default 16 MiB.
    pub output: u64,
    /// Bytes of the thread's stack, measured from where the [`Meter`](crate::Meter) was made. Default 1 MiB; threads of tokio
    /// have 2 MiB.
    pub stack: usize,
    /// Batches of calls to the host, for evaluators that suspend. Default 32.
    pub batches: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1),
            instructions: 50_000_000,
            memory: 256 << 20,
            output: 16 << 20,
            stack: 1 << 20,
            batches: 32,
        }
    }
}

impl Budget {
    /// Replaces the wall-clock limit.
    #[must_use]
    pub const fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Replaces the limit on steps.
    #[must_use]
    pub const fn with_instructions(mut self, instructions: u64) -> Self {
        self.instructions = instructions;
        self
    }

    /// Replaces the limit on bytes built.
    #[must_use]
    pub const fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Replaces the limit on the stack.
    #[must_use]
    pub const fn with_stack(mut self, bytes: usize) -> Self {
        self.stack = bytes;
        self
    }

    /// Replaces the limit on batches of calls to the host.
    #[must_use]
    pub const fn with_batches(mut self, batches: u32) -> Self {
        self.batches = batches;
        self
    }

    /// Replaces the limit on the result's size.
    #[must_use]
    pub const fn with_output(mut self, bytes: u64) -> Self {
        self.output = bytes;
        self
    }
}

/// The part of a [`Budget`] that an evaluation exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Wall-clock time.
    Time,
    /// Steps of evaluation.
    Instructions,
    /// Bytes of values built.
    Memory,
    /// Size of the result.
    Output,
    /// Calls nested too deep for the stack.
    Depth,
    /// Batches of calls to the host.
    Batches,
}

impl std::error::Error for Limit {}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "time",
            Self::Instructions => "instructions",
            Self::Memory => "memory",
            Self::Output => "output size",
            Self::Depth => "call depth",
            Self::Batches => "batches of calls to the host",
        })
    }
}
