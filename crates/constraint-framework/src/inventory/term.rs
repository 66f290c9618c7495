//! One side of an equation between the inventory and an input: a value, or the result of a function of the policy for it.
//!
//! Worked example: `unique-service-selector` compares `flatten_selector(other)` with `flatten_selector(input.review.object)`.
//! The index holds each Service under its flattened selector, and a review looks up its own: the function runs once per Service
//! and once per review, and not for each pair of them.

use std::time::Duration;

use rego_compat::{Budget, Function, Program, Segment, Value as RegoValue, values_at};

/// The value that is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub(super) path: Vec<Segment>,
    /// Its values are compared, and not those at the path.
    pub(super) function: Option<Function>,
}

/// The most instructions of a function for one value, less than a policy has: an object for which they do not suffice is
/// not indexed.
const MOST_INSTRUCTIONS: u64 = 100_000;

impl Term {
    /// Returns the term of a program; `None` when the program has no such function.
    pub(super) fn of(program: &Program, term: &rego_compat::JoinTerm) -> Option<Self> {
        let function = match &term.function {
            None => None,
            Some(name) => Some(program.function(name)?),
        };
        Some(Self { path: term.path.clone(), function })
    }

    /// Returns the values that are compared; keys that come from the input are looked up in `input`. `None` when the
    /// function fails: then nothing is known of them, and the policy has to be asked, which may fail as well.
    pub(super) fn values(&self, root: &RegoValue, input: &RegoValue) -> Option<Vec<RegoValue>> {
        let found = values_at(&self.path, root, input).into_iter();
        let Some(function) = &self.function else { return Some(found.cloned().collect()) };
        // Without a clock, the same value has the same outcome each time: an object leaves the index where it was put.
        let budget = Budget::default().with_instructions(MOST_INSTRUCTIONS).with_time(Duration::MAX);
        // What it is undefined for is equal to nothing.
        found.filter_map(|value| function.value(value, &budget).transpose()).collect::<Result<_, _>>().ok()
    }
}
