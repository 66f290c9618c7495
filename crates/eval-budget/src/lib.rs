//! Limits on time, steps, memory and stack for one evaluation of a policy.
//!
//! ```
//! use eval_budget::{Budget, Limit, Meter};
//!
//! let meter = Meter::new(&Budget::default().with_instructions(1000));
//! assert_eq!(meter.spend(1000), Ok(()));
//! assert_eq!(meter.spend(1), Err(Limit::Instructions));
//! ```
//!
//! | item | purpose |
//! |---|---|
//! | [`Budget`] | the limits, set by the caller |
//! | [`Meter`] | counts what one evaluation uses; an evaluator calls it at each step |
//! | [`Limit`] | the error: the part of the budget that ran out |
//!
//! The crate measures nothing by itself: an evaluator that does not call its [`Meter`] is not bounded.

mod budget;
mod meter;

pub use budget::{Budget, Limit};
pub use meter::Meter;

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
