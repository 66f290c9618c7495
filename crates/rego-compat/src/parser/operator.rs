//! Infix operators: `in`, relations, `|`, `&`, sums and products, each binding tighter than the one before.

use crate::ast::{Call, Node, Term};
use crate::token::Kind;

use super::{Parsed, Parser};

/// Levels of precedence below `in`, loosest first.
const LEVELS: [&[(Kind, &str)]; 5] = [
    &[
        (Kind::Equal, "equal"),
        (Kind::NotEqual, "neq"),
        (Kind::Less, "lt"),
        (Kind::Greater, "gt"),
        (Kind::LessEqual, "lte"),
        (Kind::GreaterEqual, "gte"),
    ],
    &[(Kind::Or, "or")],
    &[(Kind::And, "and")],
    &[(Kind::Plus, "plus"), (Kind::Minus, "minus")],
    &[(Kind::Star, "mul"), (Kind::Slash, "div"), (Kind::Percent, "rem")],
];

/// A call of a builtin under its dotted name.
pub(super) fn call(name: &str, args: Vec<Term>, at: crate::finding::Pos) -> Term {
    let operator = name.split('.').map(Into::into).collect();
    Term::new(Node::Call(Box::new(Call { operator, args })), at)
}

fn operator_at(level: usize, kind: Kind) -> Option<&'static str> {
    LEVELS.get(level)?.iter().find(|(operator, _)| *operator == kind).map(|(_, name)| *name)
}

impl Parser<'_> {
    /// Any term, with `k, v in xs` allowed.
    pub(super) fn expression(&mut self) -> Parsed<Term> {
        self.nested(|parser| parser.membership(None, true))
    }

    /// Any term inside a list, where a comma separates elements.
    pub(super) fn element(&mut self) -> Parsed<Term> {
        self.nested(|parser| parser.membership(None, false))
    }

    /// Continues a term that was read without its operators.
    pub(super) fn element_from(&mut self, first: Term) -> Parsed<Term> {
        self.nested(|parser| parser.membership(Some(first), false))
    }

    fn membership(&mut self, first: Option<Term>, pairs: bool) -> Parsed<Term> {
        let mut left = self.infix(first, 0)?;
        if pairs && self.kind() == Kind::Comma && self.keywords.r#in {
            left = self.try_pair(left)?;
        }
        let entry = self.depth;
        while self.is_keyword("in") && !self.in_starts_reference() {
            self.enter()?;
            self.bump();
            let domain = self.infix(None, 0)?;
            let at = self.since(left.at);
            left = call("internal.member_2", vec![left, domain], at);
        }
        self.depth = entry;
        Ok(left)
    }

    fn in_starts_reference(&self) -> bool {
        !self.ahead(1).spaced && matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack)
    }

    /// `key, value in domain`; gives the key back when that is not what follows.
    fn try_pair(&mut self, key: Term) -> Parsed<Term> {
        let start = self.mark();
        self.bump();
        if let Ok(value) = self.infix(None, 0)
            && self.is_keyword("in")
        {
            self.bump();
            let domain = self.infix(None, 0)?;
            let at = self.since(key.at);
            return Ok(call("internal.member_3", vec![key, value, domain], at));
        }
        self.go_back(start);
        Ok(key)
    }

    /// Left-associative operators of one level and those that bind tighter, tightest first.
    fn infix(&mut self, first: Option<Term>, level: usize) -> Parsed<Term> {
        let mut left = match first {
            Some(term) => term,
            None => self.term()?,
        };
        if !self.kind().is_infix() {
            return Ok(left);
        }
        for level in (level..LEVELS.len()).rev() {
            let entry = self.depth;
            while let Some(name) = operator_at(level, self.kind()) {
                // A long chain is as deep a tree as a nested one.
                self.enter()?;
                self.bump();
                let right = self.infix(None, level.saturating_add(1))?;
                let at = self.since(left.at);
                left = call(name, vec![left, right], at);
            }
            self.depth = entry;
        }
        Ok(left)
    }
}
