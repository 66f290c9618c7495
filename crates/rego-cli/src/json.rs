//! JSON as Go's `encoding/json` writes it: put together compact, indented at the end.

use go_compat::json::indent;
use go_compat::strconv::format_json;
use rego_compat::{Value, to_json};

/// Returns a string as JSON.
pub(crate) fn string(string: &str) -> String {
    to_json(&Value::from(string))
}

/// Returns an object of fields that are JSON already, in this order.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{}:{value}", string(name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// Returns an array of items that are JSON already.
pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// Returns a float as Go writes it; `null` for what JSON has no number for.
pub(crate) fn float(number: f64) -> String {
    format_json(number).unwrap_or_else(|| "null".to_owned())
}

/// Indents compact JSON by two spaces a level, with a line feed at the end.
pub(crate) fn indented(compact: &str) -> String {
    let mut out = indent(compact, "", "  ");
    out.push('\n');
    out
}
