//! A value as OPA prints a term: `{"a": [1, true], "b": {2, 3}}`.
//!
//! This is `ast.Value.String()`: strings quoted as Go quotes them, sets and objects in OPA's order.

use go_compat::strconv;

use super::Value;

/// Returns the text of a value.
pub(crate) fn of(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.text()),
        Value::String(string) => out.push_str(&strconv::quote(string)),
        Value::Array(array) => list('[', array.iter(), ']', out),
        Value::Set(set) if set.is_empty() => out.push_str("set()"),
        Value::Set(set) => list('{', set.iter(), '}', out),
        Value::Object(object) => {
            out.push('{');
            for (position, (key, value)) in object.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn list<'a>(open: char, elements: impl Iterator<Item = &'a Value>, close: char, out: &mut String) {
    out.push(open);
    for (position, element) in elements.enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        write(element, out);
    }
    out.push(close);
}
