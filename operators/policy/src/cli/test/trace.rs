//! The steps by which the constraints came to their violations, for `--trace`.

use crate::cli::assemble::Assembly;
use crate::cli::explain::{of as explain, one};
use crate::cli::judge::PlacedViolation;

/// A trace per violation; none where they were not asked for.
#[derive(Debug, Default)]
pub(super) struct Traces(Vec<String>);

impl Traces {
    /// The trace of a violation.
    pub(super) fn get(&self, position: usize) -> Option<&str> {
        self.0.get(position).map(String::as_str)
    }
}

/// The traces of violations. Two violations of one constraint in one object have the same.
pub(super) fn of(assembly: &Assembly, violations: &[PlacedViolation<'_>]) -> Traces {
    let trace =
        |violation: &PlacedViolation<'_>| match explain(assembly, violation.subject, violation.constraint) {
            Ok(explained) => explained.iter().map(one).collect(),
            Err(error) => format!("{error}\n"),
        };
    Traces(violations.iter().map(trace).collect())
}
