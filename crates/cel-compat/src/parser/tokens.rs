//! The tokens that a parser reads, and what it reports where another one should stand.
//!
//! cel-go's parser is made with ANTLR. Where one token is too many, or one is missing, ANTLR reports it and goes on without it,
//! or as if it were there; so does this one:
//!
//! ```text
//! (1 2)     extraneous input '2' expecting ')'     what stands behind the 2 is wanted
//! [(1]      missing ')' at ']'                     what stands there may follow what is wanted
//! (1 2 3)   mismatched input '2' expecting ')'     neither
//! ```
//!
//! What else ANTLR does to go on is not followed: the first error is the same but for a few texts, later ones may be missing.

use crate::issue::Issue;
use crate::token::{Lexeme, Token};

use super::Parser;

/// The tokens an operand begins with, in the words of ANTLR, which cel-go's parser is made with.
pub(super) const OPERAND: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                       BYTES, IDENTIFIER}";
/// The same behind the bracket of a call, a list, a map or an index.
pub(super) const ARGUMENT: &str = "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
                        STRING, BYTES, IDENTIFIER}";
pub(super) const ELEMENT: &str = "{'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, \
                       NUM_UINT, STRING, BYTES, IDENTIFIER}";
pub(super) const ENTRY: &str = "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, \
                     NUM_UINT, STRING, BYTES, IDENTIFIER}";
/// Signs that go on with a value.
const GOES_ON: [&str; 17] =
    ["<", "<=", ">", ">=", "==", "!=", "in", "+", "-", "*", "/", "%", "&&", "||", "?", ".", "["];
/// The end of the expression, as a sign.
pub(super) const END: &str = "<EOF>";
/// The tokens of a message behind its bracket, and those of a field behind a question mark.
pub(super) const FIELD: &str = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
pub(super) const FIELD_NAME: &str = "{IDENTIFIER, ESC_IDENTIFIER}";
pub(super) const INDEX: &str = "{'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                     BYTES, IDENTIFIER}";

