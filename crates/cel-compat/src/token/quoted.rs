//! String and bytes literals: prefixes, quotes and escapes. Knows nothing of other tokens.

use std::sync::Arc;

use crate::value::Value;

use super::{Issue, Lexer};

const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

/// The shape of a literal that its prefix states.
struct Shape {
    quote: &'static str,
    raw: bool,
    bytes: bool,
}

/// The token where a string or bytes literal may begin.
pub(super) enum Scan {
    /// Something else.
    Nothing,
    /// A literal, or what is wrong with an escape in it.
    Literal(Result<Value, Issue>),
    /// A literal that does not end, or has an escape that does not exist: the character after the last one that fits.
    Broken,
}

/// Reads the string or bytes literal that begins here, if one does.
///
/// A literal in three quotes that does not end is an empty literal in one quote, and something behind it; one with a
/// prefix is a name, and something behind it.
pub(super) fn literal(lexer: &mut Lexer<'_>) -> Scan {
    let at = lexer.at;
    let Some(shape) = shape(lexer) else {
        return Scan::Nothing;
    };
    let opened = lexer.at;
    let mut content = Content::new(shape.bytes);
    if let Some(end) = body(lexer, &shape, &mut content) {
        lexer.at = end;
        return Scan::Literal(content.finish(at));
    }
    if shape.quote.len() == 3 {
        lexer.at = opened.saturating_sub(1);
        return Scan::Literal(Content::new(shape.bytes).finish(at));
    }
    if opened.saturating_sub(at) > 1 {
        lexer.at = at;
        return Scan::Nothing;
    }
    Scan::Broken
}

/// Reads up to the closing quote and returns the end; stays at the first character that does not fit.
fn body(lexer: &mut Lexer<'_>, shape: &Shape, content: &mut Content) -> Option<usize> {
    loop {
        if lexer.take(shape.quote) {
            return Some(lexer.at);
        }
        let c = lexer.peek()?;
        if matches!(c, '\n' | '\r') && shape.quote.len() == 1 {
            return None;
        }
        lexer.at = lexer.at.saturating_add(c.len_utf8());
        if c == '\\' && !shape.raw {
            escape(lexer, content)?;
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
        "br" | "bR" | "Br" | "BR" => (true, true),
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

/// The part of a literal that has been read.
struct Content {
    read: Read,
    /// The error of an escape that has the right form.
    issue: Option<&'static str>,
}

enum Read {
    Text(String),
    Bytes(Vec<u8>),
}

impl Content {
    const fn new(bytes: bool) -> Self {
        let read = if bytes { Read::Bytes(Vec::new()) } else { Read::Text(String::new()) };
        Self { read, issue: None }
    }

    fn push(&mut self, c: char) {
        match &mut self.read {
            Read::Text(text) => text.push(c),
            Read::Bytes(bytes) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    /// `\x` and octal escapes: a byte of bytes, a code point of text.
    fn push_byte(&mut self, byte: u8) {
        match &mut self.read {
            Read::Text(text) => text.push(char::from(byte)),
            Read::Bytes(bytes) => bytes.push(byte),
        }
    }

    /// `\u` and `\U` escapes, which bytes do not have.
    fn push_point(&mut self, point: u32) {
        match (&self.read, char::from_u32(point)) {
            (Read::Bytes(_), _) => self.issue = Some("unable to unescape string"),
            (Read::Text(_), Some(c)) => self.push(c),
            (Read::Text(_), None) => self.issue = Some("invalid unicode code point"),
        }
    }

    fn finish(self, at: usize) -> Result<Value, Issue> {
        match (self.issue, self.read) {
            (Some(issue), _) => Err(Issue::new(at, issue)),
            (None, Read::Text(content)) => Ok(Value::string(content)),
            (None, Read::Bytes(bytes)) => Ok(Value::Bytes(Arc::new(bytes))),
        }
    }
}

/// Reads what follows a backslash; `None` for what is not an escape.
fn escape(lexer: &mut Lexer<'_>, content: &mut Content) -> Option<()> {
    let c = lexer.peek()?;
    if matches!(c, '0'..='3') {
        let code = digits(lexer, 3, 8)?;
        content.push_byte(u8::try_from(code).ok()?);
        return Some(());
    }
    if !"abfnrtv\\?\"'`xXuU".contains(c) {
        return None;
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
        'x' | 'X' => content.push_byte(u8::try_from(digits(lexer, 2, 16)?).ok()?),
        'u' => content.push_point(digits(lexer, 4, 16)?),
        'U' => content.push_point(digits(lexer, 8, 16)?),
        other => content.push(other),
    }
    Some(())
}

/// Reads so many digits; stays at the first character that is not one.
fn digits(lexer: &mut Lexer<'_>, length: usize, radix: u32) -> Option<u32> {
    let mut number = 0_u32;
    for _ in 0..length {
        let digit = lexer.peek()?.to_digit(radix)?;
        number = number.saturating_mul(radix).saturating_add(digit);
        lexer.at = lexer.at.saturating_add(1);
    }
    Some(number)
}
