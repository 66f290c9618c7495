//! Decodes JSON into [`Node`]s the way the API server decodes a CRD, and says what it cannot decode or would drop.
//!
//! Go's decoder accepts some odd things in silence (`items: true`); the outcome is the same here. Whether the decoded
//! schema is sound is `structural.rs`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::keyword::{self, Holds};
use crate::node::{Additional, Items, Node, UnsupportedSchemas};
use crate::path::{SchemaPath, Step};

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The fields of a validation rule and of externalDocs.
const RULE: [(&str, Holds); 6] = [
    ("rule", Holds::Text),
    ("message", Holds::Text),
    ("messageExpression", Holds::Text),
    ("reason", Holds::Text),
    ("fieldPath", Holds::Text),
    ("optionalOldSelf", Holds::OptionalFlag),
];
const DOCS: [(&str, Holds); 2] = [("description", Holds::Text), ("url", Holds::Text)];

/// Keywords whose Go type has its own decoder: unknown fields below go unnoticed.
const CUSTOM: [&str; 4] = ["items", "additionalProperties", "additionalItems", "dependencies"];

pub(crate) struct Decoder {
    prefix: Arc<str>,
    base: Arc<str>,
    diagnostics: Vec<Diagnostic>,
}

/// Decodes a schema. Without a diagnostic of severity [`Severity::Decode`] the node is what the server sees.
///
/// `prefix` stands before unknown fields, `base` is a JSON pointer to the schema.
pub(crate) fn decode<'a>(schema: &'a Value, prefix: &str, base: &str) -> (Node<'a>, Vec<Diagnostic>) {
    let mut decoder = Decoder { prefix: prefix.into(), base: base.into(), diagnostics: Vec::new() };
    let node = decoder.schema(schema, &mut SchemaPath::root());
    (node, decoder.diagnostics)
}

