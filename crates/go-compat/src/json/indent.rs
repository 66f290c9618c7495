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
    let mut depth = 0usize;
    let (mut is_quoted, mut is_escaped) = (false, false);
    // Behind a bracket: the line of the first entry begins when there is one.
    let mut is_opened = false;
    for character in json.chars() {
        if is_quoted {
            out.push(character);
            (is_quoted, is_escaped) = (character != '"' || is_escaped, character == '\\' && !is_escaped);
            continue;
        }
        let closes = matches!(character, '}' | ']');
        if character.is_ascii_whitespace() {
            continue;
        }
        if is_opened && !closes {
            depth = depth.saturating_add(1);
            new_line(depth, &mut out);
        } else if closes && !is_opened {
            depth = depth.saturating_sub(1);
            new_line(depth, &mut out);
        }
        out.push(character);
        is_opened = matches!(character, '{' | '[');
        match character {
            ',' => new_line(depth, &mut out),
            ':' => out.push(' '),
            _ => is_quoted = character == '"',
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn indented_json_means_what_the_compact_one_means() {
        let compact = r#"[{"a":{"b":[null,true,"\u003c"]}},[[]],1.5]"#;
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&indent(compact, "", "  ")), parse(compact));
    }
}