impl Parser<'_> {
    pub(super) fn at(&self) -> usize {
        self.lexemes.get(self.next).map_or(self.source.len(), |lexeme| lexeme.at)
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.lexemes.get(self.next).map(|lexeme| &lexeme.token)
    }

    pub(super) fn bump(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next = self.next.saturating_add(1);
        token
    }

    pub(super) fn peek_sign(&self) -> Option<&'static str> {
        self.sign_at(self.next)
    }

    fn sign_at(&self, position: usize) -> Option<&'static str> {
        match self.lexemes.get(position) {
            Some(Lexeme { token: Token::Sign(sign), .. }) => Some(sign),
            _ => None,
        }
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let found = self.peek_sign() == Some(sign);
        if found {
            self.next = self.next.saturating_add(1);
        }
        found
    }

    /// The next token as it stands in the source.
    pub(super) fn shown(&self) -> &str {
        let lexeme = self.lexemes.get(self.next);
        lexeme.and_then(|lexeme| self.source.get(lexeme.at..lexeme.end)).unwrap_or("<EOF>")
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), Issue> {
        self.expect_or_skip(sign, &format!("'{sign}'"))
    }

    pub(super) fn expect_end(&mut self) -> Result<(), Issue> {
        if self.peek().is_none() {
            return Ok(());
        }
        self.expect_or_skip("", END)
    }

    /// Takes a sign, or the end for none; or reports the token that stands before it, and skips it; or reports that it is missing.
    fn expect_or_skip(&mut self, sign: &str, wanted: &str) -> Result<(), Issue> {
        if !sign.is_empty() && self.take(sign) {
            return Ok(());
        }
        let behind = self.next.saturating_add(1);
        let is_behind = match sign {
            "" => self.lexemes.get(behind).is_none(),
            sign => self.sign_at(behind) == Some(sign),
        };
        if self.peek().is_some() && is_behind {
            self.extraneous(wanted);
            self.next = behind.saturating_add(1);
            return Ok(());
        }
        if sign.is_empty() || !self.may_follow(sign) {
            return Err(self.mismatched(wanted));
        }
        let message = format!("Syntax error: missing {wanted} at '{}'", self.shown());
        self.issues.push(Issue::new(self.at(), message));
        Ok(())
    }

    /// Returns true if the next token may stand behind a sign that is missing before it: what goes on with the value that the
    /// sign ends, or what may follow that value.
    fn may_follow(&self, sign: &str) -> bool {
        match sign {
            ":" => self.begins_operand(self.next),
            _ => match self.peek() {
                Some(Token::Sign(next)) => GOES_ON.contains(next) || self.behind.contains(next),
                Some(_) => false,
                None => self.behind.contains(&END),
            },
        }
    }

    /// Reports the token that stands before a comma or `close`, and skips it.
    pub(super) fn at_separator(&mut self, close: &str) -> Result<(), Issue> {
        let separates =
            |position: usize| self.sign_at(position).is_some_and(|sign| sign == close || sign == ",");
        if separates(self.next) {
            return Ok(());
        }
        let behind = self.next.saturating_add(1);
        let wanted = format!("{{'{close}', ','}}");
        if !separates(behind) {
            return Err(self.mismatched(&wanted));
        }
        self.extraneous(&wanted);
        self.next = behind;
        Ok(())
    }

    fn extraneous(&mut self, wanted: &str) {
        self.issues.push(self.unwanted(wanted));
    }

    fn unwanted(&self, wanted: &str) -> Issue {
        Issue::new(self.at(), format!("Syntax error: extraneous input '{}' expecting {wanted}", self.shown()))
    }

    pub(super) fn mismatched(&self, wanted: &str) -> Issue {
        Issue::new(self.at(), format!("Syntax error: mismatched input '{}' expecting {wanted}", self.shown()))
    }

    /// Returns true if an operand begins at a token.
    pub(super) fn begins_operand(&self, position: usize) -> bool {
        match self.lexemes.get(position).map(|lexeme| &lexeme.token) {
            Some(Token::Sign(sign)) => matches!(*sign, "[" | "{" | "(" | "." | "-" | "!"),
            Some(Token::QuotedName(_)) | None => false,
            Some(_) => true,
        }
    }

    /// Returns true if a token is the name of a field.
    pub(super) fn is_name(&self, position: usize) -> bool {
        matches!(
            self.lexemes.get(position),
            Some(Lexeme { token: Token::Name(_) | Token::QuotedName(_), .. })
        )
    }

    /// Reports a token that stands before the name of a field, and skips it.
    pub(super) fn at_name(&mut self, wanted: &str) {
        let behind = self.next.saturating_add(1);
        if self.peek().is_some() && !self.is_name(self.next) && self.is_name(behind) {
            self.extraneous(wanted);
            self.next = behind;
        }
    }

    /// Refuses a token that begins no operand, behind the sign at `last`, with the errors of ANTLR for `!` and `-`.
    pub(super) fn at_operand_of(&self, sign: &str, last: usize) -> Result<(), Issue> {
        let is_negated = sign == "-" && self.peek_sign() == Some("!");
        if self.begins_operand(self.next) && !is_negated {
            return Ok(());
        }
        if sign == "-" {
            return Err(self.not_viable(last));
        }
        let is_behind = self.peek().is_some() && self.begins_operand(self.next.saturating_add(1));
        if is_behind { Ok(()) } else { Err(self.unwanted(OPERAND)) }
    }

    /// Reports a token that stands before an operand and is not part of it, and skips it, as ANTLR does.
    pub(super) fn at_operand(&mut self, wanted: &str) -> Result<(), Issue> {
        if self.begins_operand(self.next) {
            return Ok(());
        }
        let behind = self.next.saturating_add(1);
        // Brackets may close where the first part between them may begin.
        let close = match wanted {
            ARGUMENT => ")",
            ELEMENT => "]",
            ENTRY => "}",
            _ => "",
        };
        let closes = self.sign_at(behind) == Some(close);
        if self.peek().is_none() || !(closes || self.begins_operand(behind)) {
            return Err(self.mismatched(wanted));
        }
        self.extraneous(wanted);
        self.next = behind;
        Ok(())
    }
}
