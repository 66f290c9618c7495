//! JSON documents in a row, with the lines they start at: JSON Lines, and what `kubectl get -o json` prints.
//!
//! YAML's reader would do for most JSON; it does not know surrogate pairs and tabs between tokens. Keys that stand
//! twice are not looked for: programs write JSON.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Placed;

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
    let value: Value = serde_json::from_str(raw).ok()?;
    let item_lines = match value.get("items") {
        Some(Value::Array(_)) => item_lines(raw, lines),
        _ => Vec::new(),
    };
    Some(Placed { line, value, item_lines, duplicate: None })
}

fn item_lines(raw: &str, lines: &mut Lines<'_>) -> Vec<u64> {
    #[derive(Deserialize)]
    struct Items<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    // Two fields called `items` are refused here; the list then counts as one place.
    let items = serde_json::from_str::<Items<'_>>(raw).map(|list| list.items).unwrap_or_default();
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
