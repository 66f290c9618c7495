//! The persistent tree of objects: a level per path segment, shared between snapshots.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rego_compat::{Segment, Value as RegoValue};
use rpds::RedBlackTreeMapSync;

use super::object::{Stored, UnreadableObjectError};
use super::part::Parts;

/// A level of the tree. Cloning shares what is below.
#[derive(Debug, Default)]
pub(super) struct ResourceTree {
    below: RedBlackTreeMapSync<Arc<str>, Arc<ResourceTree>>,
    object: Option<Arc<Stored>>,
    /// Everything here and below as a value, for readers of whole levels. An error has its path from here.
    // In a box, the error does not make every level of every path larger.
    value: OnceLock<Result<RegoValue, Box<UnreadableObjectError>>>,
}

/// The keys that one step down takes.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    /// These keys.
    Keys(Vec<String>),
    /// Every key.
    Any,
}

/// A callback for each place that a path reaches, in order of the paths, until one fails.
pub(super) type Visit<'v, E> = &'v mut dyn FnMut(&[Arc<str>], &ResourceTree) -> Result<(), E>;

/// A callback for each object, in order of the paths.
pub(super) type VisitObject<'v> = &'v mut dyn FnMut(&[Arc<str>], &Arc<Stored>);

/// A callback for each place where two trees differ: with the object before, and after.
pub(super) type VisitDifference<'v> =
    &'v mut dyn FnMut(&[Arc<str>], Option<&Arc<Stored>>, Option<&Arc<Stored>>);

impl Clone for ResourceTree {
    /// Clones a level without its value: levels are cloned in order to be changed.
    fn clone(&self) -> Self {
        Self { below: self.below.clone(), object: self.object.clone(), value: OnceLock::new() }
    }
}

impl ResourceTree {
    /// Puts an object and gives back the one that was there.
    pub(super) fn put(&mut self, path: &[Arc<str>], object: Arc<Stored>) -> Option<Arc<Stored>> {
        // Each level on the way holds a change now; those beside it keep their values.
        self.value.take();
        let Some((head, rest)) = path.split_first() else {
            return self.object.replace(object);
        };
        if let Some(tree) = self.below.get_mut(head) {
            return Arc::make_mut(tree).put(rest, object);
        }
        let mut tree = Self::default();
        tree.put(rest, object);
        self.below.insert_mut(head.clone(), Arc::new(tree));
        None
    }

    /// Takes an object out, and with it the levels that hold nothing else.
    pub(super) fn remove(&mut self, path: &[Arc<str>]) -> Option<Arc<Stored>> {
        // `take` copies the levels that it shares with a snapshot: not for an object that is not there.
        self.at(path.iter().map(|segment| &**segment))?.object.as_ref()?;
        self.take(path)
    }

    fn take(&mut self, path: &[Arc<str>]) -> Option<Arc<Stored>> {
        self.value.take();
        let Some((head, rest)) = path.split_first() else {
            return self.object.take();
        };
        let tree = Arc::make_mut(self.below.get_mut(head)?);
        let taken = tree.take(rest);
        if tree.object.is_none() && tree.below.is_empty() {
            self.below.remove_mut(head);
        }
        taken
    }

