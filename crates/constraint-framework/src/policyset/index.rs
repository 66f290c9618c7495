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
use crate::target::{Criterion, Glob, KindFilter, MatchCriteria};

use self::globs::Globs;

/// Constraints by group, kind and one further criterion. Each entry holds its constraint, so that none can lead nowhere.
#[derive(Debug)]
pub(super) struct Index<C> {
    all: Vec<C>,
    files: HashMap<KindFilter, File<C>>,
}

/// A constraint, or a reference to one, with its position, by which candidates are ordered.
type Entry<C> = (usize, C);

/// The constraints of one pair of group and kind.
#[derive(Debug)]
struct File<C> {
    every: Vec<Entry<C>>,
    names: Globs<C>,
    labels: HashMap<String, HashMap<String, Vec<Entry<C>>>>,
    namespaces: Globs<C>,
    excluded: HashMap<Vec<Glob>, Vec<Entry<C>>>,
}

impl<C> Default for Index<C> {
    fn default() -> Self {
        Self { all: Vec::new(), files: HashMap::new() }
    }
}

impl<C> Default for File<C> {
    fn default() -> Self {
        let (names, namespaces) = (Globs::default(), Globs::default());
        Self { every: Vec::new(), names, labels: HashMap::new(), namespaces, excluded: HashMap::new() }
    }
}

impl<C: Clone> Index<C> {
    /// Files a constraint behind those that were filed before.
    pub(super) fn push(&mut self, constraint: C, criteria: &MatchCriteria) {
        let position = self.all.len();
        for filter in &criteria.kinds {
            let file = self.files.entry(filter.clone()).or_default();
            file.insert(&(position, constraint.clone()), &criteria.criterion);
        }
        self.all.push(constraint);
    }

    /// Returns all constraints in the order in which they were filed.
    pub(super) fn all(&self) -> &[C] {
        &self.all
    }

    /// Returns the constraints that may match, each once, in the order in which they were filed.
    pub(super) fn candidates(&self, review: &Review) -> impl ExactSizeIterator<Item = &C> {
        self.found(review).into_iter().map(|(_, constraint)| constraint)
    }

    fn found(&self, review: &Review) -> Vec<Entry<&C>> {
        // Without an object nothing can be told apart: every constraint must say that it cannot decide.
        if review.objects().next().is_none() {
            return self.all.iter().enumerate().collect();
        }
        let mut candidates = Vec::new();
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
        candidates.sort_unstable_by_key(|(position, _)| *position);
        candidates.dedup_by_key(|(position, _)| *position);
        candidates
    }
}

impl<C: Clone> File<C> {
    fn insert(&mut self, entry: &Entry<C>, criterion: &Criterion) {
        match criterion {
            Criterion::None => self.every.push(entry.clone()),
            Criterion::Name(glob) => self.names.insert(entry, glob),
            Criterion::Label(labels) => {
                for (key, value) in labels {
                    let values = self.labels.entry(key.clone()).or_default();
                    values.entry(value.clone()).or_default().push(entry.clone());
                }
            }
            Criterion::Namespace(globs) => globs.iter().for_each(|glob| self.namespaces.insert(entry, glob)),
            Criterion::NotNamespace(globs) => {
                self.excluded.entry(globs.clone()).or_default().push(entry.clone())
            }
        }
    }

    fn find<'i>(&'i self, object: &Document, namespace: Option<&str>, found: &mut Vec<Entry<&'i C>>) {
        found.extend(references(&self.every));
        self.names.find(object.name(), found);
        if !object.generate_name().is_empty() {
            self.names.find(object.generate_name(), found);
        }
        if !self.labels.is_empty() {
            for (key, value) in object.labels() {
                let entries = self.labels.get(key).and_then(|values| values.get(value));
                found.extend(entries.into_iter().flat_map(references));
            }
        }
        // An object without a namespace passes every list of namespaces.
        match namespace {
            Some(namespace) => self.namespaces.find(namespace, found),
            None => self.namespaces.all(found),
        }
        for (globs, entries) in &self.excluded {
            if !namespace.is_some_and(|name| globs.iter().any(|glob| glob.matches(name))) {
                found.extend(references(entries));
            }
        }
    }
}

/// Borrows entries: a candidate is looked at without counting its references.
fn references<'i, C: 'i>(
    entries: impl IntoIterator<Item = &'i Entry<C>>,
) -> impl Iterator<Item = Entry<&'i C>> {
    entries.into_iter().map(|(position, constraint)| (*position, constraint))
}
