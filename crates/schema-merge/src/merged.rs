//! The outcome of a merge: [`Merged`], which remembers who contributed what.
//!
//! `merger.rs` makes it and lints it. This file merges nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fragment::Fragment;
use crate::path::SchemaPath;

/// One structural schema, and where its parts come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    pub(crate) schema: Value,
    /// Origins by JSON pointer; a pointer that is not listed belongs to its nearest listed parent.
    pub(crate) origins: BTreeMap<String, BTreeSet<String>>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) status_subresource: bool,
}

impl Merged {
    /// Returns the schema, ready to be a version's `schema.openAPIV3Schema`. Its keys are sorted.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the schema, without the record of its contributors.
    #[must_use]
    pub fn into_schema(self) -> Value {
        self.schema
    }

    /// Returns the fragments that the schema was built from, in the order of origins.
    #[must_use]
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// Returns the origins of the fragments that contributed a place; empty for what the merger itself added.
    ///
    /// `place` is a JSON pointer into the schema (`/properties/spec`), a path as the API server prints it
    /// (`spec.validation.openAPIV3Schema.properties[spec].type`) or a whole error message that starts with one.
    #[must_use]
    pub fn blame(&self, place: &str) -> Vec<&str> {
        let pointer = if place.is_empty() || place.starts_with('/') {
            place.to_owned()
        } else {
            locate(&self.schema, place).pointer()
        };
        self.blame_pointer(&pointer)
    }

    fn blame_pointer(&self, pointer: &str) -> Vec<&str> {
        let mut rest = pointer;
        loop {
            if let Some(origins) = self.origins.get(rest) {
                return origins.iter().map(String::as_str).collect();
            }
            match rest.rsplit_once('/') {
                Some((parent, _)) => rest = parent,
                None => return Vec::new(),
            }
        }
    }
}

/// Finds a server path in the schema. Keys are printed raw, so a name that holds `]` or `.` can only be told from
/// the rest by looking which properties there are.
fn locate(schema: &Value, place: &str) -> SchemaPath {
    let mut path = SchemaPath::root();
    let mut rest = place.split_once("openAPIV3Schema").map_or(place, |(_, rest)| rest);
    let mut node = schema;
    loop {
        let Some((step, value, remaining)) = next_step(node, rest) else {
            return path;
        };
        match step {
            Found::Child(name) => path.push_child(name),
            Found::Key(name) => path.push_key(&name),
            Found::Index(at) => path.push_index(at),
        }
        (node, rest) = (value, remaining);
    }
}

enum Found {
    Child(String),
    Key(String),
    Index(usize),
}

/// The longest step that `node` has and that the text goes on with.
fn next_step<'v, 't>(node: &'v Value, text: &'t str) -> Option<(Found, &'v Value, &'t str)> {
    match node {
        Value::Object(map) => {
            let fits = |(name, value): (&'v String, &'v Value)| {
                let (found, rest) = if let Some(rest) = text.strip_prefix('.') {
                    (Found::Child(name.clone()), rest.strip_prefix(name.as_str())?)
                } else {
                    (
                        Found::Key(name.clone()),
                        text.strip_prefix('[')?.strip_prefix(name.as_str())?.strip_prefix(']')?,
                    )
                };
                let ends = rest.is_empty() || rest.starts_with(['.', '[', ':']);
                ends.then_some((name.len(), found, value, rest))
            };
            map.iter()
                .filter_map(fits)
                .max_by_key(|step| step.0)
                .map(|(_, found, value, rest)| (found, value, rest))
        }
        Value::Array(list) => {
            let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
            let index: usize = index.parse().ok()?;
            Some((Found::Index(index), list.get(index)?, rest))
        }
        _ => None,
    }
}
