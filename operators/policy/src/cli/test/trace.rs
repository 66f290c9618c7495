//! How the constraints came to their violations, for `--trace`.

use crate::cli::assemble::Assembly;
use crate::cli::explain::{of as explain, one};
use crate::cli::judge::Offence;
use crate::cli::native;

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
pub(super) fn of(assembly: &Assembly, offences: &[Offence<'_>]) -> Traces {
    let trace = |offence: &Offence<'_>| match offence.violation.constraint.kind.as_str() {
        native::KIND => "admission policies of Kubernetes have no trace yet\n".to_owned(),
        _ => of_template(assembly, offence),
    };
    Traces(offences.iter().map(trace).collect())
}

fn of_template(assembly: &Assembly, offence: &Offence<'_>) -> String {
    match explain(assembly, offence.subject, offence.constraint) {
        Ok(explained) => explained.iter().map(one).collect(),
        Err(error) => format!("{error}\n"),
    }
}