impl Decoder {
    fn schema<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> Node<'a> {
        let raw = match value {
            Value::Object(raw) => raw,
            Value::Null => return Node::new(&NOTHING),
            other => {
                self.mismatch(at, other, "v1.JSONSchemaProps");
                return Node::new(&NOTHING);
            }
        };
        let mut node = Node::new(raw);
        for (keyword, value) in raw {
            at.within(|at| at.push_child(keyword.clone()), |at| self.keyword(&mut node, keyword, value, at));
        }
        node
    }

    fn keyword<'a>(&mut self, node: &mut Node<'a>, keyword: &'a str, value: &'a Value, at: &mut SchemaPath) {
        let Some(holds) = keyword::holds(keyword) else {
            return self.unknown(at, keyword);
        };
        if value.is_null() {
            return;
        }
        match holds {
            Holds::Schema => node.not = Some(Box::new(self.schema(value, at))),
            Holds::Schemas => {
                let members = self.schemas(value, at);
                match keyword {
                    "allOf" => node.all_of = members,
                    "anyOf" => node.any_of = members,
                    _ => node.one_of = members,
                }
            }
            Holds::SchemaMap => {
                let schemas = self.schema_map(value, at);
                match keyword {
                    "properties" => node.properties = schemas,
                    "definitions" => refused(node).definitions = schemas,
                    _ => {}
                }
            }
            Holds::Items => node.items = Some(self.items(value, at)),
            Holds::SchemaOrBool => {
                let additional = self.additional(value, at);
                if keyword == "additionalProperties" {
                    node.additional_properties = additional;
                }
            }
            Holds::Dependencies => refused(node).dependencies = self.dependencies(value, at),
            Holds::Rules => self.records(value, &RULE, "v1.ValidationRules", "v1.ValidationRule", at),
            Holds::Docs => self.record(value, &DOCS, "v1.ExternalDocumentation", at),
            leaf => self.leaf(value, leaf, at),
        }
    }

    fn schemas<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> Vec<Node<'a>> {
        let Value::Array(list) = value else {
            self.mismatch(at, value, "[]v1.JSONSchemaProps");
            return Vec::new();
        };
        let member = |(index, value)| at.within(|at| at.push_index(index), |at| self.schema(value, at));
        list.iter().enumerate().map(member).collect()
    }

    fn schema_map<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> BTreeMap<&'a str, Node<'a>> {
        let Value::Object(map) = value else {
            let definitions = at.steps().last() == Some(&Step::Child("definitions".into()));
            let go_type =
                if definitions { "v1.JSONSchemaDefinitions" } else { "map[string]v1.JSONSchemaProps" };
            self.mismatch(at, value, go_type);
            return BTreeMap::new();
        };
        let entry = |(name, value): (&'a String, &'a Value)| {
            (name.as_str(), at.within(|at| at.push_key(name), |at| self.schema(value, at)))
        };
        map.iter().map(entry).collect()
    }

    /// Anything but an object or a list decodes to nothing, without an error.
    fn items<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> Items<'a> {
        match value {
            Value::Object(_) => Items::Schema(Box::new(self.schema(value, at))),
            Value::Array(list) if list.is_empty() => Items::Nothing,
            Value::Array(_) => Items::Schemas(self.schemas(value, at)),
            _ => {
                let detail =
                    format!("{}: {} is ignored in silence: write a schema", at.instance(), at.pointer());
                self.push(Severity::Lint, "undecodable-items", at, detail);
                Items::Nothing
            }
        }
    }

    fn additional<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> Option<Additional<'a>> {
        match value {
            Value::Object(_) => Some(Additional::Schema(Box::new(self.schema(value, at)))),
            Value::Bool(allowed) => Some(Additional::Bool(*allowed)),
            _ => {
                self.push(
                    Severity::Decode,
                    "type-mismatch",
                    at,
                    "boolean or JSON schema expected".to_owned(),
                );
                None
            }
        }
    }

    fn dependencies<'a>(&mut self, value: &'a Value, at: &mut SchemaPath) -> BTreeMap<&'a str, Node<'a>> {
        let Value::Object(map) = value else {
            self.mismatch(at, value, "v1.JSONSchemaDependencies");
            return BTreeMap::new();
        };
        let mut schemas = BTreeMap::new();
        for (name, value) in map {
            at.within(
                |at| at.push_key(name),
                |at| match value {
                    Value::Object(_) => drop(schemas.insert(name.as_str(), self.schema(value, at))),
                    Value::Array(_) => self.leaf(value, Holds::Texts, at),
                    _ => {}
                },
            );
        }
        schemas
    }

    fn records(
        &mut self,
        value: &Value,
        fields: &[(&str, Holds)],
        list_type: &str,
        item_type: &str,
        at: &mut SchemaPath,
    ) {
        let Value::Array(list) = value else {
            return self.mismatch(at, value, list_type);
        };
        for (index, value) in list.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            at.within(|at| at.push_index(index), |at| self.record(value, fields, item_type, at));
        }
    }

    fn record(&mut self, value: &Value, fields: &[(&str, Holds)], go_type: &str, at: &mut SchemaPath) {
        let Value::Object(map) = value else {
            return self.mismatch(at, value, go_type);
        };
        for (name, value) in map {
            at.within(
                |at| at.push_child(name.clone()),
                |at| match fields.iter().find(|field| field.0 == name) {
                    None => self.unknown(at, name),
                    Some(_) if value.is_null() => {}
                    Some((_, holds)) => self.leaf(value, *holds, at),
                },
            );
        }
    }

    /// A value that holds no schema.
    fn leaf(&mut self, value: &Value, holds: Holds, at: &mut SchemaPath) {
        match (holds, value) {
            (Holds::Text, Value::String(_))
            | (Holds::Flag | Holds::OptionalFlag, Value::Bool(_))
            | (Holds::Number, Value::Number(_))
            | (Holds::Anything, _)
            | (Holds::Anythings, Value::Array(_)) => {}
            (Holds::Integer, Value::Number(number)) if number.is_i64() => {}
            (Holds::Texts, Value::Array(list)) => {
                for (index, value) in list.iter().enumerate() {
                    if !value.is_string() && !value.is_null() {
                        at.within(|at| at.push_index(index), |at| self.mismatch(at, value, "string"));
                    }
                }
            }
            (Holds::Flag | Holds::OptionalFlag, _) => self.mismatch(at, value, "bool"),
            (Holds::Integer, _) => self.mismatch(at, value, "int64"),
            (Holds::Number, _) => self.mismatch(at, value, "float64"),
            (Holds::Texts, _) => self.mismatch(at, value, "[]string"),
            (Holds::Anythings, _) => self.mismatch(at, value, "[]v1.JSON"),
            _ => {
                let url = at.steps().last() == Some(&Step::Child("$schema".into()));
                self.mismatch(at, value, if url { "v1.JSONSchemaURL" } else { "string" });
            }
        }
    }

    fn mismatch(&mut self, at: &SchemaPath, value: &Value, go_type: &str) {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if matches!(go_type, "int64") => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let field = go_field(at);
        let rules = Step::Child("x-kubernetes-validations".into());
        let holder = match at.steps().split_last() {
            None => "CustomResourceValidation",
            Some((_, above)) if above.contains(&rules) => "ValidationRule",
            Some(_) => "JSONSchemaProps",
        };
        let detail =
            format!("json: cannot unmarshal {found} into Go struct field {holder}.{field} of type {go_type}");
        self.push(Severity::Decode, "type-mismatch", at, detail);
    }

    fn unknown(&mut self, at: &SchemaPath, keyword: &str) {
        let custom = |step: &Step| matches!(step, Step::Child(name) if CUSTOM.contains(&name.as_ref()));
        let inside = at.steps().split_last().is_some_and(|(_, above)| above.iter().any(custom));
        let field = dotted(&self.prefix, at);
        if inside {
            // The server's strict decoding does not reach below these keywords.
            let detail =
                format!("{keyword} is not a keyword of CRD schemas and is dropped without a warning");
            self.push(Severity::Lint, "unknown-keyword", at, detail);
        } else {
            self.push(Severity::UnknownField, "unknown-keyword", at, format!("unknown field \"{field}\""));
        }
    }

    fn push(&mut self, severity: Severity, rule: &'static str, at: &SchemaPath, detail: String) {
        let (prefix, base) = (Arc::clone(&self.prefix), Arc::clone(&self.base));
        let (path, value) = (at.clone(), None);
        self.diagnostics.push(Diagnostic {
            severity,
            kind: DiagnosticKind::Plain,
            rule,
            path,
            value,
            detail,
            prefix,
            base,
        });
    }
}

fn refused<'n, 'a>(node: &'n mut Node<'a>) -> &'n mut UnsupportedSchemas<'a> {
    node.refused.get_or_insert_default()
}

/// The field as Go's decoder names it: struct fields only, without keys and indexes.
fn go_field(at: &SchemaPath) -> String {
    let mut field = String::from("spec.versions.schema.openAPIV3Schema");
    for step in at.steps() {
        if let Step::Child(name) = step {
            field.extend([".", name]);
        }
    }
    field
}

/// The place as strict decoding prints it.
fn dotted(prefix: &str, at: &SchemaPath) -> String {
    let mut text = prefix.to_owned();
    for step in at.steps() {
        match step {
            Step::Child(name) => text.extend([".", name]),
            Step::Key(name) => text.extend([".", name]),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
