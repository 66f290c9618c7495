//! An index over one equation: from a value that objects hold to the objects that hold it.

use std::convert::Infallible;
use std::sync::Arc;

use rego_compat::{Segment, Value as RegoValue, values_at};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use super::Path;
use super::object::Stored;
use super::resource_tree::{Reach, ResourceTree, covers};
use super::term::Term;

/// The objects that are indexed, and the values that they are indexed by. Neither path holds keys from an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JoinKey {
    /// The path that is read, below `data.inventory`.
    pub(super) path: Vec<Segment>,
    /// The term that is compared, below that.
    pub(super) below: Term,
}

/// The places of objects by the values there. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(super) struct JoinIndex {
    by_value: RedBlackTreeMapSync<RegoValue, RedBlackTreeSetSync<Path>>,
    /// Objects below what is read: that is a whole level, of which no part can be left out. And those of which it is not known
    /// what is compared.
    always: RedBlackTreeSetSync<Path>,
}

impl JoinKey {
    /// Returns true if an object at that place is read.
    pub(super) fn covers(&self, path: &[Arc<str>]) -> bool {
        covers(&self.path, path)
    }

    /// Returns the values of an object that are compared; `None` when the object is only a part of what is compared, or it
    /// is not known.
    pub(super) fn values(&self, path: &Path, object: &Stored) -> Option<Vec<RegoValue>> {
        let inside = self.path.get(path.len()..)?;
        // An object that cannot be read may hold any value: it has to be shown, which is an error, whatever is looked for.
        let value = object.fresh().ok()?;
        let read = values_at(inside, &value, &RegoValue::Null).into_iter();
        let found: Option<Vec<_>> = read.map(|value| self.below.values(value, &RegoValue::Null)).collect();
        Some(found?.concat())
    }
}

impl JoinIndex {
    /// Builds the index over the objects that are already there; parses all of them.
    pub(super) fn of(key: &JoinKey, root: &ResourceTree) -> Self {
        let mut index = Self::default();
        let reach: Vec<_> = key.path.iter().map(Reach::widest).collect();
        let mut visit = |path: &[Arc<str>], tree: &ResourceTree| {
            tree.objects(&mut path.to_vec(), &mut |path, object| index.put(key, &path.into(), object));
            Ok::<_, Infallible>(())
        };
        let Ok(()) = root.reach(&reach, &mut Vec::new(), &mut visit);
        index
    }

    pub(super) fn put(&mut self, key: &JoinKey, path: &Path, object: &Stored) {
        let Some(values) = key.values(path, object) else {
            self.always.insert_mut(path.clone());
            return;
        };
        for value in values {
            if let Some(places) = self.by_value.get_mut(&value) {
                places.insert_mut(path.clone());
            } else {
                let places = RedBlackTreeSetSync::new_sync().insert(path.clone());
                self.by_value.insert_mut(value, places);
            }
        }
    }

    /// Removes the object, under whatever values it was put: a place that stayed behind would be an error in each review that
    /// finds it.
    pub(super) fn remove(&mut self, key: &JoinKey, path: &Path, object: &Stored) {
        // What is in there is under no value.
        if self.always.remove_mut(path) {
            return;
        }
        let values =
            key.values(path, object).filter(|values| values.iter().all(|value| self.holds(value, path)));
        for value in values.unwrap_or_else(|| self.values_of(path)) {
            let Some(places) = self.by_value.get_mut(&value) else {
                continue;
            };
            places.remove_mut(path);
            // Otherwise the index would keep each value that an object ever had.
            if places.is_empty() {
                self.by_value.remove_mut(&value);
            }
        }
    }

    fn holds(&self, value: &RegoValue, path: &Path) -> bool {
        self.by_value.get(value).is_some_and(|places| places.contains(path))
    }

    /// Returns the values that an object is found by. Looks at every value of the index.
    fn values_of(&self, path: &Path) -> Vec<RegoValue> {
        let held = self.by_value.iter().filter(|(_, places)| places.contains(path));
        held.map(|(value, _)| value.clone()).collect()
    }

    /// Returns the places of the objects that hold any of the values; some may come twice.
    pub(super) fn places(&self, values: &[RegoValue]) -> Vec<&Path> {
        let held =
            values.iter().filter_map(|value| self.by_value.get(value)).flat_map(|places| places.iter());
        self.always.iter().chain(held).collect()
    }
}
