//! The prefixes of a document that a program reads, while it is scanned.

use std::collections::BTreeSet;

use super::Segment;

#[derive(Default)]
pub(super) struct Prefixes(BTreeSet<Vec<String>>);

impl Prefixes {
    /// Adds what is known of a path: `a` and `b` of `a.b[_].c`.
    pub(super) fn add(&mut self, path: &[Segment]) {
        let known = path.iter().map_while(|segment| match segment {
            Segment::Key(name) => Some(name.clone()),
            Segment::Any | Segment::Input(_) => None,
        });
        self.0.insert(known.collect());
    }

    /// Adds the whole document.
    pub(super) fn add_everything(&mut self) {
        self.0.insert(Vec::new());
    }

    /// Returns the prefixes without those below others.
    pub(super) fn into_shortest(self) -> Vec<Vec<String>> {
        let mut kept: Vec<Vec<String>> = Vec::new();
        for path in self.0 {
            if !kept.last().is_some_and(|prefix| path.starts_with(prefix)) {
                kept.push(path);
            }
        }
        kept
    }
}
