//! The resource versions of parents that need no decision. A watch of the parents also delivers this process's own writes.
//!
//! Example: the write of a status makes version 7 of the parent. The watch delivers version 7 before or after the answer to the
//! write: either way there is nothing to decide. Version 8 is another client's.

use std::collections::BTreeMap;

use crate::parent::ParentRef;

/// The versions of parents that this process has written, and those that may be.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    /// The version of each parent that was written or read for the last decision.
    decided: BTreeMap<ParentRef, String>,
    /// Versions that arrived while a decision was under way, which may be the one that it writes.
    early: BTreeMap<ParentRef, String>,
}

impl OwnWrites {
    /// Returns true if this version of a parent is to be decided about now. If a decision is under way, [`Self::settled`] returns that later.
    pub(crate) fn is_new(&mut self, parent: &ParentRef, version: Option<String>, is_busy: bool) -> bool {
        match version {
            Some(version) if self.decided.get(parent) == Some(&version) => false,
            Some(version) if is_busy => {
                self.early.insert(parent.clone(), version);
                false
            }
            _ => true,
        }
    }

    /// Notes the end of a decision, which has left the parent at this version, if it is known. Returns true if another one
    /// arrived meanwhile.
    pub(crate) fn settled(&mut self, parent: &ParentRef, version: Option<String>) -> bool {
        let is_other = self.early.remove(parent).is_some_and(|early| Some(&early) != version.as_ref());
        match version {
            Some(version) => self.decided.insert(parent.clone(), version),
            None => self.decided.remove(parent),
        };
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(own_writes: &mut OwnWrites, version: &str, is_busy: bool) -> bool {
        own_writes.is_new(&ParentRef::new("g", "K", "p"), Some(version.to_owned()), is_busy)
    }

    fn settled(own_writes: &mut OwnWrites, version: Option<&str>) -> bool {
        own_writes.settled(&ParentRef::new("g", "K", "p"), version.map(str::to_owned))
    }

    #[test]
    fn the_version_that_was_written_is_not_decided_about_whenever_it_arrives() {
        let mut own_writes = OwnWrites::default();
        assert!(seen(&mut own_writes, "6", false));
        assert!(
            !seen(&mut own_writes, "7", true) && !settled(&mut own_writes, Some("7")),
            "before the answer"
        );
        assert!(!seen(&mut own_writes, "7", false), "after it");
        assert!(seen(&mut own_writes, "8", false), "another client's");
        assert!(
            !seen(&mut own_writes, "8", true) && settled(&mut own_writes, Some("9")),
            "between the write and its answer"
        );
        assert!(!seen(&mut own_writes, "10", true) && settled(&mut own_writes, None), "the write failed");
        assert!(seen(&mut own_writes, "9", false) && !settled(&mut own_writes, None));
        assert!(own_writes.is_new(&ParentRef::new("g", "K", "p"), None, true), "a change without a version");
    }
}
