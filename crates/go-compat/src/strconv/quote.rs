//! `strconv/quote.go`.

use super::printable::PRINTABLE;

/// Quotes a string as `strconv.Quote` does.
#[must_use]
pub fn quote(string: &str) -> String {
    quote_with(string, '"', false)
}

/// Quotes a string as `strconv.QuoteToASCII` does.
#[must_use]
pub fn quote_to_ascii(string: &str) -> String {
    quote_with(string, '"', true)
}

/// Quotes a character as `strconv.QuoteRune` does, or `strconv.QuoteRuneToASCII`.
#[must_use]
pub fn quote_rune(rune: char, ascii: bool) -> String {
    quote_with(rune.encode_utf8(&mut [0; 4]), '\'', ascii)
}

fn quote_with(string: &str, quote: char, ascii: bool) -> String {
    let mut quoted = String::with_capacity(string.len().saturating_add(2));
    quoted.push(quote);
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\' && char::from(byte) != quote;
    if string.bytes().all(is_plain) {
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
    if is_print(character) && (character.is_ascii() || !ascii) {
        return out.push(character);
    }
    if let Some(letter) = named_escape(character) {
        return out.extend(['\\', letter]);
    }
    let point = u32::from(character);
    out.push_str(&match character {
        '\0'..='\u{7f}' => format!("\\x{point:02x}"),
        '\u{80}'..='\u{ffff}' => format!("\\u{point:04x}"),
        _ => format!("\\U{point:08x}"),
    });
}

/// Returns the result of `strconv.IsPrint`: true for letters, marks, numbers, punctuation, symbols and the ASCII space.
#[must_use]
pub fn is_print(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='\u{7e}').contains(&character);
    }
    let point = u32::from(character);
    let after = PRINTABLE.partition_point(|(first, _)| *first <= point);
    let range = after.checked_sub(1).and_then(|index| PRINTABLE.get(index));
    range.is_some_and(|(_, last)| point <= *last)
}

/// Returns the result of `strconv.CanBackquote`: true for one line with no control character but the tab and no backquote.
#[must_use]
pub fn can_backquote(string: &str) -> bool {
    !string.chars().any(|c| c == '\u{feff}' || (c < ' ' && c != '\t') || c == '`' || c == '\u{7f}')
}

/// Quotes a string with the escapes that have a letter, and every other character as it is: what cel-go's
/// `strings.quote` does, which leaves other control characters and all of Unicode alone.
#[must_use]
pub fn quote_named_escapes(string: &str) -> String {
    let mut quoted = String::from("\"");
    for character in string.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            other => match named_escape(other) {
                Some(letter) => quoted.extend(['\\', letter]),
                None => quoted.push(other),
            },
        }
    }
    quoted.push('"');
    quoted
}

/// The letter of a control character that Go escapes by name.
const fn named_escape(character: char) -> Option<char> {
    Some(match character {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        _ => return None,
    })
}
