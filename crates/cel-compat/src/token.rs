//! Splits an expression into tokens, after the lexer rules of the CEL language definition.
//!
//! Literals come out as values; what a name or a sign means is the parser's business.

mod quoted;

use std::str::CharIndices;

use crate::value::Value;

use super::issue::Issue;

use self::quoted::Scan;

/// The smallest part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// `` `name` ``, a field whose name is not an identifier.
    QuotedName(String),
    Literal(Value),
    /// `9223372036854775808`, which is a number only behind a minus sign.
    SmallestInt,
    /// A literal without a value, and why.
    BadLiteral(&'static str),
    Sign(&'static str),
}

/// Signs, the longer before those they begin with.
const SIGNS: [&str; 24] = [
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// All tokens of `text`, and what is wrong with the text between them.
pub(super) fn tokens(text: &str) -> (Vec<Lexeme>, Vec<Issue>) {
    let mut lexer = Lexer { text, at: 0, issues: Vec::new() };
    let mut tokens = Vec::new();
    while lexer.skip_blank() {
        let at = lexer.at;
        if let Some(token) = lexer.token() {
            tokens.push(Lexeme { token, at, end: lexer.at });
            continue;
        }
        // As ANTLR does: the character that does not fit is part of the error, and skipped with it.
        let skipped = lexer.peek().map_or(0, char::len_utf8);
        lexer.at = lexer.at.saturating_add(skipped);
        let refused = text.get(at..lexer.at).unwrap_or_default();
        let message = format!("Syntax error: token recognition error at: '{refused}'");
        lexer.issues.push(Issue::new(at, message));
    }
    (tokens, lexer.issues)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    issues: Vec<Issue>,
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

    /// The token that begins here; `None`, at the first character that does not fit, when there is none.
    fn token(&mut self) -> Option<Token> {
        let at = self.at;
        match quoted::literal(self) {
            Scan::Literal(Ok(value)) => return Some(Token::Literal(value)),
            Scan::Literal(Err(issue)) => {
                self.issues.push(issue);
                return Some(Token::Literal(Value::Null));
            }
            Scan::Broken => return None,
            Scan::Nothing => {}
        }
        let begins_fraction =
            || self.rest().get(1..)?.starts_with(|c: char| c.is_ascii_digit()).then_some(());
        match self.peek()? {
            '0'..='9' => Some(self.number()),
            '.' if begins_fraction().is_some() => Some(self.number()),
            '_' | 'a'..='z' | 'A'..='Z' => Some(self.name()),
            '`' => self.quoted_name(),
            c => {
                let sign = SIGNS.into_iter().find(|sign| self.take(sign));
                // Half a sign: `&`, `|` or `=`.
                if sign.is_none() && matches!(c, '&' | '|' | '=') {
                    self.at = at.saturating_add(1);
                }
                sign.map(Token::Sign)
            }
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

    fn quoted_name(&mut self) -> Option<Token> {
        self.take("`");
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        (!name.is_empty() && self.take("`")).then(|| Token::QuotedName(name.to_owned()))
    }

    fn number(&mut self) -> Token {
        let at = self.at;
        let is_hex = |rest: &str| rest.starts_with("0x") && rest.get(2..).is_some_and(begins_hex);
        if is_hex(self.rest()) {
            self.take("0x");
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return self.integer(digits, 16);
        }
        let start = self.rest();
        let whole = self.take_while(|c| c.is_ascii_digit());
        if !self.take_fraction() {
            return self.integer(whole, 10);
        }
        let length = self.at.saturating_sub(at);
        let text = start.get(..length).unwrap_or_default();
        // Go refuses a number beyond the largest float; Rust makes it infinite.
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Token::Literal(Value::Float(number)),
            _ => Token::BadLiteral("invalid double literal"),
        }
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

    fn integer(&mut self, digits: &str, radix: u32) -> Token {
        let unsigned = u64::from_str_radix(digits, radix).ok();
        if self.take("u") || self.take("U") {
            let literal = unsigned.map(|number| Token::Literal(Value::Uint(number)));
            return literal.unwrap_or(Token::BadLiteral("invalid uint literal"));
        }
        match unsigned {
            Some(number) if number == i64::MIN.unsigned_abs() => Token::SmallestInt,
            Some(number) => i64::try_from(number)
                .map_or(Token::BadLiteral("invalid int literal"), |number| {
                    Token::Literal(Value::Int(number))
                }),
            None => Token::BadLiteral("invalid int literal"),
        }
    }
}

fn begins_hex(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_hexdigit())
}
