//! The parts between brackets: arguments of calls, elements of lists, entries of maps and fields of messages.

use crate::issue::Issue;
use crate::syntax::{Expr, ExprKind, Field, Message};
use crate::token::Token;

use super::Parser;
use super::tokens::{ARGUMENT, ELEMENT, ENTRY, FIELD, FIELD_NAME};

impl Parser<'_> {
    /// Parses the rest of a call behind its bracket.
    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>, Issue> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        self.at_operand(ARGUMENT)?;
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.before(&[")", ","], Self::expression)?);
            if !self.take(",") {
                self.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    /// Parses the rest of a list behind its bracket.
    pub(super) fn list(&mut self) -> Result<Vec<(bool, Expr)>, Issue> {
        self.elements("]", Some(ELEMENT), |parser| {
            let optional = parser.take("?");
            Ok((optional, parser.before(&["]", ","], Self::expression)?))
        })
    }

    /// Parses the rest of a map behind its bracket.
    pub(super) fn map(&mut self) -> Result<Vec<(bool, Expr, Expr)>, Issue> {
        self.elements("}", Some(ENTRY), |parser| {
            let optional = parser.take("?");
            let key = parser.before(&[":"], Self::expression)?;
            parser.expect(":")?;
            Ok((optional, key, parser.before(&["}", ","], Self::expression)?))
        })
    }

    /// Returns true if what follows a name makes it the name of a message: `{`, behind further names with dots.
    pub(super) fn is_message(&self) -> bool {
        let token = |position: usize| self.lexemes.get(position).map(|lexeme| &lexeme.token);
        let mut next = self.next;
        while let (Some(Token::Sign(".")), Some(Token::Name(_))) =
            (token(next), token(next.saturating_add(1)))
        {
            next = next.saturating_add(2);
        }
        matches!(token(next), Some(Token::Sign("{")))
    }

    /// Parses the rest of a message behind the first name of its type.
    pub(super) fn message(&mut self, mut name: String) -> Result<Expr, Issue> {
        while self.take(".") {
            if let Some(Token::Name(next)) = self.bump() {
                name.push('.');
                name.push_str(&next);
            }
        }
        let at = self.at();
        self.expect("{")?;
        let first = self.at();
        let fields = self.elements("}", None, |parser| parser.field(first))?;
        self.built(at, ExprKind::Message(Message { name, fields }))
    }

    /// Parses a field of a message whose first one stands at `first`.
    fn field(&mut self, first: usize) -> Result<Field, Issue> {
        let optional = self.take("?");
        self.at_name(if optional { FIELD_NAME } else { FIELD });
        let name = match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.bump();
                name
            }
            Some(Token::QuotedName(name)) => {
                let name = name.clone();
                // Issues with the fields of a message stand at their beginning.
                self.quoted_name(first);
                name
            }
            _ if optional => return Err(self.mismatched(FIELD_NAME)),
            _ => return Err(self.mismatched(FIELD)),
        };
        let at = self.at();
        self.expect(":")?;
        Ok(Field { at, optional, name, value: self.before(&["}", ","], Self::expression)? })
    }

    /// Returns true if an element begins here, which is an operand or a field.
    fn begins_element(&self, is_operand: bool) -> bool {
        self.peek_sign() == Some("?")
            || if is_operand { self.begins_operand(self.next) } else { self.is_name(self.next) }
    }

    /// Elements between commas up to `close`, before which a comma may stand, alone too. `first` are the tokens that the first
    /// element begins with, if it is an operand.
    fn elements<T>(
        &mut self,
        close: &str,
        first: Option<&str>,
        element: impl Fn(&mut Self) -> Result<T, Issue>,
    ) -> Result<Vec<T>, Issue> {
        let mut elements = Vec::new();
        if self.take(",") {
            self.expect(close)?;
            return Ok(elements);
        }
        if self.take(close) {
            return Ok(elements);
        }
        if let Some(first) = first
            && self.peek_sign() != Some("?")
        {
            self.at_operand(first)?;
            if self.take(close) {
                return Ok(elements);
            }
        }
        loop {
            elements.push(element(self)?);
            self.at_separator(close)?;
            if self.take(close) {
                return Ok(elements);
            }
            self.take(",");
            if !self.begins_element(first.is_some()) {
                self.expect(close)?;
                return Ok(elements);
            }
        }
    }
}
