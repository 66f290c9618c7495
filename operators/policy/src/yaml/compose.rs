//! From libyaml's events to JSON values: documents, anchors, merge keys, and bounds on what they may grow to.

use std::collections::HashMap;

use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::scalar::{self, Words};

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
    /// A word that is not what its tag says, or a number that JSON does not have.
    #[error("line {line}: {reason}")]
    Scalar {
        /// Its line.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A merge key without a mapping.
    #[error("line {0}: `<<` must be followed by a mapping, or a list of mappings")]
    Merge(u64),
    /// Too deep, or too large once its aliases are written out.
    #[error("line {0}: nested too deeply, or grown too large through aliases")]
    TooLarge(u64),
}

/// The depth of what the fields of a document hold.
const BELOW_TOP: usize = 1;
/// Values of one text with all aliases written out. The API server takes no object over 3 MiB.
const VALUES: usize = 2_000_000;

struct Composer<'a, 'b> {
    parser: Parser<&'a mut &'b [u8]>,
    anchors: HashMap<String, Value>,
    values: usize,
    words: Words,
    /// How deep it may nest.
    most: usize,
    /// Where the entries of the last sequence directly below the top start.
    entry_lines: Vec<u64>,
    item_lines: Vec<u64>,
    duplicate: Option<DuplicateKey>,
}

pub(super) fn documents(text: &str, words: Words, most: usize) -> Result<Vec<Placed>, YamlError> {
    // The parser panics where a tag ends at a comma (`[!!str, a]`, libyaml-safer 0.3.0) instead of reading on. Nothing
    // that it worked on outlives it.
    std::panic::catch_unwind(|| composed(text, words, most))
        .unwrap_or_else(|_| Err(YamlError::Syntax("a tag must be followed by a space".to_owned())))
}

fn composed(text: &str, words: Words, most: usize) -> Result<Vec<Placed>, YamlError> {
    // The reader takes the first byte of U+F000 to U+FFFF for that of a byte order mark, unless there is one before.
    let marked = if text.as_bytes().first() == Some(&0xef) { Some(format!("\u{feff}{text}")) } else { None };
    let mut bytes = marked.as_deref().unwrap_or(text).as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut composer = Composer {
        parser,
        anchors: HashMap::new(),
        values: 0,
        words,
        most,
        entry_lines: Vec::new(),
        item_lines: Vec::new(),
        duplicate: None,
    };
    let mut found = Vec::new();
    loop {
        let event = composer.next()?;
        match event.data {
            EventData::StreamEnd => return Ok(found),
            EventData::DocumentStart { .. } => {
                composer.anchors.clear();
                let first = composer.next()?;
                let line = line(first.start_mark);
                let value = composer.value(first, 0)?;
                found.push(Placed {
                    line,
                    value,
                    item_lines: std::mem::take(&mut composer.item_lines),
                    duplicate: composer.duplicate.take(),
                });
            }
            _ => {}
        }
    }
}

impl Composer<'_, '_> {
    fn next(&mut self) -> Result<Event, YamlError> {
        self.parser.parse().map_err(|error| YamlError::Syntax(error.to_string()))
    }

