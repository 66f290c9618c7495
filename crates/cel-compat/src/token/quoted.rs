//! String and bytes literals: prefixes, quotes and escapes. Knows nothing of other tokens.

use std::sync::Arc;

use crate::value::Value;

use super::{Lexer, Mistake};

const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

/// What the prefix of a literal says.
struct Shape {
    quote: &'static str,
    raw: bool,
    bytes: bool,
}

/// The string or bytes literal that begins here, if one does.
///
/// # Errors
/// A literal without an end, or an escape that does not exist.
pub(super) fn literal(lexer: &mut Lexer<'_>) -> Result<Option<Value>, Mistake> {
    let at = lexer.at;
    let Some(shape) = shape(lexer) else {
        return Ok(None);
    };
    let mut content = Content::new(shape.bytes);
    loop {
        if lexer.take(shape.quote) {
            return content.finish(at).map(Some);
        }
        let Some(c) = lexer.peek() else {
            return Err(Mistake::new(at, "the text has no closing quote"));
        };
        if matches!(c, '\n' | '\r') && shape.quote.len() == 1 {
            return Err(Mistake::new(at, "the text has no closing quote in its line"));
        }
        lexer.at = lexer.at.saturating_add(c.len_utf8());
        if c == '\\' && !shape.raw {
            escape(lexer, &mut content)?;
        } else {
            content.push(c);
        }
    }
}

/// Moves over prefix and opening quote; stays where there is no literal.
fn shape(lexer: &mut Lexer<'_>) -> Option<Shape> {
    let start = lexer.at;
    let prefix = lexer.take_while(|c| matches!(c, 'r' | 'R' | 'b' | 'B'));
    let (raw, bytes) = match prefix {
        "" => (false, false),
        "r" | "R" => (true, false),
        "b" | "B" => (false, true),
        "br" | "bR" | "Br" | "BR" | "rb" | "rB" | "Rb" | "RB" => (true, true),
        _ => {
            lexer.at = start;
            return None;
        }
    };
    match QUOTES.into_iter().find(|quote| lexer.take(quote)) {
        Some(quote) => Some(Shape { quote, raw, bytes }),
        None => {
            lexer.at = start;
            None
        }
    }
}

/// What has been read of a literal.
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl Content {
    const fn new(bytes: bool) -> Self {
        if bytes { Self::Bytes(Vec::new()) } else { Self::Text(String::new()) }
    }

    fn push(&mut self, c: char) {
        match self {
            Self::Text(text) => text.push(c),
            Self::Bytes(bytes) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    /// `\x` and octal escapes: a byte of bytes, a code point of text.
    fn push_byte(&mut self, byte: u8) {
        match self {
            Self::Text(text) => text.push(char::from(byte)),
            Self::Bytes(bytes) => bytes.push(byte),
        }
    }

    fn finish(self, _at: usize) -> Result<Value, Mistake> {
        Ok(match self {
            Self::Text(content) => Value::text(content),
            Self::Bytes(bytes) => Value::Bytes(Arc::new(bytes)),
        })
    }
}

/// Reads what follows a backslash.
fn escape(lexer: &mut Lexer<'_>, content: &mut Content) -> Result<(), Mistake> {
    let at = lexer.at.saturating_sub(1);
    let Some(c) = lexer.peek() else {
        return Err(Mistake::new(at, "the text has no closing quote"));
    };
    if matches!(c, '0'..='3') {
        let byte = digits(lexer, 3, 8).and_then(|code| u8::try_from(code).ok());
        content.push_byte(byte.ok_or_else(|| Mistake::new(at, "an octal escape has three digits"))?);
        return Ok(());
    }
    lexer.at = lexer.at.saturating_add(c.len_utf8());
    match c {
        'a' => content.push('\u{7}'),
        'b' => content.push('\u{8}'),
        'f' => content.push('\u{c}'),
        'n' => content.push('\n'),
        'r' => content.push('\r'),
        't' => content.push('\t'),
        'v' => content.push('\u{b}'),
        '\\' | '?' | '"' | '\'' | '`' => content.push(c),
        'x' | 'X' => {
            let byte = digits(lexer, 2, 16).and_then(|code| u8::try_from(code).ok());
            content.push_byte(byte.ok_or_else(|| Mistake::new(at, "\\x takes two hexadecimal digits"))?);
        }
        'u' | 'U' if matches!(content, Content::Text(_)) => {
            let length = if c == 'u' { 4 } else { 8 };
            let point = digits(lexer, length, 16).and_then(char::from_u32);
            content.push(point.ok_or_else(|| Mistake::new(at, "not a Unicode code point"))?);
        }
        other => return Err(Mistake::new(at, format!("there is no escape \\{other}"))),
    }
    Ok(())
}

fn digits(lexer: &mut Lexer<'_>, length: usize, radix: u32) -> Option<u32> {
    let digits = lexer.rest().get(..length)?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    lexer.at = lexer.at.saturating_add(length);
    u32::from_str_radix(digits, radix).ok()
}
