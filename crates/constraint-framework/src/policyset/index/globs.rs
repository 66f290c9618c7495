//! Finds the globs that match a text without trying each.

use std::collections::{BTreeMap, HashMap};

use crate::target::Glob;

use super::{Entry, references};

/// Entries by glob.
#[derive(Debug)]
pub(super) struct Globs<C> {
    exact: HashMap<String, Vec<Entry<C>>>,
    /// By length, so that only starts of such lengths are looked up.
    prefixes: BTreeMap<usize, HashMap<String, Vec<Entry<C>>>>,
    suffixes: BTreeMap<usize, HashMap<String, Vec<Entry<C>>>>,
    contained: Vec<(String, Entry<C>)>,
}

impl<C> Default for Globs<C> {
    fn default() -> Self {
        let (prefixes, suffixes) = (BTreeMap::new(), BTreeMap::new());
        Self { exact: HashMap::new(), prefixes, suffixes, contained: Vec::new() }
    }
}

impl<C: Clone> Globs<C> {
    pub(super) fn insert(&mut self, entry: &Entry<C>, glob: &Glob) {
        let entry = entry.clone();
        let ends = match glob {
            Glob::Exact(text) => return self.exact.entry(text.clone()).or_default().push(entry),
            Glob::Contains(text) => return self.contained.push((text.clone(), entry)),
            Glob::Prefix(_) => &mut self.prefixes,
            Glob::Suffix(_) => &mut self.suffixes,
        };
        let (Glob::Prefix(text) | Glob::Suffix(text) | Glob::Exact(text) | Glob::Contains(text)) = glob;
        ends.entry(text.len()).or_default().entry(text.clone()).or_default().push(entry);
    }

    /// Adds the entries of the globs that match.
    pub(super) fn find<'i>(&'i self, text: &str, found: &mut Vec<Entry<&'i C>>) {
        found.extend(self.exact.get(text).into_iter().flat_map(references));
        for (length, globs) in &self.prefixes {
            let entries = text.get(..*length).and_then(|start| globs.get(start));
            found.extend(entries.into_iter().flat_map(references));
        }
        for (length, globs) in &self.suffixes {
            let start = text.len().checked_sub(*length);
            let entries = start.and_then(|start| text.get(start..)).and_then(|end| globs.get(end));
            found.extend(entries.into_iter().flat_map(references));
        }
        let contained = self.contained.iter().filter(|(part, _)| text.contains(part.as_str()));
        found.extend(references(contained.map(|(_, entry)| entry)));
    }

    /// Adds every entry.
    pub(super) fn all<'i>(&'i self, found: &mut Vec<Entry<&'i C>>) {
        let ends = self.prefixes.values().chain(self.suffixes.values()).flat_map(HashMap::values);
        found.extend(self.exact.values().chain(ends).flat_map(references));
        found.extend(references(self.contained.iter().map(|(_, entry)| entry)));
    }
}
