//! Values as text, equal ones equally: numbers as Go writes the nearest binary float.
//!
//! `const` and `enum` compare and print these. Numbers that differ beyond a float's precision are one here, as in the
//! library.

use go_compat::strconv;

use crate::builtin::json::quote;
use crate::value::{Number, Value};

/// Returns the text of a value; none where a number is beyond what a float holds, which the library reports for a schema and
/// does not survive for a document.
pub(super) fn text(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), String> {
    match value {
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number)?),
        Value::String(text) => quote(text, out),
        Value::Array(items) => list(items, out)?,
        Value::Object(pairs) => {
            out.push('{');
            for (position, (key, value)) in pairs.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write(key, out)?;
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
        Value::Null | Value::Set(_) | Value::Undefined => out.push_str("null"),
    }
    Ok(())
}

fn list(items: &[Value], out: &mut String) -> Result<(), String> {
    out.push('[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(item, out)?;
    }
    out.push(']');
    Ok(())
}

fn number_text(number: &Number) -> Result<String, String> {
    number.as_f64().and_then(strconv::format_json).ok_or_else(|| {
        format!("json: cannot unmarshal number {} into Go value of type float64", number.text())
    })
}
