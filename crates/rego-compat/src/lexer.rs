//! Source text to tokens, in one pass over the bytes.
//!
//! The rules are those of OPA's scanner (v1/ast/internal/scanner). The lexer holds the size bound and nothing
//! about grammar: which identifiers are keywords is the parser's business.

use crate::diagnostic::Pos;
use crate::token::{Kind, Token};

/// The error of text that the lexer cannot read.
#[derive(Debug)]
pub(crate) struct LexError {
    pub(crate) at: Pos,
    pub(crate) message: &'static str,
}

/// A template string that is open: how many braces its current expression has open.
struct Template {
    braces: u32,
    raw: bool,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    templates: Vec<Template>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Splits the text into tokens; the last one is always [`Kind::End`]. A byte order mark may begin the text.
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, LexError> {
    let begin = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    if let Some(error) = illegal_character(text, begin) {
        return Err(error);
    }
    let mut lexer = Lexer { bytes: text.as_bytes(), at: begin, templates: Vec::new() };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let (spaced, newline) = lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.next_kind()?;
        tokens.push(Token { kind, start: offset(start), end: offset(lexer.at), spaced, newline });
        if kind == Kind::End {
            return Ok(tokens);
        }
    }
}

/// Returns the first character from `begin` on that is refused wherever it is, also in strings and comments. Each search is
/// one for a byte, many at a time.
fn illegal_character(text: &str, begin: usize) -> Option<LexError> {
    let null = text.find('\0').map(|at| (at, "illegal null character"));
    let mark = text.get(begin..)?.find(BYTE_ORDER_MARK);
    let mark = mark.map(|at| (at.saturating_add(begin), "illegal byte-order mark"));
    let (at, message) = null.into_iter().chain(mark).min()?;
    Some(LexError { at: Pos(offset(at), offset(at)), message })
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

const fn is_name_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at.saturating_add(ahead)).copied()
    }

    fn bump(&mut self, by: usize) {
        self.at = self.at.saturating_add(by);
    }

    fn error<T>(&self, message: &'static str) -> Result<T, LexError> {
        Err(LexError { at: Pos(offset(self.at), offset(self.at)), message })
    }

    /// Skips white space and comments; answers whether there was any, and whether a line ended.
    fn skip_blank(&mut self) -> (bool, bool) {
        let (mut spaced, mut newline) = (false, false);
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => newline = true,
                b' ' | b'\t' | b'\r' => {}
                b'#' => {
                    while self.peek(1).is_some_and(|next| next != b'\n') {
                        self.bump(1);
                    }
                }
                _ => break,
            }
            spaced = true;
            self.bump(1);
        }
        (spaced, newline)
    }

    fn next_kind(&mut self) -> Result<Kind, LexError> {
        let Some(byte) = self.peek(0) else {
            return Ok(Kind::End);
        };
        match byte {
            b if is_name_start(b) => {
                self.skip_while(is_name_part);
                Ok(Kind::Ident)
            }
            b if b.is_ascii_digit() => self.number(),
            b'"' => self.string(),
            b'`' => self.raw_string(),
            b'$' => self.template_start(),
            b'}' if self.templates.last().is_some_and(|open| open.braces == 0) => self.template_rest(),
            _ => self.punctuation(byte),
        }
    }

    fn skip_while(&mut self, accept: fn(u8) -> bool) {
        while self.peek(0).is_some_and(accept) {
            self.bump(1);
        }
    }

    /// Reads the digits, an optional fraction, an optional exponent. A leading dot is a token of its own.
    fn number(&mut self) -> Result<Kind, LexError> {
        let digit: fn(u8) -> bool = |b| b.is_ascii_digit();
        self.skip_while(digit);
        if self.peek(0) == Some(b'.') {
            self.bump(1);
            if !self.peek(0).is_some_and(digit) {
                return self.error("expected fraction");
            }
            self.skip_while(digit);
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            self.bump(1);
            if matches!(self.peek(0), Some(b'+' | b'-')) {
                self.bump(1);
            }
            if !self.peek(0).is_some_and(digit) {
                return self.error("expected exponent");
            }
            self.skip_while(digit);
        }
        if self.peek(0).is_some_and(is_name_start) {
            return self.error("illegal number format");
        }
        Ok(Kind::Number)
    }

    fn string(&mut self) -> Result<Kind, LexError> {
        self.bump(1);
        loop {
            match self.peek(0) {
                None | Some(b'\n') => return self.error("non-terminated string"),
                Some(b'\\') => self.bump(2),
                Some(b'"') => {
                    self.bump(1);
                    return Ok(Kind::String);
                }
                Some(_) => self.bump(1),
            }
        }
    }

    fn raw_string(&mut self) -> Result<Kind, LexError> {
        self.bump(1);
        loop {
            match self.peek(0) {
                None => return self.error("non-terminated string"),
                Some(b'`') => {
                    self.bump(1);
                    return Ok(Kind::RawString);
                }
                Some(_) => self.bump(1),
            }
        }
    }

    fn template_start(&mut self) -> Result<Kind, LexError> {
        let raw = match self.peek(1) {
            Some(b'"') => false,
            Some(b'`') => true,
            _ => return self.error("illegal $ character"),
        };
        self.bump(1);
        self.templates.push(Template { braces: 0, raw });
        self.template_rest()
    }

    /// Reads text of a template from its opening quote or closing brace up to the next `{` or the closing quote.
    fn template_rest(&mut self) -> Result<Kind, LexError> {
        let raw = self.templates.last().is_some_and(|open| open.raw);
        let quote = if raw { b'`' } else { b'"' };
        self.bump(1);
        loop {
            match self.peek(0) {
                None => return self.error("non-terminated string"),
                Some(b'\n') if !raw => return self.error("non-terminated string"),
                Some(b'\\') if !raw || self.peek(1) == Some(b'{') => self.bump(2),
                Some(b'{') => {
                    self.bump(1);
                    return Ok(Kind::TemplatePart);
                }
                Some(byte) if byte == quote => {
                    self.bump(1);
                    self.templates.pop();
                    return Ok(Kind::TemplateEnd);
                }
                Some(_) => self.bump(1),
            }
        }
    }

    fn punctuation(&mut self, byte: u8) -> Result<Kind, LexError> {
        let followed = self.peek(1) == Some(b'=');
        let (kind, width) = match (byte, followed) {
            (b':', true) => (Kind::Assign, 2),
            (b'=', true) => (Kind::Equal, 2),
            (b'!', true) => (Kind::NotEqual, 2),
            (b'<', true) => (Kind::LessEqual, 2),
            (b'>', true) => (Kind::GreaterEqual, 2),
            (b'(', _) => (Kind::LParen, 1),
            (b')', _) => (Kind::RParen, 1),
            (b'[', _) => (Kind::LBrack, 1),
            (b']', _) => (Kind::RBrack, 1),
            (b'{', _) => (Kind::LBrace, 1),
            (b'}', _) => (Kind::RBrace, 1),
            (b',', _) => (Kind::Comma, 1),
            (b'.', _) => (Kind::Dot, 1),
            (b':', _) => (Kind::Colon, 1),
            (b';', _) => (Kind::Semicolon, 1),
            (b'=', _) => (Kind::Unify, 1),
            (b'<', _) => (Kind::Less, 1),
            (b'>', _) => (Kind::Greater, 1),
            (b'+', _) => (Kind::Plus, 1),
            (b'-', _) => (Kind::Minus, 1),
            (b'*', _) => (Kind::Star, 1),
            (b'/', _) => (Kind::Slash, 1),
            (b'%', _) => (Kind::Percent, 1),
            (b'&', _) => (Kind::And, 1),
            (b'|', _) => (Kind::Or, 1),
            _ => return self.error("illegal character"),
        };
        self.count_brace(kind);
        self.bump(width);
        Ok(kind)
    }

    fn count_brace(&mut self, kind: Kind) {
        if let Some(open) = self.templates.last_mut() {
            match kind {
                Kind::LBrace => open.braces = open.braces.saturating_add(1),
                Kind::RBrace => open.braces = open.braces.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        lex(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn white_space_and_line_breaks_are_remembered() {
        let tokens = lex("f (x)\n(y)").unwrap();
        let parens: Vec<_> =
            tokens.iter().filter(|t| t.kind == Kind::LParen).map(|t| (t.spaced, t.newline)).collect();
        assert_eq!(parens, [(true, false), (true, true)]);
    }

    #[test]
    fn comments_end_with_the_line() {
        assert_eq!(kinds("a # b\nc"), [Kind::Ident, Kind::Ident, Kind::End]);
        assert_eq!(kinds("#"), [Kind::End]);
        assert_eq!(kinds("#\n#x\na"), [Kind::Ident, Kind::End]);
    }

    #[test]
    fn null_characters_and_byte_order_marks_are_refused_everywhere_but_at_the_beginning() {
        assert_eq!(kinds("\u{feff}a"), [Kind::Ident, Kind::End]);
        let illegal = |text: &str| lex(text).map(|_| ()).map_err(|error| (error.at.0, error.message));
        assert_eq!(illegal("\u{feff}\u{feff}a"), Err((3, "illegal byte-order mark")));
        assert_eq!(illegal("a # \u{feff}"), Err((4, "illegal byte-order mark")));
        assert_eq!(illegal("\"\u{feff}\""), Err((1, "illegal byte-order mark")));
        assert_eq!(illegal("# \0"), Err((2, "illegal null character")));
        assert_eq!(illegal("`\0`"), Err((1, "illegal null character")));
        assert_eq!(illegal("\0 \u{feff}"), Err((0, "illegal null character")));
        assert_eq!(illegal("\u{feff}a\u{feff}\0"), Err((4, "illegal byte-order mark")));
        assert_eq!(illegal("\"\u{1}\""), Ok(()));
    }

    #[test]
    fn operators_take_the_longest_match() {
        use Kind::{Assign, Colon, End, Equal, Less, LessEqual, NotEqual, Unify};
        assert_eq!(kinds(":= : == = != <= <"), [Assign, Colon, Equal, Unify, NotEqual, LessEqual, Less, End]);
    }

    #[test]
    fn strings_may_hold_escaped_quotes() {
        assert_eq!(kinds(r#""a\"b" `c\`"#), [Kind::String, Kind::RawString, Kind::End]);
        assert!(lex("\"a\nb\"").is_err());
        assert!(lex("`a").is_err());
    }

    #[test]
    fn templates_alternate_text_and_expressions() {
        use Kind::{End, Ident, LBrace, RBrace, TemplateEnd, TemplatePart};
        assert_eq!(kinds(r#"$"a{x}b{y}""#), [TemplatePart, Ident, TemplatePart, Ident, TemplateEnd, End]);
        assert_eq!(kinds(r#"$"{{x}}""#), [TemplatePart, LBrace, Ident, RBrace, TemplateEnd, End]);
        assert_eq!(kinds(r#"$"plain""#), [TemplateEnd, End]);
    }

    #[test]
    fn numbers_need_digits_after_dot_and_exponent() {
        assert_eq!(
            kinds("1 1.5 1e10 1.5E-3"),
            [Kind::Number, Kind::Number, Kind::Number, Kind::Number, Kind::End]
        );
        assert!(lex("1.").is_err());
        assert!(lex("1e").is_err());
        assert!(lex("1a").is_err());
    }

    #[test]
    fn a_mebibyte_of_brackets_is_read_in_one_pass() {
        let text = "[".repeat(1 << 20);
        assert_eq!(lex(&text).unwrap().len(), (1 << 20) + 1);
    }
}