    fn value(&mut self, event: Event, depth: usize) -> Result<Value, YamlError> {
        let at = event.start_mark;
        self.grow(1, depth, at)?;
        let (anchor, value) = match event.data {
            EventData::Alias { anchor } => return self.alias(&anchor, at, depth),
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let quoted = style != ScalarStyle::Plain;
                let resolved = scalar::resolve(value, quoted, tag.as_deref(), self.words);
                (anchor, resolved.map_err(|reason| YamlError::Scalar { line: line(at), reason })?)
            }
            EventData::SequenceStart { anchor, .. } => (anchor, self.sequence(depth)?),
            EventData::MappingStart { anchor, .. } => (anchor, self.mapping(depth)?),
            _ => return Err(YamlError::Syntax(format!("line {}: expected a value", line(at)))),
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        let mut lines = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::SequenceEnd {
                if depth == BELOW_TOP {
                    self.entry_lines = lines;
                }
                return Ok(Value::Array(items));
            }
            if depth == BELOW_TOP {
                lines.push(line(event.start_mark));
            }
            items.push(self.value(event, depth.saturating_add(1))?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut fields = Map::new();
        let mut merged = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::MappingEnd {
                break;
            }
            let at = event.start_mark;
            let is_merge = matches!(&event.data, EventData::Scalar { value, style: ScalarStyle::Plain, tag: None, .. } if value == "<<");
            let key = self.key(event, depth.saturating_add(1))?;
            let following = self.next()?;
            self.entry_lines.clear();
            let value = self.value(following, depth.saturating_add(1))?;
            if is_merge {
                merged.push((line(at), value));
                continue;
            }
            if depth.saturating_add(1) == BELOW_TOP && key == "items" {
                self.item_lines = std::mem::take(&mut self.entry_lines);
            }
            if fields.insert(key.clone(), value).is_some() {
                self.duplicate.get_or_insert(DuplicateKey { line: line(at), key });
            }
        }
        for (line, value) in merged {
            merge(&mut fields, value).ok_or(YamlError::Merge(line))?;
        }
        Ok(Value::Object(fields))
    }

    /// A key is a scalar, or an alias of one.
    fn key(&mut self, event: Event, depth: usize) -> Result<String, YamlError> {
        let at = event.start_mark;
        if !matches!(&event.data, EventData::Scalar { .. }) {
            return match self.value(event, depth)? {
                Value::String(text) => Ok(text),
                Value::Bool(word) => Ok(word.to_string()),
                Value::Number(number) => Ok(number.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => Err(YamlError::Key(line(at))),
            };
        }
        let EventData::Scalar { anchor, tag, value, style, .. } = event.data else {
            return Err(YamlError::Key(line(at)));
        };
        self.grow(1, depth, at)?;
        let quoted = style != ScalarStyle::Plain;
        if let Some(anchor) = anchor {
            let value = scalar::resolve(value.clone(), quoted, tag.as_deref(), self.words);
            self.anchors.insert(anchor, value.unwrap_or_default());
        }
        let key = scalar::key(value, quoted, tag.as_deref(), self.words);
        key.map_err(|reason| YamlError::Scalar { line: line(at), reason })?.ok_or(YamlError::Key(line(at)))
    }

    fn alias(&mut self, anchor: &str, at: Mark, depth: usize) -> Result<Value, YamlError> {
        let unknown = || YamlError::UnknownAnchor { line: line(at), anchor: anchor.to_owned() };
        let value = self.anchors.get(anchor).cloned().ok_or_else(unknown)?;
        self.grow(size(&value), depth.saturating_add(height(&value)), at)?;
        Ok(value)
    }

    fn grow(&mut self, values: usize, depth: usize, at: Mark) -> Result<(), YamlError> {
        self.values = self.values.saturating_add(values);
        if depth > self.most || self.values > VALUES { Err(YamlError::TooLarge(line(at))) } else { Ok(()) }
    }
}

/// Fields that are written out win over merged ones, whatever their order. `None` where there is nothing to merge.
fn merge(fields: &mut Map<String, Value>, value: Value) -> Option<()> {
    let several = match value {
        Value::Object(_) => vec![value],
        Value::Array(several) => several,
        _ => return None,
    };
    for value in several {
        let Value::Object(more) = value else { return None };
        for (key, value) in more {
            fields.entry(key).or_insert(value);
        }
    }
    Some(())
}

fn size(value: &Value) -> usize {
    let below: usize = match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    };
    below.saturating_add(1)
}

fn height(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(height).max(),
        Value::Object(fields) => fields.values().map(height).max(),
        _ => return 0,
    };
    below.unwrap_or_default().saturating_add(1)
}

fn line(mark: Mark) -> u64 {
    mark.line.saturating_add(1)
}
