//! JSON as Go's `encoding/json` writes it: compact texts put together, indented at the end.

use rego_compat::{Value, to_json};

/// Returns a string as JSON.
pub(crate) fn text(text: &str) -> String {
    to_json(&Value::from(text))
}

/// Returns an object of fields that are JSON already, in this order.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{}:{value}", text(name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// Returns an array of items that are JSON already.
pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// Returns a float as Go writes it.
pub(crate) fn float(number: f64) -> String {
    // `Display` never writes an exponent, and percentages are too small for Go to write one.
    format!("{number}")
}

/// Indents compact JSON by two spaces a level, with a line feed at the end.
pub(crate) fn indented(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len().saturating_mul(2));
    let mut depth = 0usize;
    let (mut quoted, mut escaped) = (false, false);
    let mut characters = compact.chars().peekable();
    while let Some(character) = characters.next() {
        if quoted {
            out.push(character);
            (quoted, escaped) = (character != '"' || escaped, character == '\\' && !escaped);
            continue;
        }
        match character {
            '{' | '[' => {
                out.push(character);
                if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth = depth.saturating_add(1);
                    new_line(depth, &mut out);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(depth, &mut out);
                out.push(character);
            }
            ',' => {
                out.push(character);
                new_line(depth, &mut out);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = character == '"';
                out.push(character);
            }
        }
    }
    out.push('\n');
    out
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_outside_of_strings_is_indented() {
        let compact = r#"{"a":[1,{}],"b\"{":"x:[,]\\","c":[]}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\\\"{\": \"x:[,]\\\\\",\n  \"c\": []\n}\n";
        assert_eq!(indented(compact), expected);
    }

    #[test]
    fn indented_text_means_what_the_compact_one_means() {
        let compact = r#"[{"a":{"b":[null,true,"\u003c"]}},[[]],1.5]"#;
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&indented(compact)), parse(compact));
    }
}
