//! JSON documents in a row, with the lines they start at: JSON Lines, and what `kubectl get -o json` prints.
//!
//! YAML's reader would do for most JSON; it does not know surrogate pairs and tabs between tokens. Numbers become what
//! they become there: `kubectl` sends 1 for `1.0` of either.

use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::compose::DuplicateKey;
use super::{Placed, scalar};

/// The documents, or `None` where the text is not JSON from beginning to end, or none that has to be read as JSON.
pub(super) fn documents(text: &str) -> Option<Vec<Placed>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut lines = Lines { text, offset: 0, line: 1 };
    let mut found = Vec::new();
    for raw in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        found.push(placed(raw.ok()?.get(), &mut lines)?);
    }
    Some(found)
}

fn placed(raw: &str, lines: &mut Lines<'_>) -> Option<Placed> {
    let line = lines.at(raw);
    let repeated = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(raw);
    let value = Reader(&repeated).deserialize(&mut reader).ok()?;
    let item_lines = match (&value, value.get("items")) {
        (Value::Array(_), _) => lines_of(&serde_json::from_str::<Vec<&RawValue>>(raw).ok()?, lines),
        (_, Some(Value::Array(_))) => item_lines(raw, lines),
        _ => Vec::new(),
    };
    // The place of the document: a JSON reader does not say where a key stands.
    let duplicate = repeated.into_inner().map(|key| DuplicateKey { line, key });
    Some(Placed { line, value, item_lines, duplicate })
}

/// Reads a value, and notes the first key that a mapping has twice. The later value counts.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // serde_json reads `-0` as a float.
        let value = if value == 0.0 { 0.0 } else { value };
        scalar::json_float(value).ok_or_else(|| E::custom("not a number of JSON"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = entries.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if fields.contains_key(&key) {
                self.0.borrow_mut().get_or_insert_with(|| key.clone());
            }
            fields.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(fields))
    }
}

fn item_lines(raw: &str, lines: &mut Lines<'_>) -> Vec<u64> {
    #[derive(Deserialize)]
    struct Items<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    // Two fields called `items` are refused here; the list then counts as one place.
    let items = serde_json::from_str::<Items<'_>>(raw).map(|list| list.items).unwrap_or_default();
    lines_of(&items, lines)
}

fn lines_of(items: &[&RawValue], lines: &mut Lines<'_>) -> Vec<u64> {
    items.iter().map(|item| lines.at(item.get())).collect()
}

/// Counts newlines once, for places that are asked for in their order.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line at which a part of the text starts.
    fn at(&mut self, part: &str) -> u64 {
        let start = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        let between = self.text.get(self.offset..start).unwrap_or_default();
        let newlines = between.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u64::try_from(newlines).unwrap_or(u64::MAX));
        self.offset = self.offset.max(start);
        self.line
    }
}
