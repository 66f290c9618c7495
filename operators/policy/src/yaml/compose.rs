//! From libyaml's events to JSON values: documents, anchors, merge keys, and bounds on what they may grow to.

use std::collections::HashMap;

use libyaml_safer::{Event, EventData, Mark, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::scalar;

/// A document and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// First line, counted from 1.
    pub line: u64,
    /// What it holds.
    pub value: Value,
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

/// Nesting that any Kubernetes object stays far below; serde_json reads no deeper than 128 either.
const DEPTH: usize = 100;
/// Values of one text with all aliases written out. The API server takes no object over 3 MiB.
const VALUES: usize = 2_000_000;

struct Composer<'a, 'b> {
    parser: Parser<&'a mut &'b [u8]>,
    anchors: HashMap<String, Value>,
    values: usize,
}

pub(super) fn documents(text: &str) -> Result<Vec<Placed>, YamlError> {
    let mut bytes = text.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut composer = Composer { parser, anchors: HashMap::new(), values: 0 };
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
                found.push(Placed { line, value });
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
                (anchor, scalar::resolve(value, quoted, tag.as_deref()))
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
        loop {
            let event = self.next()?;
            if event.data == EventData::SequenceEnd {
                return Ok(Value::Array(items));
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
            let is_merge = matches!(&event.data, EventData::Scalar { value, style: ScalarStyle::Plain, .. } if value == "<<");
            let key = self.value(event, depth.saturating_add(1))?;
            let following = self.next()?;
            let value = self.value(following, depth.saturating_add(1))?;
            if is_merge {
                merged.push(value);
            } else {
                fields.insert(scalar::key(key).ok_or(YamlError::Key(line(at)))?, value);
            }
        }
        merged.into_iter().for_each(|value| merge(&mut fields, value));
        Ok(Value::Object(fields))
    }

    fn alias(&mut self, anchor: &str, at: Mark, depth: usize) -> Result<Value, YamlError> {
        let unknown = || YamlError::UnknownAnchor { line: line(at), anchor: anchor.to_owned() };
        let value = self.anchors.get(anchor).cloned().ok_or_else(unknown)?;
        self.grow(size(&value), depth.saturating_add(height(&value)), at)?;
        Ok(value)
    }

    fn grow(&mut self, values: usize, depth: usize, at: Mark) -> Result<(), YamlError> {
        self.values = self.values.saturating_add(values);
        if depth > DEPTH || self.values > VALUES { Err(YamlError::TooLarge(line(at))) } else { Ok(()) }
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
