//! The index of constraints by the reviews that they can match.
//!
//! A constraint is filed under each group and kind it names, and there under the most selective of its other
//! criteria. The index may name a constraint that does not match after all; it never leaves out one that does, nor
//! one whose match cannot be decided.

mod globs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::review::{Document, Review};
use crate::target::{Glob, KindFilter, Narrow, Route};

use self::globs::Globs;

/// Positions of constraints by group, kind and one further criterion.
#[derive(Debug, Default)]
pub(super) struct Index {
    files: HashMap<KindFilter, File>,
    count: usize,
}

/// The constraints of one pair of group and kind.
#[derive(Debug, Default)]
struct File {
    every: Vec<usize>,
    names: Globs,
    labels: HashMap<String, HashMap<String, Vec<usize>>>,
    namespaces: Globs,
    excluded: HashMap<Vec<Glob>, Vec<usize>>,
}

impl Index {
    /// Files the next constraint; positions count from 0.
    pub(super) fn push(&mut self, route: &Route) {
        let position = self.count;
        self.count = self.count.saturating_add(1);
        for filter in &route.kinds {
            self.files.entry(filter.clone()).or_default().insert(position, &route.narrow);
        }
    }

    /// Positions in ascending order, each once.
    pub(super) fn candidates(&self, review: &Review) -> Vec<usize> {
        let mut candidates = Vec::new();
        // Without an object nothing can be told apart: every constraint must say that it cannot decide.
        if review.objects().next().is_none() {
            return (0..self.count).collect();
        }
        for object in review.objects() {
            let namespace = review.namespace_of(object);
            for group in [None, Some(object.group().to_owned())] {
                for kind in [None, Some(object.kind().to_owned())] {
                    let filter = KindFilter { group: group.clone(), kind };
                    if let Some(file) = self.files.get(&filter) {
                        file.find(object, namespace, &mut candidates);
                    }
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

impl File {
    fn insert(&mut self, position: usize, narrow: &Narrow) {
        match narrow {
            Narrow::Nothing => self.every.push(position),
            Narrow::Name(glob) => self.names.insert(position, glob),
            Narrow::Label(labels) => {
                for (key, value) in labels {
                    let values = self.labels.entry(key.clone()).or_default();
                    values.entry(value.clone()).or_default().push(position);
                }
            }
            Narrow::Namespace(globs) => globs.iter().for_each(|glob| self.namespaces.insert(position, glob)),
            Narrow::NotNamespace(globs) => self.excluded.entry(globs.clone()).or_default().push(position),
        }
    }

    fn find(&self, object: &Document, namespace: Option<&str>, found: &mut Vec<usize>) {
        found.extend(&self.every);
        self.names.find(object.name(), found);
        if !object.generate_name().is_empty() {
            self.names.find(object.generate_name(), found);
        }
        if !self.labels.is_empty() {
            for (key, value) in object.labels() {
                let positions = self.labels.get(key).and_then(|values| values.get(value));
                found.extend(positions.into_iter().flatten());
            }
        }
        // An object without a namespace passes every list of namespaces.
        match namespace {
            Some(namespace) => self.namespaces.find(namespace, found),
            None => self.namespaces.all(found),
        }
        for (globs, positions) in &self.excluded {
            if !namespace.is_some_and(|name| globs.iter().any(|glob| glob.matches(name))) {
                found.extend(positions);
            }
        }
    }
}
