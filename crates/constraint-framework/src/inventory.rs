//! Referential data: the objects that policies may read below `data.inventory`.
//!
//! An [`Inventory`] is a persistent tree of objects kept as text: a snapshot costs nothing, a change costs its path.
//! A policy is shown a *reduced* inventory: the objects that its answer can depend on, found by index where
//! the policy compares them with its input. The module knows the places of objects; it reads no fields of them and evaluates
//! no policy.

mod dependents;
mod join;
mod object;
mod part;
mod reads;
mod resource_tree;
mod select;
mod term;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use rego_compat::Value as RegoValue;

use crate::review::Document;

use self::join::{JoinIndex, JoinKey};
use self::object::Stored;
use self::resource_tree::ResourceTree;
use self::view::View;

pub use dependents::{DependencyKey, Dependents};
pub use object::UnreadableObjectError;
pub use reads::Reads;

/// The place of an object: `namespace`, its namespace, its group and version, its kind, its name.
type Path = Arc<[Arc<str>]>;

/// An immutable snapshot of the objects. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    root: ResourceTree,
    count: usize,
    joins: BTreeMap<Arc<JoinKey>, JoinIndex>,
    views: Vec<View>,
}

impl Inventory {
    /// Puts `object` at `path`. Snapshots that were taken before do not change.
    pub(crate) fn put(&mut self, path: Vec<String>, object: &Document) {
        let path: Path = path.into_iter().map(Arc::from).collect();
        let stored = Arc::new(Stored::new(object.body().text()));
        let replaced = self.root.put(&path, stored.clone());
        // An object that is put again is one object.
        if replaced.is_none() {
            self.count = self.count.saturating_add(1);
        }
        self.reindex(&path, replaced.as_deref(), Some(&stored));
    }

    /// Removes the object at `path`. Snapshots that were taken before do not change.
    pub(crate) fn remove(&mut self, path: &[String]) {
        let path: Path = path.iter().map(|segment| Arc::from(segment.as_str())).collect();
        if let Some(removed) = self.root.remove(&path) {
            self.count = self.count.saturating_sub(1);
            self.reindex(&path, Some(&removed), None);
        }
    }

    /// Keeps the indexes and trees that these readers need, makes those that are missing, and drops all others.
    pub(crate) fn serve<'r>(&mut self, readers: impl Iterator<Item = &'r Reads> + Clone) {
        // What no policy reads any more would cost memory, and time at each change.
        self.views.retain(|view| readers.clone().any(|reads| view.serves(reads)));
        let mut joins = BTreeMap::new();
        for reads in readers {
            if !reads.whole().is_empty() && !self.views.iter().any(|view| view.serves(reads)) {
                self.views.push(View::new(reads.whole().clone()));
            }
            for key in reads.join_keys() {
                // Kept where there is one: making it parses every object of the kind.
                let kept = || self.joins.remove(key).unwrap_or_else(|| JoinIndex::of(key, &self.root));
                joins.entry(key.clone()).or_insert_with(kept);
            }
        }
        self.joins = joins;
    }

    /// Returns the object at `path`, read again from its text. `None` also when it is not a Kubernetes object.
    #[must_use]
    pub fn get(&self, path: &[String]) -> Option<Document> {
        let object = self.root.object(path.iter().map(String::as_str))?;
        Document::from_json_string(object.text().to_owned()).ok()
    }

    /// Returns the number of objects.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no objects.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns all of `data.inventory`. The tree is kept, and is several times the size of the objects' text.
    ///
    /// # Errors
    /// The first object that cannot be read, in order of the paths.
    pub fn whole(&self) -> Result<RegoValue, UnreadableObjectError> {
        self.root.value()
    }

    /// Returns everything that lies at the paths of a reader, whatever its input is; nothing of it is found by index.
    ///
    /// # Errors
    /// The first object there that cannot be read.
    pub fn read_by(&self, reads: &Reads) -> Result<RegoValue, UnreadableObjectError> {
        view::build(reads.paths(), &self.root)
    }

    /// Returns the part of `data.inventory` that a reader's answer on `input` can depend on.
    ///
    /// # Errors
    /// An object that the answer can depend on cannot be read.
    pub fn select(&self, reads: &Reads, input: &RegoValue) -> Result<RegoValue, UnreadableObjectError> {
        select::select(self, reads, input)
    }

    fn reindex(&mut self, path: &Path, before: Option<&Stored>, after: Option<&Stored>) {
        for view in &mut self.views {
            view.changed(path);
        }
        // The old object says under which values the index has it: nothing else remembers them.
        for (key, index) in self.joins.iter_mut().filter(|(key, _)| key.covers(path)) {
            if let Some(before) = before {
                index.remove(key, path, before);
            }
            if let Some(after) = after {
                index.put(key, path, after);
            }
        }
    }
}
