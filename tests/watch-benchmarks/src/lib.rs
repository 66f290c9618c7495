//! Times and weighs watch-manager beside kube-runtime and controller-runtime, in one run.
//!
//! ```
//! use watch_benchmarks::figures::{median, percentile};
//!
//! assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
//! assert_eq!(percentile(&[3.0, 1.0, 2.0], 99), 3.0);
//! ```
//!
//! The server of all sides is `FakeApi`, over HTTP where a peer takes part. A benchmark asserts no speed: machines
//! differ and neighbours make noise. It fails when a side does not hold the objects that the server has.

pub mod figures;
pub mod heap;
pub mod peer;
pub mod scenario;
pub mod server;
