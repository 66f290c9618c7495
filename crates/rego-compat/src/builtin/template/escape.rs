//! Strings escaped for HTML and JavaScript.

use go_compat::strconv::is_print;

pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

pub(super) fn script(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            other if other.is_ascii() || is_print(other) => out.push(other),
            other => out.push_str(&format!("\\u{:04X}", u32::from(other))),
        }
    }
    out
}
