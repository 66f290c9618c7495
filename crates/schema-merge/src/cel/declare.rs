//! The declared type of a schema's values: what the API server's `SchemaDeclType` makes of it.

use std::collections::{BTreeSet, HashMap};

use cel_compat::TypeDeclaration;
use serde_json::Value;

use crate::keyword::{EMBEDDED, INT_OR_STRING};
use crate::node::Node;

/// The declarations made so far, by the address of the node: rules at every level of a deep schema declare what is
/// below them once.
#[derive(Debug, Default)]
pub(crate) struct Declared(HashMap<usize, Option<TypeDeclaration>>);

impl Declared {
    /// The declaration of a schema; `None` for what rules cannot see.
    ///
    /// Nodes must stay where they are as long as `self` is used, and be asked about in one way.
    pub(super) fn of(&mut self, node: &Node<'_>, is_resource: bool) -> Option<TypeDeclaration> {
        let address = std::ptr::from_ref(node).addr();
        if let Some(known) = self.0.get(&address) {
            return known.clone();
        }
        let declaration = self.declare(node, is_resource);
        self.0.insert(address, declaration.clone());
        declaration
    }

    fn declare(&mut self, node: &Node<'_>, is_resource: bool) -> Option<TypeDeclaration> {
        if node.flag(INT_OR_STRING) {
            return Some(TypeDeclaration::int_or_string(node.bound("maxLength")));
        }
        match node.kind() {
            "array" => {
                let item = node.item()?;
                Some(TypeDeclaration::list(self.of(item, item.flag(EMBEDDED))?, node.bound("maxItems")))
            }
            "object" => match node.additional() {
                Some(value) => {
                    let value = self.of(value, value.flag(EMBEDDED))?;
                    Some(TypeDeclaration::map(value, node.bound("maxProperties")))
                }
                None => Some(self.object(node, is_resource)),
            },
            "string" => Some(match node.string("format") {
                "byte" => TypeDeclaration::bytes(node.bound("maxLength")),
                "duration" => TypeDeclaration::duration(),
                "date" => TypeDeclaration::date(),
                "date-time" => TypeDeclaration::date_time(),
                _ => string(node, node.bound("maxLength")),
            }),
            "boolean" => Some(TypeDeclaration::boolean()),
            "number" => Some(TypeDeclaration::number()),
            "integer" => Some(TypeDeclaration::integer()),
            _ => None,
        }
    }

    fn object(&mut self, node: &Node<'_>, is_resource: bool) -> TypeDeclaration {
        let required: BTreeSet<&str> = node.strings("required").collect();
        let implied = is_resource && !declares_metadata(node);
        let mut properties = Vec::new();
        for (name, property) in &node.properties {
            if implied && IMPLIED.contains(name) {
                continue;
            }
            if let Some(declaration) = self.of(property, property.flag(EMBEDDED)) {
                let is_certain = required.contains(name) && property.default_value().is_none();
                properties.push((*name, declaration, is_certain));
            }
        }
        if implied {
            for name in IMPLIED {
                let declaration = if name == "metadata" { metadata() } else { TypeDeclaration::string(None) };
                properties.push((name, declaration, required.contains(name)));
            }
        }
        TypeDeclaration::object(properties)
    }
}

/// The fields that every resource has.
const IMPLIED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Of metadata rules see two names.
fn metadata() -> TypeDeclaration {
    let text = || TypeDeclaration::string(None);
    TypeDeclaration::object([("generateName", text(), false), ("name", text(), false)])
}

/// Returns true if a resource declares itself what every resource has.
fn declares_metadata(node: &Node<'_>) -> bool {
    let is = |node: &Node<'_>, name: &str, kind: &str| {
        node.properties.get(name).is_some_and(|property| property.kind() == kind)
    };
    let named =
        |metadata: &Node<'_>| is(metadata, "name", "string") && is(metadata, "generateName", "string");
    is(node, "kind", "string")
        && is(node, "apiVersion", "string")
        && is(node, "metadata", "object")
        && node.properties.get("metadata").is_some_and(named)
}

fn string(node: &Node<'_>, max_length: Option<u64>) -> TypeDeclaration {
    let values = node.list("enum");
    if max_length.is_some() || values.is_empty() {
        return TypeDeclaration::string(max_length);
    }
    let longest = values.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0);
    TypeDeclaration::one_of(u64::try_from(longest).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::cel::is_exposed;
    use crate::decode::decode;

    use super::*;

    /// Every kind of schema, around each of `inner`.
    fn around(inner: &[Value]) -> Vec<Value> {
        let kinds = ["", "string", "boolean", "number", "integer", "array", "object", "other"];
        let plain = kinds.iter().flat_map(|kind| {
            [json!({"type": kind}), json!({"type": kind, "x-kubernetes-int-or-string": true})]
        });
        let nested = inner.iter().flat_map(|inner| {
            [
                json!({"type": "array", "items": inner}),
                json!({"type": "object", "additionalProperties": inner}),
                json!({"type": "object", "properties": {"a": inner}}),
                json!({"items": inner, "additionalProperties": inner}),
            ]
        });
        plain.chain(nested).collect()
    }

    #[test]
    fn without_the_feature_rules_see_the_same_nodes() {
        for schema in around(&around(&around(&[]))) {
            let (node, _) = decode(&schema, "", "");
            let is_declared = Declared::default().of(&node, false).is_some();
            assert_eq!(is_exposed(&node), is_declared, "{schema}");
        }
    }
}
