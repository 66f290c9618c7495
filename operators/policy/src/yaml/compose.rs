//! From composed nodes to JSON values, as `sigs.k8s.io/yaml` decodes them: keys become strings, merge keys are written
//! out.

use go_compat::yaml::{self, Kind, Node, Options, Resolved, Scalar, Version, plain};
use serde_json::{Map, Number, Value};

pub use go_compat::yaml::Words;

/// A document and where it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// First line, counted from 1.
    pub line: u64,
    /// What it holds.
    pub value: Value,
    /// The lines at which the entries of a field `items` at the top start: a `List` places its objects with it.
    pub item_lines: Vec<u64>,
    /// A key that a mapping has twice, the first one. The last value counts, as for `kubectl`.
    pub duplicate: Option<DuplicateKey>,
}

/// A key that stands twice in one mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: the key {key:?} is already defined in this mapping")]
pub struct DuplicateKey {
    /// The line of its repetition.
    pub line: u64,
    /// The key.
    pub key: String,
}

/// Why a text is no YAML that Kubernetes could use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// The syntax is wrong.
    #[error("{0}")]
    Syntax(String),
    /// An alias without its anchor.
    #[error("line {line}: the anchor {anchor:?} is not defined above")]
    UnknownAnchor {
        /// Line of the alias.
        line: u64,
        /// What it asks for.
        anchor: String,
    },
    /// A mapping or a sequence as a key.
    #[error("line {0}: a key must be a single word or text")]
    Key(u64),
    /// Too deep, or too large once its aliases are written out.
    #[error("line {0}: nested too deeply, or grown too large through aliases")]
    TooLarge(u64),
}

impl From<yaml::Error> for YamlError {
    fn from(error: yaml::Error) -> Self {
        match error {
            yaml::Error::UnknownAnchor { line, anchor } => Self::UnknownAnchor { line, anchor },
            yaml::Error::TooLarge { line } => Self::TooLarge(line),
            error => Self::Syntax(error.to_string()),
        }
    }
}

pub(super) fn documents(text: &str, words: Words, max_depth: usize) -> Result<Vec<Placed>, YamlError> {
    let nodes = yaml::documents(text, &Options { version: Version::V2, max_depth })?;
    nodes.iter().map(|node| Decoder { words, duplicate: None }.document(node)).collect()
}

struct Decoder {
    words: Words,
    duplicate: Option<DuplicateKey>,
}

impl Decoder {
    fn document(mut self, node: &Node) -> Result<Placed, YamlError> {
        let value = self.value(node)?;
        Ok(Placed { line: node.line, value, item_lines: item_lines(node), duplicate: self.duplicate })
    }

    fn value(&mut self, node: &Node) -> Result<Value, YamlError> {
        match &node.kind {
            Kind::Scalar(scalar) => Ok(resolve(scalar, self.words)),
            Kind::Sequence(items) => items.iter().map(|item| self.value(item)).collect(),
            Kind::Mapping(pairs) => self.mapping(pairs),
            Kind::Alias(node) | Kind::Anchor(node) => self.value(node),
            _ => Err(YamlError::Syntax(format!("line {}: expected a value", node.line))),
        }
    }

    fn mapping(&mut self, pairs: &[(Node, Node)]) -> Result<Value, YamlError> {
        let mut fields = Map::new();
        let mut merged = Vec::new();
        for (key, value) in pairs {
            let is_merge = is_merge_key(key);
            let line = key.line;
            let key = self.value(key)?;
            let value = self.value(value)?;
            if is_merge {
                merged.push(value);
                continue;
            }
            let key = key_text(key).ok_or(YamlError::Key(line))?;
            if fields.insert(key.clone(), value).is_some() {
                self.duplicate.get_or_insert(DuplicateKey { line, key });
            }
        }
        merged.into_iter().for_each(|value| merge(&mut fields, value));
        Ok(Value::Object(fields))
    }
}

fn is_merge_key(key: &Node) -> bool {
    matches!(&key.bare().kind, Kind::Scalar(scalar) if !scalar.is_quoted && scalar.text == "<<")
}

/// The lines of the entries of a sequence under the key `items` of the topmost mapping.
fn item_lines(root: &Node) -> Vec<u64> {
    let Kind::Mapping(pairs) = &root.bare().kind else { return Vec::new() };
    let is_items = |key: &Node| matches!(&key.bare().kind, Kind::Scalar(scalar) if scalar.text == "items");
    let list = pairs.iter().rfind(|(key, _)| is_items(key)).map(|(_, value)| &value.bare().kind);
    match list {
        Some(Kind::Sequence(items)) => items.iter().map(|item| item.line).collect(),
        _ => Vec::new(),
    }
}

/// The value of a scalar: a plain word may be null, a boolean or a number; JSON has no other types.
pub(super) fn resolve(scalar: &Scalar, words: Words) -> Value {
    let is_string = scalar.is_quoted || matches!(scalar.tag.as_deref(), Some("tag:yaml.org,2002:str" | "!"));
    if is_string { Value::String(scalar.text.clone()) } else { of_word(&scalar.text, words) }
}

/// The value of a plain word.
pub(super) fn of_word(text: &str, words: Words) -> Value {
    let number = |number: Option<Number>| number.map(Value::Number);
    let value = match plain(text, words) {
        Resolved::Null => Some(Value::Null),
        Resolved::Bool(word) => Some(Value::Bool(word)),
        Resolved::Int(whole) => number(Number::from_i128(whole)),
        Resolved::Float(float) => number(Number::from_f64(float)),
        _ => None,
    };
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The string of a key: JSON has no others. `None` for lists, mappings and null.
fn key_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Bool(word) => Some(word.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Fields that are written out win over merged ones, whatever their order.
fn merge(fields: &mut Map<String, Value>, value: Value) {
    match value {
        Value::Object(more) => {
            for (key, value) in more {
                fields.entry(key).or_insert(value);
            }
        }
        Value::Array(several) => several.into_iter().for_each(|value| merge(fields, value)),
        _ => {}
    }
}
