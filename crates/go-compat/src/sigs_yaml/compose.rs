//! From composed nodes to JSON values, as `sigs.k8s.io/yaml` decodes them: keys become strings, merge keys are written
//! out.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::scalar;
use crate::yaml::{self, ComposeOptions, Kind, Node, Version, Words};

/// A document and where it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// First line, counted from 1.
    pub line: u64,
    /// The value.
    pub value: Value,
    /// The lines at which the entries of a list at the top, or of a field `items` there, start: a `List` places its
    /// objects with it.
    pub item_lines: Vec<u64>,
    /// A key that a mapping has twice, the first one. The last value counts, as for `kubectl`.
    pub duplicate: Option<DuplicateKey>,
}

/// A key that stands twice in one mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The line of its repetition.
    pub line: u64,
    /// The key.
    pub key: String,
}

impl std::error::Error for DuplicateKey {}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: the key {:?} is already defined in this mapping", self.line, self.key)
    }
}

/// The reason why a text is not YAML that Kubernetes could use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum YamlError {
    /// The text is not YAML, or larger than it may be.
    Compose(yaml::Error),
    /// A mapping or a sequence as a key.
    Key(u64),
    /// A word that is not what its tag says, or a number that JSON does not have.
    Scalar {
        /// Its line.
        line: u64,
        /// The defect.
        reason: String,
    },
    /// A merge key without a mapping.
    Merge(u64),
}

impl std::error::Error for YamlError {}

impl YamlError {
    /// Returns the line and the column of the error, both from 1; a column of 0 stands for the whole line. `None`
    /// where the line is not known.
    #[must_use]
    pub const fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Compose(error) => error.place(),
            Self::Scalar { line, .. } | Self::Key(line) | Self::Merge(line) => Some((*line, 0)),
        }
    }

    /// Returns the error without its place.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Compose(error) => error.reason(),
            Self::Scalar { reason, .. } => reason.clone(),
            Self::Key(_) => "a key must be a single word or a string".to_owned(),
            Self::Merge(_) => "`<<` must be followed by a mapping, or a list of mappings".to_owned(),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        yaml::placed(self.place(), &self.reason(), f)
    }
}

impl From<yaml::Error> for YamlError {
    fn from(error: yaml::Error) -> Self {
        Self::Compose(error)
    }
}

pub(super) fn documents(text: &str, words: Words, max_depth: usize) -> Result<Vec<Placed>, YamlError> {
    let nodes = yaml::documents(text, &ComposeOptions { version: Version::V2, max_depth })?;
    // By value: each document's nodes are freed before the next one is decoded. There may be many documents.
    nodes.into_iter().map(|node| Decoder { words, duplicate: None }.document(&node)).collect()
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
            Kind::Scalar(found) => {
                let value = scalar::resolve(found, self.words);
                value.map_err(|reason| YamlError::Scalar { line: node.line, reason })
            }
            Kind::Sequence(items) => items.iter().map(|item| self.value(item)).collect(),
            Kind::Mapping(pairs) => self.mapping(pairs).map(Value::Object),
            Kind::Alias(node) | Kind::Anchor(node) => self.value(node),
        }
    }

    /// The fields of a mapping, with those of its merge keys. Version 2 sets these where the merge key stands: behind
    /// `{a: 1, <<: {a: 2}}` the field is 2, behind `{<<: {a: 2}, a: 1}` it is 1. Version 3, which reads the words of YAML 1.2,
    /// lets fields win that are written out.
    fn mapping(&mut self, pairs: &[(Node, Node)]) -> Result<Map<String, Value>, YamlError> {
        let (mut fields, mut merged) = (Map::new(), Map::new());
        // Set by merge keys alone so far: such a field is no duplicate when it is written out once.
        let mut unwritten = BTreeSet::new();
        for (name, value) in pairs {
            let line = name.line;
            if name.is_merge_key() {
                for (key, value) in self.merged(value, line)? {
                    if self.words == Words::Yaml12 {
                        merged.entry(key).or_insert(value);
                    } else if fields.insert(key.clone(), value).is_none() {
                        unwritten.insert(key);
                    }
                }
                continue;
            }
            let key = self.key(name)?;
            let value = self.value(value)?;
            if fields.insert(key.clone(), value).is_some() && !unwritten.remove(&key) {
                self.duplicate.get_or_insert(DuplicateKey { line, key });
            }
        }
        for (key, value) in merged {
            fields.entry(key).or_insert(value);
        }
        Ok(fields)
    }

    /// The fields that the value of a merge key stands for; of several mappings the first that has a field wins.
    fn merged(&mut self, value: &Node, line: u64) -> Result<Map<String, Value>, YamlError> {
        let mut fields = Map::new();
        for pairs in value.merged_mappings().ok_or(YamlError::Merge(line))? {
            for (key, value) in self.mapping(pairs)? {
                fields.entry(key).or_insert(value);
            }
        }
        Ok(fields)
    }

    /// The string of a key, which is a scalar or an alias of one: JSON has no other keys.
    fn key(&mut self, node: &Node) -> Result<String, YamlError> {
        let Kind::Scalar(found) = &node.bare().kind else {
            return match self.value(node)? {
                Value::String(text) => Ok(text),
                Value::Bool(word) => Ok(word.to_string()),
                Value::Number(number) => Ok(number.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => Err(YamlError::Key(node.line)),
            };
        };
        let key = scalar::key(found, self.words);
        key.map_err(|reason| YamlError::Scalar { line: node.line, reason })?.ok_or(YamlError::Key(node.line))
    }
}

/// The lines of the entries of the topmost sequence, or of that under the key `items` of the topmost mapping.
fn item_lines(root: &Node) -> Vec<u64> {
    let is_items = |key: &Node| matches!(&key.bare().kind, Kind::Scalar(scalar) if scalar.text == "items");
    let list = match &root.bare().kind {
        Kind::Mapping(pairs) => {
            pairs.iter().rfind(|(key, _)| is_items(key)).map(|(_, value)| &value.bare().kind)
        }
        kind => Some(kind),
    };
    match list {
        Some(Kind::Sequence(items)) => items.iter().map(|item| item.line).collect(),
        _ => Vec::new(),
    }
}
