//! Neutral values between target, driver and enforcement point: reviews, violations, actions and verdicts.
//!
//! Knows no policy language, no match schema and no client.

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
