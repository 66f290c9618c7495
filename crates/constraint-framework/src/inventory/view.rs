//! The part of the inventory that a program reads whatever its input is, built once per change.

use std::sync::{Arc, OnceLock};

use rego_compat::{Segment, Value as RegoValue};

use super::Path;
use super::object::UnreadableObjectError;
use super::part::Parts;
use super::reads::Reads;
use super::resource_tree::{Reach, ResourceTree, covers};

/// The paths, and what lies there as of now. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct View {
    paths: Arc<[Vec<Segment>]>,
    tree: Arc<OnceLock<Result<RegoValue, UnreadableObjectError>>>,
}

impl View {
    pub(super) fn new(paths: Arc<[Vec<Segment>]>) -> Self {
        Self { paths, tree: Arc::default() }
    }

    /// Returns true if the view has the paths that a reader reads whole.
    pub(super) fn serves(&self, reads: &Reads) -> bool {
        self.paths == *reads.whole()
    }

    /// Drops the tree if it holds the object at `path`, which came, changed or went.
    pub(super) fn changed(&mut self, path: &Path) {
        if self.paths.iter().any(|pattern| covers(pattern, path)) {
            // Another cell, and not the same one emptied: older snapshots share it, and their tree has not changed.
            self.tree = Arc::default();
        }
    }

    /// Returns what lies at the paths, built on the first call after a change. Levels that did not change are shared
    /// with what was built before.
    pub(super) fn tree(&self, root: &ResourceTree) -> Result<RegoValue, UnreadableObjectError> {
        self.tree.get_or_init(|| build(self.paths.iter().map(Vec::as_slice), root)).clone()
    }
}

/// Returns what lies at the paths, whatever the input is.
pub(super) fn build<'p>(
    paths: impl Iterator<Item = &'p [Segment]>,
    root: &ResourceTree,
) -> Result<RegoValue, UnreadableObjectError> {
    let mut parts = Parts::default();
    for path in paths {
        let reach: Vec<_> = path.iter().map(Reach::widest).collect();
        root.gather(&reach, &mut parts)?;
    }
    parts.over(None)
}
