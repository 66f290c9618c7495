//! Times this project beside the ones it replaces, in one run, and holds both to the same answers.
//!
//! ```
//! use benchmarks::figure::{geometric_mean, percentile};
//!
//! // Ratios are averaged so that twice as fast and half as fast cancel out.
//! assert_eq!(geometric_mean(&[2.0, 0.5]), 1.0);
//! assert_eq!(percentile(&[3.0, 1.0, 2.0], 50), 2.0);
//! ```
//!
//! [`rego`] compares the evaluation and compilation of Rego with OPA, which runs as a Go program behind a pipe and
//! takes its own times, and with plain regorus. [`framework`] compares templates, constraints and reviews with
//! Gatekeeper's constraint framework in the same way. Everything runs on one core, in turns. A benchmark asserts no
//! speed: machines differ and neighbours make noise. It fails when the answers differ.

pub mod core_of_one;
pub mod figure;
pub mod framework;
pub mod rego;
pub mod spread;
pub mod timing;
