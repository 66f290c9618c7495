//! The text of a template taken apart (`text/template/parse/lex.go`).

use go_compat::regexp;

/// One part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Text(&'t str),
    LeftDelimiter,
    RightDelimiter,
    Space,
    Assign,
    Declare,
    Pipe,
    LeftParenthesis,
    RightParenthesis,
    Comma,
    /// Any other sign, which is an error wherever it stands.
    Sign,
    /// In quotes of either kind.
    Quoted(&'t str),
    Character(&'t str),
    Number(&'t str),
    Complex(&'t str),
    /// Without its point.
    Field(&'t str),
    /// With its `$`.
    Variable(&'t str),
    /// A function or a keyword.
    Word(&'t str),
    Dot,
}

/// Returns the tokens of a text; none where it is not a template.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer { rest: text, tokens: Vec::new(), depth: 0 };
    while !lexer.rest.is_empty() {
        lexer.text()?;
    }
    Some(lexer.tokens)
}

struct Lexer<'t> {
    rest: &'t str,
    tokens: Vec<Token<'t>>,
    /// Open parentheses.
    depth: usize,
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_space(character: char) -> bool {
    SPACES.contains(&character)
}

/// Letters and digits of any script.
fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character == '_' || character.is_ascii_alphanumeric();
    }
    let class = regexp::compile("^[\\pL\\p{Nd}]$");
    class.is_ok_and(|class| class.regex.is_match(character.encode_utf8(&mut [0; 4])))
}

/// Returns the text behind `- `.
fn after_left_trim(text: &str) -> Option<&str> {
    text.strip_prefix('-').and_then(|rest| rest.strip_prefix(is_space))
}

/// Returns the text behind ` -}}`.
fn after_right_trim(text: &str) -> Option<&str> {
    text.strip_prefix(is_space).and_then(|rest| rest.strip_prefix("-}}"))
}

impl<'t> Lexer<'t> {
    /// Reads text up to an action, and the action.
    fn text(&mut self) -> Option<()> {
        let (before, action) = match self.rest.split_once("{{") {
            Some((before, action)) => (before, Some(action)),
            None => (self.rest, None),
        };
        let trimmed = action.and_then(after_left_trim);
        let text = if trimmed.is_some() { before.trim_end_matches(SPACES) } else { before };
        if !text.is_empty() {
            self.tokens.push(Token::Text(text));
        }
        let Some(action) = action else {
            self.rest = "";
            return Some(());
        };
        self.rest = trimmed.unwrap_or(action);
        if let Some(comment) = self.rest.strip_prefix("/*") {
            let (_, rest) = comment.split_once("*/")?;
            self.rest = match after_right_trim(rest) {
                Some(rest) => rest.trim_start_matches(SPACES),
                None => rest.strip_prefix("}}")?,
            };
            return Some(());
        }
        self.tokens.push(Token::LeftDelimiter);
        self.depth = 0;
        while !self.right_delimiter()? {
            self.inside()?;
        }
        Some(())
    }

    /// Reads the end of the action, if it ends here.
    fn right_delimiter(&mut self) -> Option<bool> {
        let rest = match after_right_trim(self.rest) {
            Some(rest) => rest.trim_start_matches(SPACES),
            None => match self.rest.strip_prefix("}}") {
                Some(rest) => rest,
                None => return Some(false),
            },
        };
        if self.depth > 0 {
            return None;
        }
        self.rest = rest;
        self.tokens.push(Token::RightDelimiter);
        Some(true)
    }

    fn inside(&mut self) -> Option<()> {
        let start = self.rest;
        let first = start.chars().next()?;
        let after = start.get(first.len_utf8()..)?;
        let single = match first {
            _ if is_space(first) => return self.space(),
            '"' | '`' | '\'' => return self.quoted(first),
            '$' => return self.named(after, Token::Variable),
            '.' if !after.starts_with(|c: char| c.is_ascii_digit()) && !after.is_empty() => {
                return self.named(after, |name| match name.get(1..) {
                    Some("") | None => Token::Dot,
                    Some(name) => Token::Field(name),
                });
            }
            '+' | '-' | '.' | '0'..='9' => return self.number(),
            _ if is_word(first) => return self.named(start, Token::Word),
            ':' => {
                self.rest = after.strip_prefix('=')?;
                self.tokens.push(Token::Declare);
                return Some(());
            }
            '=' => Token::Assign,
            '|' => Token::Pipe,
            ',' => Token::Comma,
            '(' => {
                self.depth = self.depth.saturating_add(1);
                Token::LeftParenthesis
            }
            ')' => {
                self.depth = self.depth.checked_sub(1)?;
                Token::RightParenthesis
            }
            other if other.is_ascii_graphic() => Token::Sign,
            _ => return None,
        };
        self.rest = after;
        self.tokens.push(single);
        Some(())
    }

    /// Spaces, of which the last may belong to the end of the action.
    fn space(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(SPACES);
        let taken = self.rest.len().saturating_sub(rest.len());
        let kept = if rest.starts_with("-}}") { taken.saturating_sub(1) } else { taken };
        self.rest = self.rest.get(kept..)?;
        if kept > 0 {
            self.tokens.push(Token::Space);
        }
        Some(())
    }

    /// Reads what goes as far as letters and digits do, and must end as a word does.
    fn named(&mut self, name: &'t str, token: impl FnOnce(&'t str) -> Token<'t>) -> Option<()> {
        let rest = name.trim_start_matches(is_word);
        let ends = match rest.chars().next() {
            None => true,
            Some(next) => is_space(next) || ".,|:)(".contains(next) || rest.starts_with("}}"),
        };
        let taken = self.rest.len().saturating_sub(rest.len());
        self.tokens.push(token(self.rest.get(..taken)?));
        self.rest = rest;
        ends.then_some(())
    }

    fn quoted(&mut self, quote: char) -> Option<()> {
        let mut escaped = false;
        for (at, character) in self.rest.char_indices().skip(1) {
            match character {
                '\n' if quote != '`' => return None,
                _ if escaped => escaped = false,
                '\\' if quote != '`' => escaped = true,
                _ if character == quote => {
                    let (text, rest) = self.rest.split_at_checked(at.saturating_add(1))?;
                    self.tokens.push(if quote == '\'' {
                        Token::Character(text)
                    } else {
                        Token::Quoted(text)
                    });
                    self.rest = rest;
                    return Some(());
                }
                _ => {}
            }
        }
        None
    }

    fn number(&mut self) -> Option<()> {
        let start = self.rest;
        self.digits()?;
        let is_complex = self.rest.starts_with(['+', '-']);
        if is_complex {
            self.digits()?;
        }
        let taken = start.len().saturating_sub(self.rest.len());
        let text = start.get(..taken)?;
        if is_complex && !text.ends_with('i') {
            return None;
        }
        self.tokens.push(if is_complex { Token::Complex(text) } else { Token::Number(text) });
        Some(())
    }

    fn accept(&mut self, characters: &str) -> bool {
        let rest = self.rest.strip_prefix(|c: char| characters.contains(c));
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads what looks like a number; whether it is one is found out later.
    fn digits(&mut self) -> Option<()> {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        let is_digit = |c: char| digits.contains(c);
        self.rest = self.rest.trim_start_matches(is_digit);
        if self.accept(".") {
            self.rest = self.rest.trim_start_matches(is_digit);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            self.rest = self.rest.trim_start_matches(|c: char| "0123456789_".contains(c));
        }
        self.accept("i");
        (!self.rest.starts_with(is_word)).then_some(())
    }
}
