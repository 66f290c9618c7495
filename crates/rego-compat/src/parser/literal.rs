//! Bodies and the statements in them.

use crate::ast::{Body, Every, Literal, LiteralKind, Node, Operand, Term, With};
use crate::finding::Pos;
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    /// Literals up to the closing bracket, which is consumed.
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
        self.nested(Self::literal_unchecked)
    }

    fn literal_unchecked(&mut self) -> Parsed<Literal> {
        let at = self.pos();
        if self.has_logic()
            && let Some(first) = self.try_braced_operand()?
        {
            return self.logic(first, at);
        }
        let reference = self.starts_with_reference();
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
        let literal = Literal {
            negated: false,
            kind,
            with,
            at,
        };
        self.continue_logic(literal)
    }

    fn starts_with_reference(&self) -> bool {
        !self.ahead(1).spaced && matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack)
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
        if self.keywords.not_bodies
            && self.has_logic()
            && self.kind() == Kind::LParen
            && let Some(group) = self.try_group()?
        {
            let kind = LiteralKind::Not {
                body: group.body,
                explicit: false,
            };
            let literal = Literal {
                negated: false,
                kind,
                with: self.with()?,
                at,
            };
            return self.continue_logic(literal);
        }
        let kind = self.statement()?;
        let with = self.with()?;
        let literal = if self.keywords.not_bodies {
            let inner = Literal {
                negated: false,
                kind,
                with: Vec::new(),
                at,
            };
            Literal {
                negated: false,
                kind: LiteralKind::Not {
                    body: vec![inner],
                    explicit: false,
                },
                with,
                at,
            }
        } else {
            Literal {
                negated: true,
                kind,
                with,
                at,
            }
        };
        self.continue_logic(literal)
    }

    /// A term, `=` or `:=`.
    fn statement(&mut self) -> Parsed<LiteralKind> {
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

    fn with(&mut self) -> Parsed<Vec<With>> {
        let mut with = Vec::new();
        while self.is_keyword("with") && !self.starts_with_reference() {
            let at = self.pos();
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
            with.push(With {
                target,
                value: self.expression()?,
                at,
            });
        }
        Ok(with)
    }

    fn some(&mut self, at: Pos) -> Parsed<Literal> {
        self.bump();
        let start = self.at;
        if let Ok(term) = self.expression()
            && let Node::Call(call) = &term.node
        {
            let mut args = call.args.clone().into_iter();
            let parts = (call.name(), args.next(), args.next(), args.next());
            let kind = match parts {
                (name, Some(value), Some(domain), None) if name == "internal.member_2" => {
                    LiteralKind::SomeIn {
                        key: None,
                        value,
                        domain,
                    }
                }
                (name, key, Some(value), Some(domain)) if name == "internal.member_3" => {
                    LiteralKind::SomeIn { key, value, domain }
                }
                _ => return self.error("expected `x in xs` or `x, y in xs` expression"),
            };
            return Ok(Literal {
                negated: false,
                kind,
                with: self.with()?,
                at,
            });
        }
        self.at = start;
        let mut names = Vec::new();
        loop {
            if !self.is_name() {
                return self.unexpected("expected var");
            }
            names.push((self.word().into(), self.pos()));
            self.bump();
            if !self.take(Kind::Comma) {
                return Ok(Literal {
                    negated: false,
                    kind: LiteralKind::Some(names),
                    with: Vec::new(),
                    at,
                });
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
        let kind = LiteralKind::Every(Box::new(Every {
            key,
            value,
            domain,
            body,
        }));
        Ok(Literal {
            negated: false,
            kind,
            with: self.with()?,
            at,
        })
    }

    const fn has_logic(&self) -> bool {
        self.keywords.and || self.keywords.or
    }

    /// `{ body }` in front of `and` / `or`.
    fn try_braced_operand(&mut self) -> Parsed<Option<Operand>> {
        let (start, depth) = (self.at, self.depth);
        if self.take(Kind::LBrace)
            && let Ok(body) = self.body(Kind::RBrace)
            && (self.is_keyword("and") || self.is_keyword("or"))
        {
            return Ok(Some(Operand { body, explicit: true }));
        }
        (self.at, self.depth) = (start, depth);
        if self.kind() == Kind::LParen {
            self.try_group()
        } else {
            Ok(None)
        }
    }

    /// `(a or b)`: parentheses around logic, which no term can hold.
    fn try_group(&mut self) -> Parsed<Option<Operand>> {
        let (start, depth) = (self.at, self.depth);
        self.bump();
        if let Ok(literal) = self.literal()
            && (matches!(literal.kind, LiteralKind::And(..) | LiteralKind::Or(..))
                || !literal.with.is_empty())
            && self.take(Kind::RParen)
        {
            return Ok(Some(Operand {
                body: vec![literal],
                explicit: false,
            }));
        }
        (self.at, self.depth) = (start, depth);
        Ok(None)
    }

    fn continue_logic(&mut self, literal: Literal) -> Parsed<Literal> {
        if !self.has_logic() || !(self.is_keyword("and") || self.is_keyword("or")) {
            return Ok(literal);
        }
        if !literal.with.is_empty() {
            return self.error("with keyword must follow the whole and/or expression");
        }
        let at = literal.at;
        self.logic(
            Operand {
                body: vec![literal],
                explicit: false,
            },
            at,
        )
    }

    /// `and` binds tighter than `or`; both associate to the left. `with` applies to the whole.
    fn logic(&mut self, first: Operand, at: Pos) -> Parsed<Literal> {
        let mut left = self.conjunction(first, at)?;
        while self.take_keyword("or") {
            let second = self.operand()?;
            let right = self.conjunction(second, at)?;
            left = join(left, right, at, LiteralKind::Or);
        }
        let with = self.with()?;
        match left.body.pop() {
            Some(mut literal) if !left.explicit && left.body.is_empty() => {
                literal.with = with;
                Ok(literal)
            }
            Some(last) => {
                left.body.push(last);
                let kind = LiteralKind::Not {
                    body: left.body,
                    explicit: true,
                };
                Ok(Literal {
                    negated: true,
                    kind,
                    with,
                    at,
                })
            }
            None => self.error("found empty body"),
        }
    }

    fn conjunction(&mut self, first: Operand, at: Pos) -> Parsed<Operand> {
        let mut left = first;
        while self.take_keyword("and") {
            let right = self.operand()?;
            left = join(left, right, at, LiteralKind::And);
        }
        Ok(left)
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.enter()?;
        let at = self.pos();
        if self.take(Kind::LBrace) {
            return Ok(Operand {
                body: self.body(Kind::RBrace)?,
                explicit: true,
            });
        }
        if self.kind() == Kind::LParen
            && let Some(group) = self.try_group()?
        {
            return Ok(group);
        }
        let negated = self.take_keyword("not");
        if negated && self.keywords.not_bodies && self.take(Kind::LBrace) {
            let body = self.body(Kind::RBrace)?;
            let kind = LiteralKind::Not { body, explicit: true };
            return Ok(Operand {
                body: vec![Literal {
                    negated: false,
                    kind,
                    with: Vec::new(),
                    at,
                }],
                explicit: false,
            });
        }
        let kind = self.statement()?;
        let literal = Literal {
            negated,
            kind,
            with: Vec::new(),
            at,
        };
        Ok(Operand {
            body: vec![literal],
            explicit: false,
        })
    }
}

fn join(
    left: Operand,
    right: Operand,
    at: Pos,
    kind: impl FnOnce(Box<Operand>, Box<Operand>) -> LiteralKind,
) -> Operand {
    let literal = Literal {
        negated: false,
        kind: kind(Box::new(left), Box::new(right)),
        with: Vec::new(),
        at,
    };
    Operand {
        body: vec![literal],
        explicit: false,
    }
}

/// Key, value and domain of `x in xs` and `k, v in xs`.
fn membership(term: Term) -> Option<(Option<Term>, Term, Term)> {
    let Node::Call(call) = term.node else {
        return None;
    };
    let name = call.name();
    let mut args = call.args.into_iter();
    match (name.as_str(), args.next(), args.next(), args.next()) {
        ("internal.member_2", Some(value), Some(domain), None) => Some((None, value, domain)),
        ("internal.member_3", key @ Some(_), Some(value), Some(domain)) => Some((key, value, domain)),
        _ => None,
    }
}
