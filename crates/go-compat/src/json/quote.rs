//! Strings as `encoding/json` writes them.

/// Appends a string in quotes as `json.Marshal` writes it: `<`, `>` and `&` are escaped, so that HTML may hold the text.
pub fn quote(string: &str, out: &mut String) {
    append(string, out, |byte| matches!(byte, b'<' | b'>' | b'&'));
}

/// Appends as [`quote`] does, with `<`, `>` and `&` as they are: as an `Encoder` writes after `SetEscapeHTML(false)`.
pub fn quote_without_html(string: &str, out: &mut String) {
    append(string, out, |_| false);
}

/// Copies the pieces between escapes whole. The lead byte of U+2028 and U+2029, which JavaScript takes for line ends, is
/// a candidate: other characters have it too.
fn append(string: &str, out: &mut String, is_html: impl Fn(u8) -> bool) {
    out.push('"');
    let is_candidate = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f | 0xe2) || is_html(byte);
    let mut rest = string;
    while let Some(at) = rest.bytes().position(is_candidate) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut characters = special.chars();
        match characters.next().unwrap_or_default() {
            character @ ('"' | '\\') => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            character if character.is_ascii() || matches!(character, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_in_go() {
        let string = "a<b>&\"\\\n\r\t\u{8}\u{c}\u{1}\u{7f}é–\u{2028}\u{2029}x";
        let mut out = String::new();
        quote(string, &mut out);
        let expected = "\"a\\u003cb\\u003e\\u0026\\\"\\\\\\n\\r\\t\\b\\f\\u0001\u{7f}é–\\u2028\\u2029x\"";
        assert_eq!(out, expected);
        out.clear();
        quote_without_html(string, &mut out);
        let plain = expected.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&");
        assert_eq!(out, plain);
    }
}
