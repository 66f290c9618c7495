//! `encoding/json/indent.go`.

/// Returns JSON as `json.Indent` writes it: each entry of an object or array is on a line of its own, which starts with
/// `prefix` and one `indent` for each level. An empty object or array stays on its line.
#[must_use]
pub fn indent(json: &str, prefix: &str, indent: &str) -> String {
    let mut out = String::with_capacity(json.len().saturating_mul(2));
    let new_line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(prefix);
        out.extend(std::iter::repeat_n(indent, depth));
    };
    let mut depth = 0_usize;
    // Behind a bracket: the line of the first entry begins when there is one.
    let mut is_opened = false;
    let mut rest = json.trim_ascii_start();
    while let Some(first) = rest.bytes().next() {
        let closes = matches!(first, b'}' | b']');
        if is_opened && !closes {
            depth = depth.saturating_add(1);
            new_line(depth, &mut out);
        } else if closes && !is_opened {
            depth = depth.saturating_sub(1);
            new_line(depth, &mut out);
        }
        let (token, behind) = rest.split_at_checked(token_length(rest)).unwrap_or((rest, ""));
        out.push_str(token);
        is_opened = matches!(first, b'{' | b'[');
        match first {
            b',' => new_line(depth, &mut out),
            b':' => out.push(' '),
            _ => {}
        }
        rest = behind.trim_ascii_start();
    }
    out
}

/// The length of the token at the start of a text: a string with its quotes, a bracket, a comma, a colon, a number or a word.
fn token_length(text: &str) -> usize {
    let mut is_escaped = false;
    let closes = |byte: u8| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    };
    match text.as_bytes().first() {
        Some(b'"') => text.bytes().skip(1).position(closes).map_or(text.len(), |end| end.saturating_add(2)),
        Some(b'{' | b'}' | b'[' | b']' | b',' | b':') => 1,
        _ => text
            .find(|sign: char| "{}[],:\"".contains(sign) || sign.is_ascii_whitespace())
            .unwrap_or(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;
    use serde_json::ser::PrettyFormatter;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![any::<String>(), "[\"\\\\,:{}\\[\\]\n ]{0,6}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_looks_as_serde_json_prints_it(value in values()) {
            let mut expected = Vec::new();
            let formatter = PrettyFormatter::with_indent(b"    ");
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut expected, formatter)).unwrap();
            let found = indent(&value.to_string(), "", "    ");
            prop_assert_eq!(found, String::from_utf8(expected).unwrap());
        }
    }

    #[test]
    fn only_what_is_outside_of_strings_is_indented() {
        let compact = r#"{"a":[1,{}],"b\"{":"x:[,]\\","c":[]}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\\\"{\": \"x:[,]\\\\\",\n  \"c\": []\n}";
        assert_eq!(indent(compact, "", "  "), expected);
        assert_eq!(indent(expected, "", "  "), expected);
    }

    #[test]
    fn a_prefix_starts_each_line_but_the_first() {
        assert_eq!(indent(r#"{"a":[1]}"#, "> ", "\t"), "{\n> \t\"a\": [\n> \t\t1\n> \t]\n> }");
    }
}
