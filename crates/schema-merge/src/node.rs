//! A schema as the API server sees it after decoding: [`Node`].
//!
//! The sub-schemas are nodes; every other keyword stays in the JSON it came in and is read through the accessors. A
//! `null` counts as absent, as it does in Go. `decode.rs` builds nodes and has checked the types by then.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::keyword::RULES;

/// One decoded schema.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) raw: &'a Map<String, Value>,
    pub(crate) properties: BTreeMap<&'a str, Node<'a>>,
    pub(crate) items: Option<Items<'a>>,
    pub(crate) additional_properties: Option<Additional<'a>>,
    pub(crate) all_of: Vec<Node<'a>>,
    pub(crate) any_of: Vec<Node<'a>>,
    pub(crate) one_of: Vec<Node<'a>>,
    pub(crate) not: Option<Box<Node<'a>>>,
    /// The keywords that the server decodes only to refuse them.
    pub(crate) refused: Option<Box<UnsupportedSchemas<'a>>>,
}

/// Sub-schemas below keywords that are not supported. The server still checks them.
#[derive(Debug, Default)]
pub(crate) struct UnsupportedSchemas<'a> {
    pub(crate) definitions: BTreeMap<&'a str, Node<'a>>,
    pub(crate) dependencies: BTreeMap<&'a str, Node<'a>>,
}

/// The decoded form of `items`.
#[derive(Debug)]
pub(crate) enum Items<'a> {
    /// One schema for all items.
    Schema(Box<Node<'a>>),
    /// One schema per item: never supported.
    Schemas(Vec<Node<'a>>),
    /// Neither: the server ignores what it cannot decode here.
    Nothing,
}

/// The decoded form of `additionalProperties`.
#[derive(Debug)]
pub(crate) enum Additional<'a> {
    Bool(bool),
    Schema(Box<Node<'a>>),
}

impl<'a> Node<'a> {
    pub(crate) fn new(raw: &'a Map<String, Value>) -> Self {
        Self {
            raw,
            properties: BTreeMap::new(),
            items: None,
            additional_properties: None,
            all_of: Vec::new(),
            any_of: Vec::new(),
            one_of: Vec::new(),
            not: None,
            refused: None,
        }
    }

    /// A keyword that is present and not null.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.raw.get(keyword).filter(|value| !value.is_null())
    }

    /// A string; empty when absent.
    pub(crate) fn string(&self, keyword: &str) -> &'a str {
        self.get(keyword).and_then(Value::as_str).unwrap_or_default()
    }

    /// The type; empty when absent.
    pub(crate) fn kind(&self) -> &'a str {
        self.string("type")
    }

    pub(crate) fn flag(&self, keyword: &str) -> bool {
        self.get(keyword).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn integer(&self, keyword: &str) -> Option<i64> {
        self.get(keyword).and_then(Value::as_i64)
    }

    /// The most of something; a negative bound admits none.
    pub(crate) fn bound(&self, keyword: &str) -> Option<u64> {
        self.integer(keyword).map(|bound| u64::try_from(bound).unwrap_or(0))
    }

    pub(crate) fn number(&self, keyword: &str) -> Option<&'a Number> {
        self.get(keyword).and_then(Value::as_number)
    }

    /// A list; empty when absent.
    pub(crate) fn list(&self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// A list of strings; a null in it decodes to an empty string.
    pub(crate) fn strings(&self, keyword: &str) -> impl Iterator<Item = &'a str> {
        self.list(keyword).iter().map(|value| value.as_str().unwrap_or_default())
    }

    pub(crate) fn default_value(&self) -> Option<&'a Value> {
        self.get("default")
    }

    pub(crate) fn rules(&self) -> &'a [Value] {
        self.list(RULES)
    }

    /// The one schema of all items.
    pub(crate) fn item(&self) -> Option<&Node<'a>> {
        match &self.items {
            Some(Items::Schema(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema of additional properties.
    pub(crate) fn additional(&self) -> Option<&Node<'a>> {
        match &self.additional_properties {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The junctors, with the keyword and the index of each member (`not` has none).
    pub(crate) fn junctors(&self) -> impl Iterator<Item = (&'static str, Option<usize>, &Node<'a>)> {
        let lists = [("allOf", &self.all_of), ("anyOf", &self.any_of), ("oneOf", &self.one_of)];
        let members = lists.into_iter().flat_map(|(keyword, list)| {
            list.iter().enumerate().map(move |(at, node)| (keyword, Some(at), node))
        });
        members.chain(self.not.iter().map(|node| ("not", None, &**node)))
    }

    /// Returns true if `keyword` has the zero value of its Go type, which is what the server compares with.
    pub(crate) fn is_zero(&self, keyword: &str) -> bool {
        match self.get(keyword) {
            None => true,
            Some(Value::Bool(set)) => !set && keyword != "additionalProperties" && keyword != "default",
            Some(Value::String(text)) => {
                text.is_empty() && !keyword.starts_with("x-") && keyword != "default"
            }
            Some(Value::Array(list)) => {
                list.is_empty() && !matches!(keyword, "required" | "default" | "example")
            }
            Some(Value::Object(map)) => map.is_empty() && keyword == "properties",
            Some(Value::Number(_) | Value::Null) => false,
        }
    }
}
