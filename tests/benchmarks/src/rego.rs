//! The contenders for Rego: this project's crate, plain regorus in both of its ways, and OPA's prepared query.
//!
//! Each is loaded with one template, its data and one sample, parsed beforehand, and evaluates that. `answer`
//! compares what they say. Nothing here prints.

pub mod answer;
pub mod opa;
pub mod ours;
pub mod pod;
pub mod race;
pub mod regorus_engine;
