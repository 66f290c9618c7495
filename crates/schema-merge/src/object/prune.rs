//! Drops the fields a schema does not know, as the API server does before it stores an object.
//!
//! `additionalProperties: true` keeps the keys and nothing below them; preserving stops at nodes that declare
//! properties. Both are the server's doing.

use serde_json::Value;

use crate::decode::decode;
use crate::keyword::{EMBEDDED, PRESERVE};
use crate::merger::flag;
use crate::node::{Additional, Node};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// An object without its unknown fields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pruned {
    /// The remaining object.
    pub object: Value,
    /// The fields that were dropped, as the server lists them: `spec.a[0].b`, sorted.
    pub unknown_fields: Vec<String>,
}

/// Drops what `schema`, the schema of a whole resource, does not know. A null stays what it is.
///
/// ```
/// use schema_merge::pruned;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": true}}});
/// let pruned = pruned(&schema, &json!({"kind": "Foo", "spec": {"a": {"b": 1}}}));
/// assert_eq!(pruned.object, json!({"kind": "Foo", "spec": {"a": {}}}));
/// assert_eq!(pruned.unknown_fields, ["spec.a.b"]);
/// ```
#[must_use]
pub fn pruned(schema: &Value, object: &Value) -> Pruned {
    let (node, _) = decode(schema, "", "");
    let mut object = object.clone();
    let unknown_fields = prune(&node, &mut object, true);
    Pruned { object, unknown_fields }
}

/// Drops what the schema does not know and says what it was. The root of a resource keeps its metadata.
pub(crate) fn prune(node: &Node<'_>, value: &mut Value, resource_root: bool) -> Vec<String> {
    let mut pruner = Pruner { path: String::new(), unknown: Vec::new() };
    pruner.prune(Some(node), resource_root, value);
    pruner.unknown.sort_unstable();
    pruner.unknown
}

struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    fn prune(&mut self, node: Option<&Node<'_>>, resource_root: bool, value: &mut Value) {
        let preserve = node.is_some_and(|node| node.flag(PRESERVE));
        let resource = resource_root || node.is_some_and(|node| node.flag(EMBEDDED));
        match value {
            Value::Object(map) => map.retain(|name, value| {
                if resource && META.contains(&name.as_str()) {
                    return true;
                }
                let known = node.map_or(Known::Unknown, |node| known(node, name));
                match known {
                    Known::Node(below) => self.below(name, |pruner| pruner.prune(below, false, value)),
                    Known::Unknown if preserve => {}
                    Known::Unknown => {
                        if !META.contains(&name.as_str()) || !self.path.is_empty() {
                            let path = self.below(name, |pruner| pruner.path.clone());
                            self.unknown.push(path);
                        }
                        return false;
                    }
                }
                true
            }),
            Value::Array(list) => {
                let item = node.and_then(Node::item);
                for (index, value) in list.iter_mut().enumerate() {
                    let length = self.path.len();
                    self.path.push_str(&format!("[{index}]"));
                    if preserve {
                        self.skip(item, value);
                    } else {
                        self.prune(item, false, value);
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Below a preserving list everything stays, except where properties are declared.
    fn skip(&mut self, node: Option<&Node<'_>>, value: &mut Value) {
        let Some(node) = node else { return };
        match value {
            Value::Object(map) => {
                let resource = node.flag(EMBEDDED);
                for (name, value) in
                    map.iter_mut().filter(|(name, _)| !resource || !META.contains(&name.as_str()))
                {
                    if let Known::Node(below) = known(node, name) {
                        self.below(name, |pruner| pruner.prune(below, false, value));
                    }
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter_mut().enumerate() {
                    let length = self.path.len();
                    self.path.push_str(&format!("[{index}]"));
                    self.skip(node.item(), value);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn below<T>(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
        let outcome = visit(self);
        self.path.truncate(length);
        outcome
    }
}

enum Known<'n, 'a> {
    /// Declared, by this schema; `None` when the map has none (`additionalProperties: true`).
    Node(Option<&'n Node<'a>>),
    Unknown,
}

fn known<'n, 'a>(node: &'n Node<'a>, name: &str) -> Known<'n, 'a> {
    match (node.properties.get(name), &node.additional_properties) {
        (Some(property), _) => Known::Node(Some(property)),
        (None, Some(Additional::Schema(schema))) => Known::Node(Some(schema)),
        (None, Some(Additional::Bool(_))) => Known::Node(None),
        (None, None) => Known::Unknown,
    }
}

/// Drops the nulls that are neither allowed nor replaced by a default.
pub(super) fn drop_nulls(node: &Node<'_>, value: &mut Value) {
    let doomed = |node: &Node<'_>| !flag(node.raw, "nullable") && node.default_value().is_none();
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(below) = node.properties.get(name.as_str()).or(node.additional()) else {
                return true;
            };
            if value.is_null() {
                return !doomed(below);
            }
            drop_nulls(below, value);
            true
        }),
        Value::Array(list) => {
            if let Some(item) = node.item() {
                list.iter_mut().for_each(|value| drop_nulls(item, value));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A server refuses such an object once it is pruned, so no recording shows this.
    #[test]
    fn what_a_closed_map_forbids_is_kept_and_pruned_inside() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": false}}});
        let object = json!({"apiVersion": "a/v1", "kind": "Foo", "spec": {"a": {"b": 1}}});
        let pruned = pruned(&schema, &object);
        assert_eq!(pruned.object, json!({"apiVersion": "a/v1", "kind": "Foo", "spec": {"a": {}}}));
        assert_eq!(pruned.unknown_fields, ["spec.a.b"]);
        assert_eq!(crate::defaulted(&schema, &object), object);
    }
}
