//! JSON values as `encoding/json` writes them.

use serde_json::Value;

use super::quote;
use crate::strconv;

/// Returns a value as `json.Marshal` writes it, compact: keys are sorted, the float `1.0` is 1, and what HTML gives a meaning is escaped.
#[must_use]
pub fn marshal(value: &Value) -> String {
    let mut out = String::new();
    append(value, &mut out);
    out
}

fn append(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().and_then(strconv::format_json);
            out.push_str(&float.unwrap_or_else(|| number.to_string()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(string) => quote(string, out),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                append(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // They are sorted already, unless a program switches on serde_json's `preserve_order`.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (position, (name, value)) in fields.into_iter().enumerate() {
                out.push_str(if position == 0 { "" } else { "," });
                quote(name, out);
                out.push(':');
                append(value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_in_go() {
        let value = json!({"b": [1.0, 1e20, 1e21, 1e-7, -0.0, 2.5, 1, u64::MAX], "a<": ["\u{2028}&", null, true, {}, []]});
        let expected = r#"{"a\u003c":["\u2028\u0026",null,true,{},[]],"b":[1,100000000000000000000,1e+21,1e-7,-0,2.5,1,18446744073709551615]}"#;
        assert_eq!(marshal(&value), expected);
    }
}
