//! The results of calls on a backlog.

use std::time::Instant;

use kube::core::GroupVersionKind;

use crate::intents::sort_key;

/// The changes that [`Registrar::replace`](crate::Registrar::replace) made, sorted by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Replaced {
    /// Kinds that were not asked for before.
    pub added: Vec<GroupVersionKind>,
    /// Kinds that are not asked for any more.
    pub removed: Vec<GroupVersionKind>,
    /// Kinds that were asked for in another scope: they start again with a snapshot.
    pub rescoped: Vec<GroupVersionKind>,
    /// Kinds that are not affected.
    pub kept: Vec<GroupVersionKind>,
    /// Kinds that were given more than once: the last interest in each is the one that counts. They are also in one of the
    /// other lists.
    pub repeated: Vec<GroupVersionKind>,
}

/// The size of a registrar's backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BacklogStats {
    /// Undelivered events. At most one for each object and two for each kind; in an ordered backlog also those that
    /// its bound allows, and one more for each kind.
    pub depth: usize,
    /// The time when the oldest of them was queued.
    pub oldest: Option<Instant>,
}

/// The effect of asking for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Added,
    Rescoped,
    Already,
}

// === impl Replaced ===

impl Replaced {
    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.rescoped.is_empty()
    }

    pub(super) fn sort(&mut self) {
        for list in
            [&mut self.added, &mut self.removed, &mut self.rescoped, &mut self.kept, &mut self.repeated]
        {
            list.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        }
    }
}
