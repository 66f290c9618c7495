//! The documents that a program reads, as far as its text shows: for hosts that prepare, index or cache.
//!
//! `scan` walks the flat form once. Nothing here changes what a program means.

mod accesses;
mod path;
mod prefixes;
mod scan;
#[cfg(test)]
mod tests;

use crate::check::Dependencies;
use crate::ir::{GroupId, Rulebook};

pub use path::values_at;

/// The documents that a program reads, and whether its answer depends on anything else.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    pub(crate) data_paths: Vec<Vec<String>>,
    pub(crate) input_paths: Vec<Vec<String>>,
    pub(crate) accesses: Vec<DataAccess>,
    pub(crate) deterministic: bool,
}

/// One component of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// This key.
    Key(String),
    /// Any key.
    Any,
    /// The keys found in `input` under this path.
    Input(Vec<Segment>),
}

/// One place where a program reads plain `data`, not the value of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataAccess {
    /// The path read, without `data`: `inventory`, `namespace`, any, any, `Ingress`, any.
    pub path: Vec<Segment>,
    /// The equations that must hold for the values there to matter; empty where there is no such condition.
    pub joins: Vec<Join>,
}

/// An equation that every use of an access depends on: values that are not equal contribute nothing to the answer.
///
/// Worked example: in `other := data.inventory.services[_]; selector(other) == selector(input.object)` the access
/// is to `inventory`, `services`, any; both sides are the function `selector`, of the value there itself (an empty path) and of
/// `object` in the input.
///
/// So a host may leave out of `data` each value under [`DataAccess::path`] in which no value at [`Join::data`] equals
/// (as Rego compares) a value at [`Join::input`], and gets the same answer from less. It must do so for all of a
/// program's accesses at once, keeping what any of them needs, and may do so only where each access has a join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Join {
    /// The term that is compared; its path begins below the access: `spec`, `rules`, any, `host`.
    pub data: JoinTerm,
    /// The term that it is compared with; its path begins below `input`.
    pub input: JoinTerm,
}

/// One side of a [`Join`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JoinTerm {
    /// The path of the value.
    pub path: Vec<Segment>,
    /// The function of that value which is compared, a name for [`Program::function`](crate::Program::function); without one
    /// it is the value itself. It reads nothing but its argument.
    pub function: Option<String>,
}

impl Analysis {
    /// Analyzes the rules that a query needs.
    pub(crate) fn of(book: &Rulebook, dependencies: &Dependencies, start: Vec<GroupId>, whole: bool) -> Self {
        let mut scan = scan::Scan::new(book);
        for id in dependencies.used_first(start) {
            scan.group(id, dependencies.of_group(id));
        }
        scan.into_analysis(whole)
    }

    /// Returns the prefixes of `data` that the program may read, without `data` itself: `[["inventory", "namespace"]]`. An
    /// empty path means all of `data`; no paths mean none of it. Documents that rules make are not in the list.
    #[must_use]
    pub fn data_paths(&self) -> &[Vec<String>] {
        &self.data_paths
    }

    /// Returns the prefixes of `input` that the program may read; an empty path means all of it.
    #[must_use]
    pub fn input_paths(&self) -> &[Vec<String>] {
        &self.input_paths
    }

    /// Returns each place where the program reads `data`, with the equations that it depends on.
    #[must_use]
    pub fn accesses(&self) -> &[DataAccess] {
        &self.accesses
    }

    /// Returns true if the same input and data always give the same answer: no clock, no randomness, no host function.
    #[must_use]
    pub const fn is_deterministic(&self) -> bool {
        self.deterministic
    }
}
