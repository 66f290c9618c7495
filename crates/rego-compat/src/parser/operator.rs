//! Infix operators: `in`, relations, `|`, `&`, sums and products, each binding tighter than the one before.

use crate::ast::{Call, Link, Name, Node, Term};
use crate::diagnostic::Pos;
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

/// Returns a call of a builtin under its dotted name.
pub(super) fn call(name: &str, args: Vec<Term>, at: Pos) -> Term {
    Term::new(Node::Call(Box::new(Call { operator: dotted(name), args })), at)
}

fn dotted(name: &str) -> Vec<Name> {
    name.split('.').map(Into::into).collect()
}

fn operator_at(level: usize, kind: Kind) -> Option<&'static str> {
    LEVELS.get(level)?.iter().find(|(operator, _)| *operator == kind).map(|(_, name)| *name)
}

impl Parser<'_> {
    /// Parses any term, with `k, v in xs` allowed.
    pub(super) fn expression(&mut self) -> Parsed<Term> {
        self.nested(|parser| parser.membership(None, true))
    }

    /// Parses any term inside a list, where a comma separates elements.
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
        let mut links = Vec::new();
        while self.is_keyword("in") && !self.reference_follows() {
            links.push(self.link("internal.member_2", left.at, 0)?);
        }
        Ok(Term::chain(left, links))
    }

    /// Parses an operator and its right operand, which is one level deeper. The chain that it continues is not, however long it is.
    fn link(&mut self, operator: &str, start: Pos, level: usize) -> Parsed<Link> {
        self.nested(|parser| {
            parser.bump();
            let right = parser.infix(None, level)?;
            Ok(Link { operator: dotted(operator), right, at: parser.since(start) })
        })
    }

    /// Parses `key, value in domain`; returns the key where something else follows.
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

    /// Parses left-associative operators of one level and those that bind tighter, tightest first.
    fn infix(&mut self, first: Option<Term>, level: usize) -> Parsed<Term> {
        let mut left = match first {
            Some(term) => term,
            None => self.term()?,
        };
        if !self.kind().is_infix() {
            return Ok(left);
        }
        for level in (level..LEVELS.len()).rev() {
            let mut links = Vec::new();
            while let Some(name) = operator_at(level, self.kind()) {
                links.push(self.link(name, left.at, level.saturating_add(1))?);
            }
            left = Term::chain(left, links);
        }
        Ok(left)
    }
}
