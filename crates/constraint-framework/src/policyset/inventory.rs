//! Referential data: the objects that policies may read below `data.inventory`.
//!
//! The tree is built on the first review that needs it after a change, from documents that are parsed once each.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rego_compat::Value as RegoValue;

use crate::review::Document;

/// An immutable snapshot of the objects. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    objects: Arc<BTreeMap<Vec<String>, Document>>,
    rego: Arc<OnceLock<RegoValue>>,
}

impl Inventory {
    /// The next snapshot, with `object` at `path`.
    pub(super) fn put(&mut self, path: Vec<String>, object: Document) {
        Arc::make_mut(&mut self.objects).insert(path, object);
        self.rego = Arc::default();
    }

    /// The next snapshot, without the object at `path`.
    pub(super) fn remove(&mut self, path: &[String]) {
        if self.objects.contains_key(path) {
            Arc::make_mut(&mut self.objects).remove(path);
            self.rego = Arc::default();
        }
    }

    /// The object at `path`.
    pub fn get(&self, path: &[String]) -> Option<&Document> {
        self.objects.get(path)
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// `data.inventory`, built on the first call.
    pub fn rego(&self) -> &RegoValue {
        self.rego.get_or_init(|| {
            let entries: Vec<_> =
                self.objects.iter().map(|(path, object)| (path.as_slice(), object)).collect();
            subtree(&entries)
        })
    }
}

/// The tree over sorted paths: entries that share their first segment become one branch.
fn subtree(entries: &[(&[String], &Document)]) -> RegoValue {
    let mut branches = BTreeMap::new();
    for group in entries.chunk_by(|(a, _), (b, _)| a.first() == b.first()) {
        let Some(((segment, _), (_, object))) =
            group.first().and_then(|entry| Some((entry.0.split_first()?, *entry)))
        else {
            continue;
        };
        let below: Vec<_> =
            group.iter().filter_map(|(path, object)| Some((path.split_first()?.1, *object))).collect();
        let is_leaf = below.iter().all(|(path, _)| path.is_empty());
        let value = if is_leaf { object.rego().clone() } else { subtree(&below) };
        branches.insert(RegoValue::from(segment.as_str()), value);
    }
    RegoValue::from(branches)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn path(segments: &[&str]) -> Vec<String> {
        segments.iter().map(|segment| (*segment).to_owned()).collect()
    }

    fn object(name: &str) -> Document {
        Document::from_value(&json!({"metadata": {"name": name}})).unwrap()
    }

    fn tree(inventory: &Inventory) -> Value {
        serde_json::to_value(inventory.rego()).unwrap()
    }

    #[test]
    fn objects_lie_where_policies_look_for_them() {
        let mut inventory = Inventory::default();
        inventory.put(path(&["namespace", "a", "v1", "Pod", "x"]), object("x"));
        inventory.put(path(&["namespace", "a", "v1", "Pod", "y"]), object("y"));
        inventory.put(path(&["cluster", "v1", "Namespace", "a"]), object("a"));
        let tree = tree(&inventory);
        assert_eq!(tree["namespace"]["a"]["v1"]["Pod"]["y"]["metadata"]["name"], "y");
        assert_eq!(tree["cluster"]["v1"]["Namespace"]["a"]["metadata"]["name"], "a");
    }

    #[test]
    fn a_removed_object_is_as_if_it_had_never_been() {
        let mut inventory = Inventory::default();
        inventory.put(path(&["cluster", "v1", "Namespace", "a"]), object("a"));
        let before = tree(&inventory);
        inventory.put(path(&["cluster", "v1", "Namespace", "b"]), object("b"));
        let snapshot = inventory.clone();
        inventory.remove(&path(&["cluster", "v1", "Namespace", "b"]));
        assert_eq!(tree(&inventory), before);
        assert_eq!(snapshot.len(), 2);
        assert_eq!(tree(&Inventory::default()), json!({}));
    }
}
