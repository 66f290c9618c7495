//! Finds the globs that match a text without trying each.

use std::collections::{BTreeMap, HashMap};

use crate::target::Glob;

/// Positions by glob.
#[derive(Debug, Default)]
pub(super) struct Globs {
    exact: HashMap<String, Vec<usize>>,
    /// By length, so that only starts of such lengths are looked up.
    prefixes: BTreeMap<usize, HashMap<String, Vec<usize>>>,
    suffixes: BTreeMap<usize, HashMap<String, Vec<usize>>>,
    contained: Vec<(String, usize)>,
}

impl Globs {
    pub(super) fn insert(&mut self, position: usize, glob: &Glob) {
        let ends = match glob {
            Glob::Exact(text) => return self.exact.entry(text.clone()).or_default().push(position),
            Glob::Contains(text) => return self.contained.push((text.clone(), position)),
            Glob::Prefix(_) => &mut self.prefixes,
            Glob::Suffix(_) => &mut self.suffixes,
        };
        let (Glob::Prefix(text) | Glob::Suffix(text) | Glob::Exact(text) | Glob::Contains(text)) = glob;
        ends.entry(text.len()).or_default().entry(text.clone()).or_default().push(position);
    }

    /// Adds the positions of the globs that match.
    pub(super) fn find(&self, text: &str, found: &mut Vec<usize>) {
        found.extend(self.exact.get(text).into_iter().flatten());
        for (length, globs) in &self.prefixes {
            let positions = text.get(..*length).and_then(|start| globs.get(start));
            found.extend(positions.into_iter().flatten());
        }
        for (length, globs) in &self.suffixes {
            let start = text.len().checked_sub(*length);
            let positions = start.and_then(|start| text.get(start..)).and_then(|end| globs.get(end));
            found.extend(positions.into_iter().flatten());
        }
        let contained = self.contained.iter().filter(|(part, _)| text.contains(part.as_str()));
        found.extend(contained.map(|(_, position)| position));
    }

    /// Adds every position.
    pub(super) fn all(&self, found: &mut Vec<usize>) {
        let ends = self.prefixes.values().chain(self.suffixes.values()).flat_map(HashMap::values);
        found.extend(self.exact.values().chain(ends).flatten());
        found.extend(self.contained.iter().map(|(_, position)| position));
    }
}