    fn at<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |tree, segment| tree.below.get(segment).map(|below| &**below))
    }

    /// Returns the object at a path; `None` if there is none, or something lies below it.
    pub(super) fn object<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Arc<Stored>> {
        self.visible(path).flatten()
    }

    /// Returns the object at a path as policies see it: `Some(None)` if an object below it hides it, and `None` if there is none.
    pub(super) fn visible<'p>(
        &self,
        path: impl IntoIterator<Item = &'p str>,
    ) -> Option<Option<&Arc<Stored>>> {
        let tree = self.at(path)?;
        let object = tree.object.as_ref()?;
        Some(tree.below.is_empty().then_some(object))
    }

    /// Visits the places that a path reaches. An object that lies higher than the path goes on is such a place.
    pub(super) fn reach<E>(
        &self,
        path: &[Reach],
        at: &mut Vec<Arc<str>>,
        visit: Visit<'_, E>,
    ) -> Result<(), E> {
        let Some((step, rest)) = path.split_first() else {
            return visit(at, self);
        };
        if self.below.is_empty() {
            return if self.object.is_some() { visit(at, self) } else { Ok(()) };
        }
        let descend = |(key, tree): (&Arc<str>, &Arc<Self>)| {
            at.push(key.clone());
            let visited = tree.reach(rest, at, visit);
            at.pop();
            visited
        };
        match step {
            Reach::Any => self.below.iter().try_for_each(descend),
            Reach::Keys(keys) => {
                // From the keys to the level: a policy names one namespace, and the level holds thousands.
                keys.iter().filter_map(|key| self.below.get_key_value(key.as_str())).try_for_each(descend)
            }
        }
    }

    /// Puts what a path reaches into `parts`.
    pub(super) fn gather(&self, path: &[Reach], parts: &mut Parts) -> Result<(), UnreadableObjectError> {
        let mut visit = |at: &[Arc<str>], tree: &Self| {
            parts.put(at, tree.value().map_err(|error| error.below(at))?);
            Ok(())
        };
        self.reach(path, &mut Vec::new(), &mut visit)
    }

    /// Visits every object here and below.
    pub(super) fn objects(&self, at: &mut Vec<Arc<str>>, visit: VisitObject<'_>) {
        if let Some(object) = &self.object {
            visit(at, object);
        }
        for (key, tree) in self.below.iter() {
            at.push(key.clone());
            tree.objects(at, visit);
            at.pop();
        }
    }

    /// Visits every place where this level and an older one differ, with the object before and after. What both share is
    /// not looked into, so that the cost is that of the levels on the way.
    pub(super) fn differences(&self, older: &Self, at: &mut Vec<Arc<str>>, visit: VisitDifference<'_>) {
        // Snapshots share the objects that did not change: no text needs to be compared for those.
        let same = match (&self.object, &older.object) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (new, old) => new.is_none() && old.is_none(),
        };
        if !same {
            visit(at, older.object.as_ref(), self.object.as_ref());
        }
        let nothing = Self::default();
        for (key, tree) in self.below.iter() {
            let before = older.below.get(key);
            if !before.is_some_and(|before| Arc::ptr_eq(before, tree)) {
                at.push(key.clone());
                tree.differences(before.map_or(&nothing, |before| before), at, visit);
                at.pop();
            }
        }
        for (key, gone) in older.below.iter().filter(|(key, _)| !self.below.contains_key(*key)) {
            at.push(key.clone());
            nothing.differences(gone, at, visit);
            at.pop();
        }
    }

    /// Returns everything here and below, kept until something there changes. An error has its path from here.
    pub(super) fn value(&self) -> Result<RegoValue, UnreadableObjectError> {
        if let (Some(object), true) = (&self.object, self.below.is_empty()) {
            return object.kept().cloned().map_err(|_| UnreadableObjectError::new(&[]));
        }
        let branch = |(key, tree): (&Arc<str>, &Arc<Self>)| {
            let value = tree.value().map_err(|error| error.below(std::slice::from_ref(key)))?;
            Ok((RegoValue::from(&**key), value))
        };
        let build = || {
            let branches: Result<BTreeMap<_, _>, _> = self.below.iter().map(branch).collect();
            branches.map(RegoValue::from).map_err(Box::new)
        };
        self.value.get_or_init(build).clone().map_err(|error| *error)
    }
}

/// Returns true if a path without input can lead to an object, or through it.
pub(super) fn covers(path: &[Segment], object: &[Arc<str>]) -> bool {
    path.iter().zip(object).all(|(segment, at)| match segment {
        Segment::Key(name) => **name == **at,
        Segment::Any | Segment::Input(_) => true,
    })
}
