//! Neutral values between target, driver and enforcement point: what is judged, what is found, what then happens.
//!
//! Knows no policy language, no match schema and no way to ask a cluster.

mod action;
mod cel;
mod document;
mod json;
mod point;
mod subject;
mod verdict;
mod violation;

pub use action::{Action, Enforcement};
pub use document::Document;
pub use json::{Json, UnreadableError};
pub use point::EnforcementPoint;
pub use subject::{Review, ReviewBuilder, ReviewSource};
pub use verdict::Verdict;
pub use violation::{RawViolation, Violation};
