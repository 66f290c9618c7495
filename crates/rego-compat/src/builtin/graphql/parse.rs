//! Tokens read into syntax trees (`gqlparser/parser`).
//!
//! The comment before a token is that of whatever the token begins; reading the token takes the comment away.

mod query;
mod schema;

use crate::meter::Meter;

use super::Error;
use super::ast::{Comment, Comments, QueryDocument, Remark, SchemaDocument};
use super::token::{Token, tokens};

/// Bytes of a token and of the part of the tree it makes.
const TOKEN_BYTES: usize = 512;

pub(super) fn query(text: &str, meter: &Meter) -> Result<QueryDocument, Error> {
    Parser::new(text, meter)?.query_document()
}

pub(super) fn schema(text: &str, meter: &Meter) -> Result<SchemaDocument, Error> {
    Parser::new(text, meter)?.schema_document()
}

struct Parser<'m> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// The comment before the next token.
    comment: Remark,
    meter: &'m Meter,
}

impl<'m> Parser<'m> {
    fn new(text: &str, meter: &'m Meter) -> Result<Self, Error> {
        meter.spend(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
        meter.afford_bytes(text.len().saturating_mul(64))?;
        let tokens = tokens(text).ok_or(Error::Invalid)?;
        meter.afford_bytes(tokens.len().saturating_mul(TOKEN_BYTES))?;
        let mut parser = Self { tokens: tokens.into_iter().peekable(), comment: None, meter };
        parser.comments();
        Ok(parser)
    }

    /// Takes the comments before the next token.
    fn comments(&mut self) {
        let mut list = Vec::new();
        while let Some(Token::Comment(_)) = self.tokens.peek() {
            if let Some(Token::Comment(text)) = self.tokens.next() {
                list.push(Comment { text });
            }
        }
        self.comment = (!list.is_empty()).then(|| Box::new(Comments { list }));
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek()
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.next();
        self.comments();
        token
    }

    fn is(&mut self, sign: char) -> bool {
        self.peek() == Some(&Token::Sign(sign))
    }

    fn skip(&mut self, sign: char) -> bool {
        let is = self.is(sign);
        if is {
            self.next();
        }
        is
    }

    fn expect(&mut self, sign: char) -> Result<(), Error> {
        if self.skip(sign) { Ok(()) } else { Err(Error::Invalid) }
    }

    /// Returns true if the next token is this word; a string may stand in its place.
    fn is_word(&mut self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(text) | Token::Text(text) | Token::Block(text)) if text == word)
    }

    fn is_name(&mut self) -> bool {
        matches!(self.peek(), Some(Token::Name(_)))
    }

    fn name(&mut self) -> Result<String, Error> {
        if !self.is_name() {
            return Err(Error::Invalid);
        }
        match self.next() {
            Some(Token::Name(name)) => Ok(name),
            _ => Err(Error::Invalid),
        }
    }

    fn keyword(&mut self, word: &str) -> Result<(), Error> {
        if self.name()? == word { Ok(()) } else { Err(Error::Invalid) }
    }

    /// Parses one or more items in brackets, and the comment before the last; none where there are no brackets.
    fn some<T>(
        &mut self,
        brackets: [char; 2],
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Remark), Error> {
        let [open, close] = brackets;
        if !self.skip(open) {
            return Ok((Vec::new(), None));
        }
        let mut items = Vec::new();
        while !self.is(close) {
            self.meter.check_stack()?;
            items.push(read(self)?);
        }
        if items.is_empty() {
            return Err(Error::Invalid);
        }
        let comment = self.comment.take();
        self.next();
        Ok((items, comment))
    }
}
