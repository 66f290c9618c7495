//! JSON text to values and back, with the numbers as they are spelled.

use go_compat::json::{self, FromJson, quote_without_html as quote};

use super::{Array, Number, Object, Value, ValueError};

pub(super) fn read(text: &str) -> Result<Value, ValueError> {
    json::decode(text).map_err(|error| ValueError::Json { reason: error.reason, at: error.at })
}

impl FromJson for Value {
    type Key = Self;

    fn null() -> Self {
        Self::Null
    }

    fn bool(bool: bool) -> Self {
        Self::Bool(bool)
    }

    fn number(text: &str) -> Option<Self> {
        Number::in_document(text).map(Self::Number)
    }

    fn string(string: &str) -> Self {
        Self::from(string)
    }

    fn key(key: &str) -> Self {
        Self::from(key)
    }

    fn array(mut items: Vec<Self>) -> Self {
        items.shrink_to_fit();
        Array::from(items).into_value()
    }

    fn object(mut pairs: Vec<(Self, Self)>) -> Self {
        pairs.shrink_to_fit();
        Object::of(pairs).into_value()
    }
}

pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    write_to(value, &mut out);
    out
}

fn write_to(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.json_text()),
        Value::String(text) => quote(text, out),
        Value::Array(items) => list(items.iter(), out),
        Value::Set(items) => list(items.iter(), out),
        Value::Object(pairs) => {
            out.push('{');
            for (position, (key, value)) in pairs.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                match key {
                    Value::String(text) => quote(text, out),
                    key => quote(&write(key), out),
                }
                out.push(':');
                write_to(value, out);
            }
            out.push('}');
        }
    }
}

fn list<'v>(items: impl Iterator<Item = &'v Value>, out: &mut String) {
    out.push('[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(',');
        }
        write_to(item, out);
    }
    out.push(']');
}
