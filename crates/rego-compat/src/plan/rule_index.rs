//! The rule index: what is asked of the documents before a definition is tried, as OPA asks it.
//!
//! ```rego
//! allow if { input.kind == "Pod"; input.name == "a"; 1 / input.zero > 0 }
//! allow if { input.kind == "Job" }
//! ```
//!
//! The first definition is tried only where `input.kind` is `"Pod"` and `input.name` is `"a"`, the second where
//! `input.kind` is `"Job"`. A review of a Job never divides.
//!
//! OPA looks through the bodies of all definitions of a rule for what they need of the input, of plain data and of a
//! function's arguments, and passes over those that cannot hold, so nothing in them can fail. Which needs it sees, and
//! how it puts several together, is what a policy can observe where a body can fail; this is a transcription of
//! `v1/ast/index.go` of OPA 1.22 in terms of single definitions. `record` reads bodies, `level` puts together what
//! they need. Whether a definition passes is asked in `crate::eval`. One difference is on purpose: see
//! `record::Recorder::one_of`.

mod level;
mod record;
mod statement;

use crate::ir::{self, Rulebook, Slot};
use crate::value::Value;

use super::Group;

pub(crate) use statement::split_escaped;

/// A document whose value decides whether a definition is tried.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) root: PlaceRoot,
    pub(crate) path: Vec<Value>,
}

/// The root of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceRoot {
    Input,
    Data,
    Argument(usize),
}

/// The conditions under which a definition can hold. Places are those of its group.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// Places that need a value.
    pub(crate) defined: Vec<usize>,
    /// The value at the first place has to be a key of the collection at the second.
    pub(crate) keyed: Vec<(usize, usize)>,
    /// One of these has to hold altogether; none at all always does.
    pub(crate) alternatives: Vec<Vec<Check>>,
}

/// The value at a place is one of these.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) place: usize,
    pub(crate) wants: Vec<Want>,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Want {
    /// To be there; the variable that has the value is known.
    Open(Option<Slot>),
    /// To be there.
    Anything,
    Scalar(Value),
    /// An array of this length, with these elements where they are known.
    Array(Vec<Option<Value>>),
    /// A collection with this value in it.
    Member(Value),
    /// A text that begins so, or a collection with one.
    Prefix(String),
    /// A text that ends so, or a collection with one.
    Suffix(String),
    /// A text with these parts between delimiters, where they are known.
    Parts(String, Vec<Option<Value>>),
}

/// Gives each definition of a group the conditions under which it is tried.
pub(super) fn build(book: &Rulebook, group: &ir::Group, planned: &mut Group) {
    let mut table = level::Table::default();
    let mut needs = Vec::new();
    for rule in group.rules.iter().filter(|rule| !rule.default) {
        for branch in &rule.branches {
            needs.push(record::needs(book, rule, branch, &mut table));
        }
    }
    // Only now are all places known, and how many definitions need each: that decides in which order they are asked.
    let levels = table.levels(&needs);
    planned.agreed = level::agreed(&planned.rules);
    let branches = planned.rules.iter_mut().flat_map(|rule| &mut rule.branches);
    for (branch, mut needs) in branches.zip(needs) {
        // Looking into a collection saves nothing where the first definition that holds is the last one tried.
        if planned.settled {
            needs.keyed.clear();
        }
        branch.conditions = levels.conditions(&needs);
    }
    planned.places = table.into_places();
}

#[cfg(test)]
mod tests;
