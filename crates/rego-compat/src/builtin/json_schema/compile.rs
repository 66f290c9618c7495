//! Schemas read, keyword by keyword in the library's order: the first error is reported.

mod combination;
mod limit;
mod structure;

use go_compat::url::Url;
use std::collections::HashMap;

use crate::meter::Meter;
use crate::value::{Object, Value};

use super::Error;
use super::node::{Draft, Node, NodeId, Schema};
use super::pool::Pool;

/// Bytes of a node.
const NODE_BYTES: usize = 1024;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "number", "null", "object", "string"];

/// The expectation where a schema stands.
const SCHEMA: &str = "Valid Schema";

/// Reads a schema whose sets and keys are JSON's.
pub(super) fn schema(document: &Value, meter: &Meter) -> Result<Schema, Error> {
    let (pool, document) = Pool::new(document, meter)?;
    let mut compiler = Compiler { pool, nodes: Vec::new(), references: HashMap::new(), meter };
    let root = compiler.schema(&document.value, document.draft.unwrap_or(Draft::Any))?;
    Ok(Schema { nodes: compiler.nodes, root })
}

struct Compiler<'a> {
    pool: Pool,
    nodes: Vec<Node>,
    references: HashMap<String, NodeId>,
    meter: &'a Meter,
}

/// One schema: its keywords, and the draft it is written in.
#[derive(Clone, Copy)]
struct Keywords<'a> {
    pairs: &'a Object,
    draft: Draft,
}

impl<'a> Keywords<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.pairs.get(&key.into())
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid_type("string", key)),
        }
    }

    fn list(&self, key: &str) -> Result<Option<&'a [Value]>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(must_be("an", key, "array")),
        }
    }
}

/// Returns the diagnostic of a keyword of the wrong type; the library names the keyword in the place of the type that was given.
fn invalid_type(expected: &str, given: &str) -> Error {
    Error::Schema(format!("Invalid type. Expected: {expected}, given: {given}"))
}

fn must_be(article: &str, key: &str, wanted: &str) -> Error {
    Error::Schema(format!("{key} must be of {article} {wanted}"))
}

fn must_be_of_type(key: &str, wanted: &str) -> Error {
    Error::Schema(format!("{key} must be of type {wanted}"))
}

impl Compiler<'_> {
    /// Adds a schema and all of its parts.
    fn schema(&mut self, document: &Value, draft: Draft) -> Result<NodeId, Error> {
        let id = self.reserve()?;
        self.schema_at(id, document, draft)?;
        Ok(id)
    }

    fn reserve(&mut self) -> Result<NodeId, Error> {
        self.meter.charge(NODE_BYTES)?;
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        Ok(id)
    }

    fn schema_at(&mut self, id: NodeId, document: &Value, draft: Draft) -> Result<(), Error> {
        self.meter.check_stack()?;
        let node = match document {
            Value::Bool(pass) if draft >= Draft::Six => Node { pass: Some(*pass), ..Node::default() },
            Value::Object(pairs) => self.node(Keywords { pairs, draft })?,
            _ => return Err(Error::Schema(format!("Expected: {SCHEMA}, given: Invalid JSON"))),
        };
        if let Some(place) = self.nodes.get_mut(id) {
            *place = node;
        }
        Ok(())
    }

    fn node(&mut self, keywords: Keywords<'_>) -> Result<Node, Error> {
        let mut node = Node::default();
        self.identity(keywords)?;
        if let Some(reference) = keywords.text("$ref")? {
            let (target, is_known) = self.reference(reference, keywords.draft)?;
            node.reference = Some(target);
            // A reference met again does not keep the library from reading on.
            if !is_known {
                return Ok(node);
            }
        }
        node.types = types(keywords)?;
        self.children(keywords, &mut node)?;
        self.limits(keywords, &mut node)?;
        self.combinations(keywords, &mut node)?;
        Ok(node)
    }

    fn identity(&mut self, keywords: Keywords<'_>) -> Result<(), Error> {
        let key = match keywords.draft {
            Draft::Four => "id",
            Draft::Any if keywords.get("id").is_some() => "id",
            _ => "$id",
        };
        if let Some(id) = keywords.text(key)? {
            Url::parse(id)?;
        }
        match keywords.get("definitions") {
            None => {}
            Some(Value::Object(definitions)) => {
                for definition in definitions.values() {
                    if !is_schema(definition) {
                        return Err(invalid_type("Array Of Schemas", "definitions"));
                    }
                    self.schema(definition, keywords.draft)?;
                }
            }
            Some(_) => return Err(invalid_type("Array Of Schemas", "definitions")),
        }
        keywords.text("title")?;
        keywords.text("description")?;
        Ok(())
    }

    /// Returns the schema that a reference leads to, and whether the reference was met before.
    fn reference(&mut self, text: &str, draft: Draft) -> Result<(NodeId, bool), Error> {
        let url = Url::parse(text)?;
        let name = url.to_string();
        if let Some(id) = self.references.get(&name) {
            return Ok((*id, true));
        }
        let id = self.reserve()?;
        self.references.insert(name, id);
        let document = self.pool.get(&url, self.meter)?;
        if !is_schema(&document.value) {
            return Err(must_be_of_type(SCHEMA, "object"));
        }
        self.schema_at(id, &document.value, document.draft.unwrap_or(draft))?;
        Ok((id, false))
    }

    /// Returns the schemas of a list, under a keyword that combines them.
    fn all(&mut self, schemas: &[Value], draft: Draft) -> Result<Vec<NodeId>, Error> {
        schemas.iter().map(|schema| self.schema(schema, draft)).collect()
    }
}

const fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Object(_))
}

fn types(keywords: Keywords<'_>) -> Result<Vec<&'static str>, Error> {
    let one = std::slice::from_ref;
    let names = match keywords.get("type") {
        None => return Ok(Vec::new()),
        Some(Value::Array(names)) => &***names,
        Some(name) => one(name),
    };
    let mut types: Vec<&'static str> = Vec::new();
    for name in names {
        let Value::String(name) = name else {
            return Err(invalid_type("type", "string/Array Of Strings"));
        };
        let known = TYPES.into_iter().find(|known| **known == **name).ok_or_else(|| {
            let known = TYPES.join(" ");
            format!("has a primitive type that is NOT VALID -- given: /{name}/ Expected valid values are:[{known}]")
        })?;
        if types.contains(&known) {
            return Err(Error::Schema(format!("{known} type is duplicated")));
        }
        types.push(known);
    }
    Ok(types)
}
