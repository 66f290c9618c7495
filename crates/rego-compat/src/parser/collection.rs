//! Arrays, sets, objects and comprehensions over them.

use crate::ast::{Comprehension, ComprehensionKind, Node, Term};
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    /// Parses comma-separated terms up to the closing bracket, which is consumed. A trailing comma is allowed.
    pub(super) fn elements(&mut self, end: Kind) -> Parsed<Vec<Term>> {
        let mut elements = Vec::new();
        self.more_elements(end, &mut elements)?;
        Ok(elements)
    }

    fn more_elements(&mut self, end: Kind, elements: &mut Vec<Term>) -> Parsed<()> {
        while !self.take(end) {
            elements.push(self.element()?);
            if !self.take(Kind::Comma) && self.kind() != end {
                return self.unexpected(&format!("expected `,` or `{}`", end.text()));
            }
        }
        Ok(())
    }

    pub(super) fn array(&mut self) -> Parsed<Node> {
        self.bump();
        if self.take(Kind::RBrack) {
            return Ok(Node::Array(Vec::new()));
        }
        let comprehension = !self.take(Kind::Comma);
        let head = self.term()?;
        if comprehension && self.kind() == Kind::Or {
            let kind = |head| ComprehensionKind::Array(head);
            if let Some(node) = self.try_comprehension(&head, Kind::RBrack, kind)? {
                return Ok(node);
            }
        }
        let first = self.element_from(head)?;
        Ok(Node::Array(self.rest_of_list(first, Kind::RBrack)?))
    }

    fn rest_of_list(&mut self, first: Term, end: Kind) -> Parsed<Vec<Term>> {
        let mut elements = vec![first];
        if !self.take(Kind::Comma) && self.kind() != end {
            return self.unexpected(&format!("expected `,` or `{}`", end.text()));
        }
        self.more_elements(end, &mut elements)?;
        Ok(elements)
    }

    /// Parses `| body` behind a head; `None` where `|` is an operator in a list.
    fn try_comprehension(
        &mut self,
        head: &Term,
        end: Kind,
        kind: impl FnOnce(Term) -> ComprehensionKind,
    ) -> Parsed<Option<Node>> {
        let start = self.mark();
        self.bump();
        match self.body(end) {
            Ok(body) => {
                let kind = kind(head.clone());
                Ok(Some(Node::Comprehension(Box::new(Comprehension { kind, body }))))
            }
            Err(error) if self.kind() != Kind::Comma => Err(error),
            Err(_) => {
                self.go_back(start);
                Ok(None)
            }
        }
    }

    pub(super) fn set_or_object(&mut self) -> Parsed<Node> {
        self.bump();
        if self.take(Kind::RBrace) {
            return Ok(Node::Object(Vec::new()));
        }
        let comprehension = !self.take(Kind::Comma);
        let head = self.term()?;
        if comprehension
            && self.kind() == Kind::Or
            && let Some(node) = self.try_comprehension(&head, Kind::RBrace, ComprehensionKind::Set)?
        {
            return Ok(node);
        }
        let head = self.element_from(head)?;
        if self.take(Kind::Colon) {
            return self.object(head, comprehension);
        }
        Ok(Node::Set(self.rest_of_list(head, Kind::RBrace)?))
    }

    fn object(&mut self, key: Term, comprehension: bool) -> Parsed<Node> {
        let value = self.term()?;
        if comprehension && self.kind() == Kind::Or {
            let kind = |value| ComprehensionKind::Object(key.clone(), value);
            if let Some(node) = self.try_comprehension(&value, Kind::RBrace, kind)? {
                return Ok(node);
            }
        }
        let value = self.element_from(value)?;
        let mut pairs = vec![(key, value)];
        loop {
            if !self.take(Kind::Comma) && self.kind() != Kind::RBrace {
                return self.unexpected("expected `,` or `}`");
            }
            if self.take(Kind::RBrace) {
                return Ok(Node::Object(pairs));
            }
            let key = self.element()?;
            self.expect(Kind::Colon)?;
            pairs.push((key, self.element()?));
        }
    }
}
