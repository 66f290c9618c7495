//! The tokens that a parser reads, and what it reports where another one should stand.
//!
//! cel-go's parser is made with ANTLR. Where one token is too many, ANTLR reports it, skips it and goes on; so does this
//! one. What else ANTLR does to go on is not followed: the first error is the same, later ones may be missing.

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
        match self.peek() {
            Some(Token::Sign(sign)) => Some(sign),
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
        let is_behind = |token: Option<&Lexeme>| matches!(token, Some(Lexeme { token: Token::Sign(next), .. }) if *next == sign);
        self.expect_or_skip(sign, &format!("'{sign}'"), is_behind)
    }

    pub(super) fn expect_end(&mut self) -> Result<(), Issue> {
        if self.peek().is_none() {
            return Ok(());
        }
        self.expect_or_skip("", "<EOF>", |token| token.is_none())
    }

    /// Takes a sign; or, as ANTLR does, reports and skips the token that stands before it.
    pub(super) fn expect_or_skip(
        &mut self,
        sign: &str,
        wanted: &str,
        is_wanted: impl Fn(Option<&Lexeme>) -> bool,
    ) -> Result<(), Issue> {
        if !sign.is_empty() && self.take(sign) {
            return Ok(());
        }
        let behind = self.next.saturating_add(1);
        if self.peek().is_none() || !is_wanted(self.lexemes.get(behind)) {
            return Err(self.mismatched(wanted));
        }
        let message = format!("Syntax error: extraneous input '{}' expecting {wanted}", self.shown());
        self.issues.push(Issue::new(self.at(), message));
        self.next = behind.saturating_add(1);
        Ok(())
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

    /// Reports a token that stands before an operand and is not part of it, and skips it, as ANTLR does.
    pub(super) fn at_operand(&mut self, wanted: &str) -> Result<(), Issue> {
        if self.begins_operand(self.next) {
            return Ok(());
        }
        let behind = self.next.saturating_add(1);
        if self.peek().is_none() || !self.begins_operand(behind) {
            return Err(self.mismatched(wanted));
        }
        let message = format!("Syntax error: extraneous input '{}' expecting {wanted}", self.shown());
        self.issues.push(Issue::new(self.at(), message));
        self.next = behind;
        Ok(())
    }
}
