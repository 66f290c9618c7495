//! What a schema is to a validation rule: types, and how large a value can get in one request.
//!
//! The sizes are those of Kubernetes' own estimate (apiserver 1.36): what fits into a request of 3 MiB where the schema
//! sets no bound.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Value;

use crate::keyword::{EMBEDDED, INT_OR_STRING};
use crate::node::Node;

const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// The type of an expression. What it is made of is shared, so that a copy costs nothing.
#[derive(Clone, Debug)]
pub(super) enum Decl {
    /// Not known, or known only when the rule runs.
    Dyn,
    Bool,
    /// Anything else without parts; the name is CEL's.
    Scalar(&'static str),
    Text {
        max: u64,
    },
    List {
        item: Rc<Decl>,
        max: u64,
    },
    Map {
        value: Rc<Decl>,
        max: u64,
    },
    Object {
        fields: Rc<BTreeMap<String, Decl>>,
        min_size: u64,
    },
}

/// The declarations made so far, by the address of the node: rules at every level of a deep schema declare what is below
/// them once.
#[derive(Debug, Default)]
pub(crate) struct Declared(HashMap<usize, Option<Decl>>);

impl Decl {
    /// The declaration of a schema; `None` for what rules cannot see.
    ///
    /// Nodes must stay where they are as long as `declared` is used, and be asked about in one way.
    pub(super) fn of(node: &Node<'_>, resource_root: bool, declared: &mut Declared) -> Option<Self> {
        let address = std::ptr::from_ref(node).addr();
        if let Some(known) = declared.0.get(&address) {
            return known.clone();
        }
        let decl = Self::new(node, resource_root, declared);
        declared.0.insert(address, decl.clone());
        decl
    }

    fn new(node: &Node<'_>, resource_root: bool, declared: &mut Declared) -> Option<Self> {
        if node.flag(INT_OR_STRING) {
            return Some(Self::Dyn);
        }
        let bound = |keyword: &str| node.integer(keyword).map(|bound| u64::try_from(bound).unwrap_or(0));
        match node.kind() {
            _ if resource_root => Some(Self::object(node, true, declared)),
            "array" => {
                let item = Self::of(node.item()?, node.item()?.flag(EMBEDDED), declared)?;
                let max = bound("maxItems").unwrap_or_else(|| fitting(item.min_size().saturating_add(1)));
                Some(Self::List { item: Rc::new(item), max })
            }
            "object" => match node.additional() {
                Some(values) => {
                    let value = Self::of(values, values.flag(EMBEDDED), declared)?;
                    let max =
                        bound("maxProperties").unwrap_or_else(|| fitting(value.min_size().saturating_add(6)));
                    Some(Self::Map { value: Rc::new(value), max })
                }
                None => Some(Self::object(node, false, declared)),
            },
            "string" => Some(match node.text("format") {
                "byte" => Self::Scalar("bytes"),
                "duration" => Self::Scalar("duration"),
                "date" | "date-time" | "datetime" => Self::Scalar("timestamp"),
                _ => Self::Text { max: bound("maxLength").unwrap_or_else(|| longest(node)) },
            }),
            "boolean" => Some(Self::Bool),
            "number" => Some(Self::Scalar("double")),
            "integer" => Some(Self::Scalar("int")),
            _ => None,
        }
    }

    fn object(node: &Node<'_>, resource: bool, declared: &mut Declared) -> Self {
        let mut fields = BTreeMap::new();
        let mut min_size = 2_u64;
        let required: BTreeSet<&str> = node.texts("required").collect();
        for (name, property) in &node.properties {
            let Some(decl) = Self::of(property, property.flag(EMBEDDED), declared) else {
                continue;
            };
            if required.contains(name) && property.default_value().is_none() {
                let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
                min_size = min_size.saturating_add(length).saturating_add(decl.min_size()).saturating_add(4);
            }
            fields.insert(escaped(name), decl);
        }
        if resource {
            let text = || Self::Text { max: MAX_REQUEST.saturating_sub(2) };
            let names = BTreeMap::from([("name".to_owned(), text()), ("generateName".to_owned(), text())]);
            fields.insert("kind".to_owned(), text());
            fields.insert("apiVersion".to_owned(), text());
            fields.insert("metadata".to_owned(), Self::Object { fields: Rc::new(names), min_size: 2 });
        }
        Self::Object { fields: Rc::new(fields), min_size }
    }

    /// The fewest bytes a value takes as JSON.
    pub(super) fn min_size(&self) -> u64 {
        match self {
            Self::Dyn => 1,
            Self::Bool => 4,
            Self::Scalar("duration") => 3,
            Self::Scalar("timestamp") => 12,
            Self::Scalar("bytes") | Self::Text { .. } | Self::List { .. } | Self::Map { .. } => 2,
            Self::Scalar(_) => 1,
            Self::Object { min_size, .. } => *min_size,
        }
    }

    /// The most elements or characters a value has, where that is known.
    pub(super) fn max_elements(&self) -> Option<u64> {
        match self {
            Self::Text { max } | Self::List { max, .. } | Self::Map { max, .. } => Some(*max),
            _ => None,
        }
    }
}

/// How often something of this size fits into a request.
pub(super) fn repetitions(min_size: u64) -> u64 {
    MAX_REQUEST.checked_div(min_size.saturating_add(1)).unwrap_or(u64::MAX)
}

fn fitting(size: u64) -> u64 {
    MAX_REQUEST.saturating_sub(2).checked_div(size).unwrap_or(u64::MAX)
}

fn longest(node: &Node<'_>) -> u64 {
    let lengths = node.list("enum").iter().filter_map(Value::as_str).map(str::len);
    lengths.max().map_or(MAX_REQUEST.saturating_sub(2), |length| u64::try_from(length).unwrap_or(u64::MAX))
}

/// A property name as rules have to write it.
fn escaped(name: &str) -> String {
    const RESERVED: [&str; 19] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
    ];
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
