//! Strings and characters under Go's string verbs, and Go's quoting (`strconv/quote.go`).

use super::{Spec, printable::PRINTABLE};

/// Prints a string; false if the verb does not take one.
pub(super) fn print(string: &str, verb: char, spec: Spec, out: &mut String) -> bool {
    match verb {
        'v' if spec.go_syntax => quoted_under(string, spec, out),
        'v' | 's' => plain(string, spec, out),
        'q' => quoted_under(string, spec, out),
        'x' => hex(string, spec, false, out),
        'X' => hex(string, spec, true, out),
        _ => return false,
    }
    true
}

/// `%s`: at most precision characters, padded to the width.
pub(super) fn plain(string: &str, spec: Spec, out: &mut String) {
    spec.pad(truncated(string, spec), out);
}

fn truncated(string: &str, spec: Spec) -> &str {
    let end = spec.precision.and_then(|precision| string.char_indices().nth(precision));
    end.and_then(|(end, _)| string.get(..end)).unwrap_or(string)
}

fn quoted_under(string: &str, spec: Spec, out: &mut String) {
    let string = truncated(string, spec);
    if spec.sharp && can_backquote(string) {
        return spec.pad(&format!("`{string}`"), out);
    }
    spec.pad(&quote_with(string, '"', spec.plus), out);
}

/// `strconv.Quote`.
pub(crate) fn quoted(string: &str) -> String {
    quote_with(string, '"', false)
}

/// `strconv.QuoteRune`, to ASCII if asked for.
pub(super) fn quoted_rune(rune: char, ascii: bool) -> String {
    quote_with(rune.encode_utf8(&mut [0; 4]), '\'', ascii)
}

fn quote_with(string: &str, quote: char, ascii: bool) -> String {
    let mut quoted = String::with_capacity(string.len().saturating_add(2));
    quoted.push(quote);
    let as_it_is = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\' && char::from(byte) != quote;
    if string.bytes().all(as_it_is) {
        quoted.push_str(string);
    } else {
        string.chars().for_each(|character| escape(character, quote, ascii, &mut quoted));
    }
    quoted.push(quote);
    quoted
}

fn escape(character: char, quote: char, ascii: bool, out: &mut String) {
    if character == quote || character == '\\' {
        out.push('\\');
        return out.push(character);
    }
    if is_printable(character) && (character.is_ascii() || !ascii) {
        return out.push(character);
    }
    let point = u32::from(character);
    out.push_str(&match character {
        '\u{7}' => r"\a".to_owned(),
        '\u{8}' => r"\b".to_owned(),
        '\u{c}' => r"\f".to_owned(),
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        '\u{b}' => r"\v".to_owned(),
        '\0'..='\u{7f}' => format!("\\x{point:02x}"),
        '\u{80}'..='\u{ffff}' => format!("\\u{point:04x}"),
        _ => format!("\\U{point:08x}"),
    });
}

/// `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='\u{7e}').contains(&character);
    }
    let point = u32::from(character);
    let after = PRINTABLE.partition_point(|(first, _)| *first <= point);
    let range = after.checked_sub(1).and_then(|index| PRINTABLE.get(index));
    range.is_some_and(|(_, last)| point <= *last)
}

/// `strconv.CanBackquote`: one line, no control character but the tab, no backquote.
fn can_backquote(string: &str) -> bool {
    !string.chars().any(|c| c == '\u{feff}' || (c < ' ' && c != '\t') || c == '`' || c == '\u{7f}')
}

/// The character of a number, or the replacement character where there is none.
pub(super) fn rune(int: i64) -> char {
    u32::try_from(int).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// `%x`: two digits a byte, of at most precision bytes.
fn hex(string: &str, spec: Spec, upper: bool, out: &mut String) {
    let count = spec.precision.unwrap_or(string.len()).min(string.len());
    let prefix = match (spec.sharp, upper) {
        (true, true) => "0X",
        (true, false) => "0x",
        (false, _) => "",
    };
    let mut body = String::new();
    for (position, byte) in string.bytes().take(count).enumerate() {
        if position > 0 && spec.space {
            body.push(' ');
        }
        if position == 0 || spec.space {
            body.push_str(prefix);
        }
        body.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
    }
    spec.pad(&body, out);
}

/// Digits with zeros in front up to a length; Rust's own padding ends at 65,535.
pub(super) fn zeros_before(digits: &str, length: usize) -> String {
    let missing = length.saturating_sub(digits.len());
    std::iter::repeat_n('0', missing).chain(digits.chars()).collect()
}
