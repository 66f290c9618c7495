//! References: inlined while they are finite.

use serde_json::{Map, Value};

use super::{StructuralizeErrorKind, Walk, variant};
use crate::keyword::ANNOTATIONS;
use crate::path::SchemaPath;

impl<'s> Walk<'s> {
    /// Inlines a reference. Keywords beside it hold as well; among descriptions the nearer one wins.
    pub(super) fn reference(
        &mut self,
        reference: &str,
        beside: &'s Map<String, Value>,
        at: &mut SchemaPath,
    ) -> Map<String, Value> {
        if self.following.iter().any(|name| name == reference) {
            self.error(at, StructuralizeErrorKind::Recursive(name_of(reference)));
            return Map::new();
        }
        let Some(target) = self.resolve(reference) else {
            self.error(at, StructuralizeErrorKind::Unresolved(reference.to_owned()));
            return Map::new();
        };
        self.following.push(reference.to_owned());
        let mut node = self.node(target, at);
        self.following.pop();
        let mut rest = self.keywords(beside, at);
        self.unions(beside, &mut rest, at);
        let nearer: Vec<String> = rest
            .keys()
            .filter(|keyword| {
                ANNOTATIONS.contains(&keyword.as_str()) || matches!(keyword.as_str(), "default" | "nullable")
            })
            .cloned()
            .collect();
        for keyword in nearer {
            if let Some(value) = rest.remove(&keyword) {
                node.insert(keyword, value);
            }
        }
        if let Err(name) = variant::absorb(&mut node, rest) {
            self.error(at, StructuralizeErrorKind::Collision(name));
        }
        self.without_null(&mut node, at);
        node
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#')?;
        let decoded = pointer.replace("%25", "%").replace("%20", " ").replace("%3C", "<").replace("%3E", ">");
        self.root.pointer(&decoded)
    }
}

fn name_of(reference: &str) -> String {
    match reference.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => "the root".to_owned(),
    }
}
