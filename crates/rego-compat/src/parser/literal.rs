//! Bodies and the statements in them.

use crate::ast::{Body, Every, Literal, LiteralKind, Node, Term, With};
use crate::diagnostic::Pos;
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    /// Parses the literals up to the closing bracket, which is consumed.
    pub(super) fn body(&mut self, end: Kind) -> Parsed<Body> {
        self.nested(|parser| {
            if parser.kind() == end {
                return parser.error("found empty body");
            }
            let mut body = Vec::new();
            loop {
                body.push(parser.literal()?);
                if parser.take(Kind::Semicolon) {
                    continue;
                }
                if parser.take(end) {
                    return Ok(body);
                }
                if !parser.token().newline {
                    return parser.unexpected(&format!("expected \\n or ; or {}", end.text()));
                }
            }
        })
    }

    pub(super) fn literal(&mut self) -> Parsed<Literal> {
        self.nested(|parser| {
            let mut literal = parser.literal_unchecked()?;
            literal.at = parser.since(literal.at);
            Ok(literal)
        })
    }

    fn literal_unchecked(&mut self) -> Parsed<Literal> {
        let at = self.pos();
        if self.has_logic()
            && let Some(first) = self.try_braced_operand()?
        {
            return self.logic(first, at);
        }
        let reference = self.reference_follows();
        if !reference && self.is_keyword("some") {
            return self.some(at);
        }
        if !reference && self.is_keyword("every") {
            return self.every(at);
        }
        if !reference && self.take_keyword("not") {
            return self.negation(at);
        }
        let kind = self.statement()?;
        let with = self.with()?;
        let literal = Literal { negated: false, kind, with, at };
        self.continue_logic(literal)
    }

    fn negation(&mut self, at: Pos) -> Parsed<Literal> {
        if self.is_keyword("some") || self.is_keyword("every") {
            return self.error(format!("illegal negation of '{}'", self.word()));
        }
        if self.keywords.not_bodies && self.take(Kind::LBrace) {
            let body = self.body(Kind::RBrace)?;
            let literal = Literal {
                negated: false,
                kind: LiteralKind::Not { body, explicit: true },
                with: self.with()?,
                at,
            };
            return self.continue_logic(literal);
        }
        if let Some(group) = self.negated_group(at)? {
            return Ok(group);
        }
        let kind = self.statement()?;
        let with = self.with()?;
        let literal = if self.keywords.not_bodies {
            let inner = Literal { negated: false, kind, with: Vec::new(), at };
            Literal {
                negated: false,
                kind: LiteralKind::Not { body: vec![inner], explicit: false },
                with,
                at,
            }
        } else {
            Literal { negated: true, kind, with, at }
        };
        self.continue_logic(literal)
    }

    /// Parses `not (a or b)`.
    fn negated_group(&mut self, at: Pos) -> Parsed<Option<Literal>> {
        if !self.keywords.not_bodies || !self.has_logic() || self.kind() != Kind::LParen {
            return Ok(None);
        }
        let Some(group) = self.try_group()? else {
            return Ok(None);
        };
        let kind = LiteralKind::Not { body: group.body, explicit: false };
        let literal = Literal { negated: false, kind, with: self.with()?, at };
        self.continue_logic(literal).map(Some)
    }

    /// Parses a term, `=` or `:=`.
    pub(super) fn statement(&mut self) -> Parsed<LiteralKind> {
        let left = self.expression()?;
        match self.kind() {
            Kind::Unify => {
                self.bump();
                Ok(LiteralKind::Unify(left, self.expression()?))
            }
            Kind::Assign => {
                self.bump();
                Ok(LiteralKind::Assign(left, self.expression()?))
            }
            _ => Ok(LiteralKind::Term(left)),
        }
    }

    pub(super) fn with(&mut self) -> Parsed<Vec<With>> {
        let mut with = Vec::new();
        while self.is_keyword("with") && !self.reference_follows() {
            self.bump();
            if !self.is_reference_head() {
                return self.unexpected("expected ident");
            }
            let target = self.term()?;
            if !matches!(target.node, Node::Ref(_) | Node::Var(_)) {
                return self.error("expected with target path");
            }
            if !self.take_keyword("as") {
                return self.unexpected("expected as keyword");
            }
            with.push(With { target, value: self.expression()? });
        }
        Ok(with)
    }

    fn some(&mut self, at: Pos) -> Parsed<Literal> {
        self.bump();
        let start = self.mark();
        if let Ok(term) = self.expression()
            && let Some(call) = term.into_call()
        {
            let name = call.name();
            let mut args = call.args.into_iter();
            let parts = (name, args.next(), args.next(), args.next());
            let kind = match parts {
                (name, Some(value), Some(domain), None) if name == "internal.member_2" => {
                    LiteralKind::SomeIn { key: None, value, domain }
                }
                (name, key, Some(value), Some(domain)) if name == "internal.member_3" => {
                    LiteralKind::SomeIn { key, value, domain }
                }
                _ => return self.error("expected `x in xs` or `x, y in xs` expression"),
            };
            return Ok(Literal { negated: false, kind, with: self.with()?, at });
        }
        self.go_back(start);
        let mut names = Vec::new();
        loop {
            if !self.is_name() {
                return self.unexpected("expected var");
            }
            let at = self.pos();
            if let Node::Var(name) = self.variable() {
                names.push((name, at));
            }
            self.bump();
            if !self.take(Kind::Comma) {
                return Ok(Literal { negated: false, kind: LiteralKind::Some(names), with: Vec::new(), at });
            }
        }
    }

    fn every(&mut self, at: Pos) -> Parsed<Literal> {
        self.bump();
        let term = self.expression()?;
        let Some((key, value, domain)) = membership(term) else {
            return self.error("expected `x[, y] in xs { ... }` expression");
        };
        let is_var = |term: &Term| matches!(term.node, Node::Var(_));
        if !is_var(&value) || key.as_ref().is_some_and(|key| !is_var(key)) {
            return self.error("expected key and value to be variables");
        }
        if !self.take(Kind::LBrace) {
            return self.unexpected("missing body");
        }
        let body = self.body(Kind::RBrace)?;
        let kind = LiteralKind::Every(Box::new(Every { key, value, domain, body }));
        Ok(Literal { negated: false, kind, with: self.with()?, at })
    }
}

/// Returns key, value and domain of `x in xs` and `k, v in xs`.
fn membership(term: Term) -> Option<(Option<Term>, Term, Term)> {
    let call = term.into_call()?;
    let name = call.name();
    let mut args = call.args.into_iter();
    match (name.as_str(), args.next(), args.next(), args.next()) {
        ("internal.member_2", Some(value), Some(domain), None) => Some((None, value, domain)),
        ("internal.member_3", key @ Some(_), Some(value), Some(domain)) => Some((key, value, domain)),
        _ => None,
    }
}
