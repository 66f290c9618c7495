//! The reads of one program in the inventory, sorted by how it can be found.

use std::sync::Arc;

use rego_compat::{DataAccess, Join, Program, Segment};

use super::join::JoinKey;
use super::term::Term;

/// The root below `data` that is the inventory's.
const ROOT: &str = "inventory";

/// The paths that a policy reads below `data.inventory`, with the equations by which their objects are found.
#[derive(Clone, Debug)]
pub struct Reads {
    whole: Arc<[Vec<Segment>]>,
    pub(super) narrowed: Vec<Vec<Segment>>,
    pub(super) joined: Vec<JoinedRead>,
}

/// A read under equations: each finds all objects that can matter, and others.
#[derive(Clone, Debug)]
pub(super) struct JoinedRead {
    pub(super) path: Vec<Segment>,
    /// Each index, and what to look for in it, below `input`.
    pub(super) joins: Vec<(Arc<JoinKey>, Term)>,
}

impl Reads {
    /// Returns the reads of a program; `None` if it reads nothing below `data.inventory`.
    #[must_use]
    pub fn of(program: &Program) -> Option<Self> {
        let accesses: Vec<_> = program.analysis().accesses().iter().filter_map(below_root).collect();
        if accesses.is_empty() {
            return None;
        }
        // The same objects at each review, whatever its input: one tree serves all of them.
        let is_whole = |path: &[Segment], access: &DataAccess| {
            access.joins.is_empty() && !path.iter().any(|segment| matches!(segment, Segment::Input(_)))
        };
        let whole: Arc<[Vec<Segment>]> = accesses
            .iter()
            .filter(|(path, access)| is_whole(path, access))
            .map(|(path, _)| path.to_vec())
            .collect();
        let mut reads = Self { whole, narrowed: Vec::new(), joined: Vec::new() };
        for (path, access) in accesses {
            reads.add(program, path, access);
        }
        Some(reads)
    }

    /// Returns each path below `data.inventory` all of whose objects are looked at in each evaluation.
    pub fn unindexed(&self) -> impl Iterator<Item = &[Segment]> {
        self.whole.iter().map(Vec::as_slice)
    }

    /// Returns each path below `data.inventory` that the program reads.
    pub fn paths(&self) -> impl Iterator<Item = &[Segment]> {
        let joined = self.joined.iter().map(|read| &read.path);
        self.whole.iter().chain(&self.narrowed).chain(joined).map(Vec::as_slice)
    }

    /// Returns the paths that the policy reads whole, whatever its input is.
    pub(super) const fn whole(&self) -> &Arc<[Vec<Segment>]> {
        &self.whole
    }

    pub(super) fn join_keys(&self) -> impl Iterator<Item = &Arc<JoinKey>> {
        self.joined.iter().flat_map(|read| &read.joins).map(|(key, _)| key)
    }

    fn add(&mut self, program: &Program, path: &[Segment], access: &DataAccess) {
        // Shown already, and an index over it would save nothing.
        if self.whole.iter().any(|whole| includes(whole, path)) {
            return;
        }
        let joins: Vec<_> = access.joins.iter().filter_map(|join| indexed(program, path, join)).collect();
        if joins.is_empty() {
            self.narrowed.push(path.to_vec());
        } else {
            self.joined.push(JoinedRead { path: path.to_vec(), joins });
        }
    }
}

/// Returns the index that an equation needs, and what to look for in it.
fn indexed(program: &Program, path: &[Segment], join: &Join) -> Option<(Arc<JoinKey>, Term)> {
    // One index serves all inputs, so that it covers every key which an input may name. The key itself is compared when the
    // index has found its objects.
    let below = Term::of(program, &join.data)?;
    let below = Term { path: without_input(&below.path), ..below };
    let key = JoinKey { path: without_input(path), below };
    Some((Arc::new(key), Term::of(program, &join.input)?))
}

/// Returns the path of an access below `data.inventory`; `None` for what lies elsewhere. An access to more than the
/// inventory reads all of it.
fn below_root(access: &DataAccess) -> Option<(&[Segment], &DataAccess)> {
    match access.path.split_first() {
        Some((Segment::Key(root), rest)) => (root == ROOT).then_some((rest, access)),
        Some(_) | None => Some((&[], access)),
    }
}

/// Returns true if a path without input reaches everything that another one does.
fn includes(whole: &[Segment], other: &[Segment]) -> bool {
    whole.len() <= other.len() && whole.iter().zip(other).all(|(a, b)| matches!(a, Segment::Any) || a == b)
}

fn without_input(path: &[Segment]) -> Vec<Segment> {
    let widen = |segment: &Segment| match segment {
        Segment::Input(_) => Segment::Any,
        known => known.clone(),
    };
    path.iter().map(widen).collect()
}
