//! `and` and `or` between statements, under `future.keywords`. `or` binds loosest; braces and parentheses group.

use crate::ast::{Literal, LiteralKind, Operand};
use crate::diagnostic::Pos;
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) const fn has_logic(&self) -> bool {
        self.keywords.and || self.keywords.or
    }

    /// Parses `{ body }` in front of `and` / `or`.
    pub(super) fn try_braced_operand(&mut self) -> Parsed<Option<Operand>> {
        let start = self.mark();
        if self.take(Kind::LBrace)
            && let Ok(body) = self.body(Kind::RBrace)
            && (self.is_keyword("and") || self.is_keyword("or"))
        {
            return Ok(Some(Operand { body, explicit: true }));
        }
        self.go_back(start);
        if self.kind() == Kind::LParen { self.try_group() } else { Ok(None) }
    }

    /// Parses `(a or b)`: parentheses around logic, which no term can hold.
    pub(super) fn try_group(&mut self) -> Parsed<Option<Operand>> {
        let start = self.mark();
        self.bump();
        if let Ok(literal) = self.literal()
            && (matches!(literal.kind, LiteralKind::And(..) | LiteralKind::Or(..))
                || !literal.with.is_empty())
            && self.take(Kind::RParen)
        {
            return Ok(Some(Operand { body: vec![literal], explicit: false }));
        }
        self.go_back(start);
        Ok(None)
    }

    pub(super) fn continue_logic(&mut self, literal: Literal) -> Parsed<Literal> {
        if !self.has_logic() || !(self.is_keyword("and") || self.is_keyword("or")) {
            return Ok(literal);
        }
        if !literal.with.is_empty() {
            return self.error("with keyword must follow the whole and/or expression");
        }
        let at = literal.at;
        self.logic(Operand { body: vec![literal], explicit: false }, at)
    }

    /// Parses the rest of a chain: `and` binds tighter than `or`, both associate to the left, and `with` applies to the whole.
    pub(super) fn logic(&mut self, first: Operand, at: Pos) -> Parsed<Literal> {
        let mut alternatives = vec![self.conjunction(first, at)?];
        while self.take_keyword("or") {
            let next = self.operand()?;
            alternatives.push(self.conjunction(next, at)?);
        }
        let mut left = join(alternatives, at, LiteralKind::Or);
        let with = self.with()?;
        match left.body.pop() {
            Some(mut literal) if !left.explicit && left.body.is_empty() => {
                // What stands inside the parentheses of a group is its own.
                if !with.is_empty() {
                    literal.with = with;
                }
                Ok(literal)
            }
            Some(last) => {
                left.body.push(last);
                let kind = LiteralKind::Not { body: left.body, explicit: true };
                Ok(Literal { negated: true, kind, with, at })
            }
            None => self.error("found empty body"),
        }
    }

    fn conjunction(&mut self, first: Operand, at: Pos) -> Parsed<Operand> {
        let mut operands = vec![first];
        while self.take_keyword("and") {
            operands.push(self.operand()?);
        }
        Ok(join(operands, at, LiteralKind::And))
    }

    /// Parses an operand, which is one level deeper. The chain that it continues is not, however long it is.
    fn operand(&mut self) -> Parsed<Operand> {
        self.nested(Self::operand_unchecked)
    }

    fn operand_unchecked(&mut self) -> Parsed<Operand> {
        let at = self.pos();
        if self.take(Kind::LBrace) {
            return Ok(Operand { body: self.body(Kind::RBrace)?, explicit: true });
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
                body: vec![Literal { negated: false, kind, with: Vec::new(), at }],
                explicit: false,
            });
        }
        let kind = self.statement()?;
        let literal = |negated, kind| Literal { negated, kind, with: Vec::new(), at };
        let literal = if negated && self.keywords.not_bodies {
            literal(false, LiteralKind::Not { body: vec![literal(false, kind)], explicit: false })
        } else {
            literal(negated, kind)
        };
        Ok(Operand { body: vec![literal], explicit: false })
    }
}

/// Returns one operand as it is, and several as one that holds them all.
fn join(mut operands: Vec<Operand>, at: Pos, kind: fn(Vec<Operand>) -> LiteralKind) -> Operand {
    if operands.len() == 1
        && let Some(only) = operands.pop()
    {
        return only;
    }
    let literal = Literal { negated: false, kind: kind(operands), with: Vec::new(), at };
    Operand { body: vec![literal], explicit: false }
}
