//! Splits an expression into tokens, after the lexer rules of the CEL language definition.
//!
//! Literals come out as values; what a name or a sign means is the parser's business.

mod quoted;

use std::str::CharIndices;

use crate::value::Value;

use super::syntax::Mistake;

/// The smallest part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// `` `name` ``, a field whose name is no identifier.
    QuotedName(String),
    Literal(Value),
    /// `9223372036854775808`, which is a number only behind a minus sign.
    SmallestInt,
    Sign(&'static str),
}

/// Signs, the longer before those they begin with.
const SIGNS: [&str; 28] = [
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "&", "|", "=", ";",
];

/// All tokens of `text`, each with its offset.
///
/// # Errors
/// The first character that begins no token, or a literal that does not end or does not fit.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Mistake> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while lexer.skip_blank() {
        let at = lexer.at;
        tokens.push((at, lexer.token()?));
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn chars(&self) -> CharIndices<'a> {
        self.rest().char_indices()
    }

    /// Moves to the end of the characters that satisfy `wanted`, and returns them.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(end);
        rest.get(..end).unwrap_or_default()
    }

    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at = self.at.saturating_add(prefix.len());
        }
        found
    }

    /// Skips white space and comments; `false` at the end.
    fn skip_blank(&mut self) -> bool {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return !self.rest().is_empty();
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, Mistake> {
        let at = self.at;
        if let Some(literal) = quoted::literal(self)? {
            return Ok(Token::Literal(literal));
        }
        match self.peek() {
            Some('0'..='9') => self.number(),
            Some('.')
                if self
                    .rest()
                    .get(1..)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                self.number()
            }
            Some('_' | 'a'..='z' | 'A'..='Z') => Ok(self.name()),
            Some('`') => self.quoted_name(),
            Some(other) => {
                let sign = SIGNS.into_iter().find(|sign| self.take(sign));
                sign.map(Token::Sign)
                    .ok_or_else(|| Mistake::new(at, format!("unexpected character {other:?}")))
            }
            None => Err(Mistake::new(at, "unexpected end")),
        }
    }

    fn name(&mut self) -> Token {
        match self.take_while(|c| c == '_' || c.is_ascii_alphanumeric()) {
            "true" => Token::Literal(Value::Bool(true)),
            "false" => Token::Literal(Value::Bool(false)),
            "null" => Token::Literal(Value::Null),
            "in" => Token::Sign("in"),
            name => Token::Name(name.to_owned()),
        }
    }

    fn quoted_name(&mut self) -> Result<Token, Mistake> {
        let at = self.at;
        self.take("`");
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if name.is_empty() || !self.take("`") {
            return Err(Mistake::new(at, "a quoted field name must end with a back quote"));
        }
        Ok(Token::QuotedName(name.to_owned()))
    }

    fn number(&mut self) -> Result<Token, Mistake> {
        let at = self.at;
        if self.take("0x") || self.take("0X") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return self.integer(at, digits, 16);
        }
        let start = self.rest();
        let whole = self.take_while(|c| c.is_ascii_digit());
        if !self.take_fraction() {
            return self.integer(at, whole, 10);
        }
        let length = self.at.saturating_sub(at);
        let text = start.get(..length).unwrap_or_default();
        text.parse()
            .map(|number| Token::Literal(Value::Float(number)))
            .map_err(|_| Mistake::new(at, format!("invalid number {text:?}")))
    }

    /// Moves over `.5`, `e-3` or `.5e-3`; `false` where there is none.
    fn take_fraction(&mut self) -> bool {
        let start = self.at;
        if self.rest().starts_with('.') && self.chars().nth(1).is_some_and(|(_, c)| c.is_ascii_digit()) {
            self.take(".");
            self.take_while(|c| c.is_ascii_digit());
        }
        let exponent = self.at;
        if self.take("e") || self.take("E") {
            let _sign = self.take("-") || self.take("+");
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                self.at = exponent;
            }
        }
        self.at != start
    }

    fn integer(&mut self, at: usize, digits: &str, radix: u32) -> Result<Token, Mistake> {
        let unsigned = u64::from_str_radix(digits, radix)
            .map_err(|_| Mistake::new(at, format!("invalid number {digits:?}: it must fit 64 bits")))?;
        if self.take("u") || self.take("U") {
            return Ok(Token::Literal(Value::Uint(unsigned)));
        }
        if unsigned == i64::MIN.unsigned_abs() {
            return Ok(Token::SmallestInt);
        }
        i64::try_from(unsigned)
            .map(|number| Token::Literal(Value::Int(number)))
            .map_err(|_| Mistake::new(at, format!("invalid int {digits}: append `u` for an unsigned number")))
    }
}
