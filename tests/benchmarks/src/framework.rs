//! The constraint framework beside Gatekeeper's: reviews, ingest and memory.
//!
//! A [`scenario::Scenario`] is a set of policies, an inventory and some requests, the same text for both sides.
//! [`ours`] and [`theirs`] take it in and answer; [`round`] lets them take turns and compares the answers; [`table`]
//! and [`chart`] show what came out. Nothing here decides what is fast enough: a goal is printed beside its figure.

pub mod chart;
pub mod ours;
pub mod round;
pub mod scenario;
pub mod table;
pub mod theirs;

use serde_json::Value;

/// A violation, as far as both sides can say the same about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Kind and name of the constraint.
    pub constraint: String,
    /// The message.
    pub message: String,
    /// The details, as JSON text.
    pub details: String,
    /// The enforcement action.
    pub action: String,
}

/// The results of timed passes over all requests of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// The time of each pass, in nanoseconds.
    pub nanoseconds: Vec<f64>,
    /// The violations of each request in the last pass, sorted.
    pub found: Vec<Vec<Found>>,
}

/// The cost of ingesting the policies.
#[derive(Clone, Copy, Debug)]
pub struct Ingest {
    /// Wall time, in nanoseconds.
    pub nanoseconds: f64,
    /// The bytes that stay on the heap.
    pub bytes: f64,
}

/// A conflict between values of a rule is a violation on both sides, told in the words of the OPA that each follows:
/// Gatekeeper 3.23 links 1.17. Both name it by this code.
fn message_text(message: &str) -> String {
    const CONFLICT: &str = "eval_conflict_error";
    if message.contains(CONFLICT) { CONFLICT } else { message }.to_owned()
}

/// The details of a violation in one form; empty where there are none.
fn details_text(details: Option<&Value>) -> String {
    details.map_or_else(String::new, Value::to_string)
}
