//! The resource versions of parents that need no decision. A watch of the parents also delivers this process's own writes.
//!
//! Example: the write of a status makes version 7 of the parent. The watch delivers version 7 before or after the answer to the
//! write: either way there is nothing to decide. Version 8 is another client's.

use std::collections::BTreeMap;

use crate::parent::ParentRef;

#[derive(Debug, Default)]
pub(crate) struct Echoes {
    /// The version of each parent that was written or read for the last decision.
    decided: BTreeMap<ParentRef, String>,
    /// Versions that arrived while a decision was under way, which may be the one that it writes.
    early: BTreeMap<ParentRef, String>,
}

impl Echoes {
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

    fn told(echoes: &mut Echoes, version: &str, is_busy: bool) -> bool {
        echoes.is_new(&ParentRef::new("g", "K", "p"), Some(version.to_owned()), is_busy)
    }

    fn settled(echoes: &mut Echoes, version: Option<&str>) -> bool {
        echoes.settled(&ParentRef::new("g", "K", "p"), version.map(str::to_owned))
    }

    #[test]
    fn the_version_that_was_written_is_not_decided_about_whenever_it_is_told() {
        let mut echoes = Echoes::default();
        assert!(told(&mut echoes, "6", false));
        assert!(!told(&mut echoes, "7", true) && !settled(&mut echoes, Some("7")), "before the answer");
        assert!(!told(&mut echoes, "7", false), "after it");
        assert!(told(&mut echoes, "8", false), "another client's");
        assert!(
            !told(&mut echoes, "8", true) && settled(&mut echoes, Some("9")),
            "between the write and its answer"
        );
        assert!(!told(&mut echoes, "10", true) && settled(&mut echoes, None), "the write failed");
        assert!(told(&mut echoes, "9", false) && !settled(&mut echoes, None));
        assert!(echoes.is_new(&ParentRef::new("g", "K", "p"), None, true), "a change without a version");
    }
}
