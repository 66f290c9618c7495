//! Bodies and the statements in them.

use crate::ast::{Body, Every, Literal, LiteralKind, Node, Operand, Term, With};
use crate::value::Value;

use crate::error::EvalError;

use eval_budget::Limit;

use super::{Writer, Written, list};

/// Operands of a chain of `and` or `or` that may be written: each is three levels of nesting in the answer.
const MOST_OPERANDS: usize = 96;

impl Writer<'_> {
    pub(super) fn body(&self, body: &Body) -> Written {
        let literals = (0u64..).zip(body).map(|(index, literal)| self.literal(index, literal));
        list(literals).map(Value::from)
    }

    /// Returns the body of what holds without one.
    pub(super) fn implicit_body(&self) -> Written {
        let holds = self.typed("boolean", Value::Bool(true))?;
        let literal =
            self.record([("generated", Value::Bool(true)), ("index", Value::from(0u64)), ("terms", holds)])?;
        Ok(Value::from(vec![literal]))
    }

    pub(super) fn literal(&self, index: u64, literal: &Literal) -> Written {
        let with = list(literal.with.iter().map(|with| self.with(with)))?;
        self.optional([
            ("index", Some(Value::from(index))),
            ("negated", literal.negated.then_some(Value::Bool(true))),
            ("terms", Some(self.statement(&literal.kind)?)),
            ("with", super::filled(with)),
        ])
    }

    fn statement(&self, kind: &LiteralKind) -> Written {
        match kind {
            LiteralKind::Term(Term { node: Node::Call(call), .. }) => self.call(call),
            LiteralKind::Term(Term { node: Node::Chain(chain), .. }) => self.chain(chain),
            LiteralKind::Term(term) => self.term(term),
            LiteralKind::Unify(left, right) => self.operation("eq", &[left, right]),
            LiteralKind::Assign(left, right) => self.operation("assign", &[left, right]),
            LiteralKind::Some(names) => {
                let symbols = list(names.iter().map(|(name, _)| self.variable(name)))?;
                self.record([("symbols", Value::from(symbols))])
            }
            LiteralKind::SomeIn { key, value, domain } => self.some_in(key.as_ref(), value, domain),
            LiteralKind::Every(every) => self.every(every),
            LiteralKind::Not { body, explicit } => self.record([
                ("type", Value::from("not")),
                ("body", self.body(body)?),
                ("explicit_body", Value::Bool(*explicit)),
            ]),
            LiteralKind::And(operands) => self.logic("and", operands),
            LiteralKind::Or(operands) => self.logic("or", operands),
        }
    }

    fn some_in(&self, key: Option<&Term>, value: &Term, domain: &Term) -> Written {
        let call = match key {
            Some(key) => self.operation("internal.member_3", &[key, value, domain]),
            None => self.operation("internal.member_2", &[value, domain]),
        };
        let symbol = self.typed("call", call?)?;
        self.record([("symbols", Value::from(vec![symbol]))])
    }

    fn every(&self, every: &Every) -> Written {
        let key = every.key.as_ref().map_or(Ok(Value::Null), |key| self.term(key))?;
        self.record([
            ("key", key),
            ("value", self.term(&every.value)?),
            ("domain", self.term(&every.domain)?),
            ("body", self.body(&every.body)?),
        ])
    }

    /// Writes a chain of operands as pairs, the left of which holds all but the last operand.
    fn logic(&self, kind: &str, operands: &[Operand]) -> Written {
        if operands.len() > MOST_OPERANDS {
            return Err(EvalError::Budget(Limit::Depth));
        }
        let Some((first, rest)) = operands.split_first() else { return Ok(Value::Null) };
        let is_explicit = |operand: &Operand| operand.explicit.then_some(Value::Bool(true));
        let mut left = Some((self.body(&first.body)?, is_explicit(first)));
        let mut pair = Value::Null;
        for right in rest {
            let (body, explicit) = match left.take() {
                Some(first) => first,
                None => {
                    let statement = self.record([("index", Value::from(0u64)), ("terms", pair)])?;
                    (Value::from(vec![statement]), None)
                }
            };
            pair = self.optional([
                ("type", Some(Value::from(kind))),
                ("lhs", Some(body)),
                ("rhs", Some(self.body(&right.body)?)),
                ("explicit_lhs", explicit),
                ("explicit_rhs", is_explicit(right)),
            ])?;
        }
        Ok(pair)
    }

    fn with(&self, with: &With) -> Written {
        self.record([("target", self.term(&with.target)?), ("value", self.term(&with.value)?)])
    }
}

impl Literal {
    /// Returns the constant that the statement is nothing but.
    pub(super) fn constant(&self) -> Option<&Term> {
        match &self.kind {
            LiteralKind::Term(term) if matches!(term.node, Node::Scalar(_)) => Some(term),
            _ => None,
        }
    }
}
