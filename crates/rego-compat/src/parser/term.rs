//! Terms: scalars, variables, references and calls.

use crate::ast::{Call, Name, Node, Term};
use crate::diagnostic::DiagnosticCode;
use crate::token::Kind;

use super::operator::call;
use super::{Parsed, Parser, SyntaxError};

impl Parser<'_> {
    pub(super) fn term(&mut self) -> Parsed<Term> {
        self.nested(Self::term_unchecked)
    }

    fn term_unchecked(&mut self) -> Parsed<Term> {
        let at = self.pos();
        let head = match self.kind() {
            Kind::Ident => return self.word_term(),
            Kind::Minus => return self.minus(),
            Kind::Number | Kind::Dot => self.number(false)?,
            Kind::String | Kind::RawString => self.string()?,
            Kind::TemplatePart | Kind::TemplateEnd => self.template()?,
            Kind::LBrack => self.array()?,
            Kind::LBrace => self.set_or_object()?,
            Kind::LParen => self.parenthesized()?,
            _ => return self.unexpected("expected term"),
        };
        let at = self.since(at);
        self.reference(Term::new(head, at))
    }

    fn word_term(&mut self) -> Parsed<Term> {
        let at = self.pos();
        let word = self.word();
        let callable =
            matches!(word, "and" | "or") && self.ahead(1).kind == Kind::LParen && !self.ahead(1).spaced;
        if !self.is_reference_head() && word != "contains" && !callable {
            let node = match word {
                "null" => Node::Scalar(crate::value::Value::Null),
                "true" => Node::Scalar(crate::value::Value::Bool(true)),
                "false" => Node::Scalar(crate::value::Value::Bool(false)),
                _ => return self.unexpected("expected term"),
            };
            self.bump();
            return self.reference(Term::new(node, at));
        }
        let variable = Term::new(self.variable(), at);
        self.bump();
        self.reference(variable)
    }

    /// Returns the variable the current word names; `_` is a new one each time.
    pub(super) fn variable(&mut self) -> Node {
        if self.word() == "_" { self.wildcard() } else { Node::Var(self.word().into()) }
    }

    pub(super) fn wildcard(&mut self) -> Node {
        let name: Name = format!("${}", self.wildcards).into();
        self.wildcards = self.wildcards.saturating_add(1);
        Node::Var(name)
    }

    /// Parses a negative number, or `0 - reference`.
    fn minus(&mut self) -> Parsed<Term> {
        let at = self.pos();
        self.bump();
        if self.is_reference_head() || (self.kind() == Kind::Ident && self.word() == "contains") {
            let operand = self.word_term()?;
            let zero = Term::new(Node::Scalar(0u64.into()), at);
            return Ok(call("minus", vec![zero, operand], self.since(at)));
        }
        let number = self.number(true)?;
        self.reference(Term::new(number, self.since(at)))
    }

    fn parenthesized(&mut self) -> Parsed<Node> {
        self.bump();
        let inner = self.expression()?;
        if !self.take(Kind::RParen) {
            return self.error("non-terminated expression");
        }
        Ok(inner.node)
    }

    /// Parses what may follow a term without white space: `.name`, `[…]`, `(…)`.
    pub(super) fn reference(&mut self, head: Term) -> Parsed<Term> {
        self.reference_from(head, false)
    }

    /// Parses the components behind a head; with `spaced`, the first bracket may stand behind white space (rule heads).
    pub(super) fn reference_from(&mut self, head: Term, spaced: bool) -> Parsed<Term> {
        let follows = |parser: &Self| matches!(parser.kind(), Kind::LParen | Kind::Dot | Kind::LBrack);
        if !follows(self) || (self.token().spaced && !spaced) {
            return Ok(root(head));
        }
        if matches!(head.node, Node::Scalar(_) | Node::Template(_)) {
            return self.error(format!("illegal ref (head cannot be {})", head.describe()));
        }
        let at = head.at;
        let entry = self.depth;
        let mut components = vec![head];
        let mut first = spaced;
        while follows(self) && (first || !self.token().spaced) {
            first = false;
            if components.len() >= self.longest_path {
                return self.too_long();
            }
            match self.kind() {
                Kind::Dot => components.push(self.field()?),
                Kind::LBrack => components.push(self.index()?),
                _ => {
                    self.enter()?;
                    let called = self.call(std::mem::take(&mut components), at)?;
                    components.push(called);
                }
            }
        }
        self.depth = entry;
        Ok(match (components.len(), components.pop()) {
            (1, Some(only)) => root(only),
            (_, Some(last)) => {
                components.push(last);
                Term::new(Node::Ref(components), self.since(at))
            }
            (_, None) => Term::new(Node::Ref(components), at),
        })
    }

    fn too_long<T>(&self) -> Parsed<T> {
        Err(SyntaxError {
            at: self.pos(),
            code: DiagnosticCode::Bound,
            message: format!("reference has more than {} names and keys", self.longest_path),
            help: "give its beginning a name of its own",
        })
    }

    fn field(&mut self) -> Parsed<Term> {
        self.bump();
        let at = self.pos();
        if self.kind() != Kind::Ident || self.token().spaced {
            return self.unexpected("expected name");
        }
        let name = Node::Scalar(self.word().into());
        self.bump();
        Ok(Term::new(name, at))
    }

    fn index(&mut self) -> Parsed<Term> {
        self.bump();
        let term = self.expression()?;
        self.expect(Kind::RBrack)?;
        Ok(term)
    }

    /// Parses `(args)` behind a dotted name. `set()` is the empty set.
    fn call(&mut self, operator: Vec<Term>, at: crate::diagnostic::Pos) -> Parsed<Term> {
        let names: Option<Vec<Name>> = operator
            .iter()
            .map(|term| match &term.node {
                Node::Var(name) => Some(name.clone()),
                _ => term.as_str().map(Into::into),
            })
            .collect();
        let Some(operator) = names else {
            return self.error("expected the name of a function in front of `(`");
        };
        self.bump();
        let args = self.elements(Kind::RParen)?;
        if args.is_empty() && operator.len() == 1 && operator.first().is_some_and(|name| &**name == "set") {
            return Ok(Term::new(Node::Set(Vec::new()), self.since(at)));
        }
        Ok(Term::new(Node::Call(Box::new(Call { operator, args })), self.since(at)))
    }
}

/// Turns bare `data` and `input` into references to the whole document.
fn root(term: Term) -> Term {
    match &term.node {
        Node::Var(name) if matches!(&**name, "data" | "input") => {
            let at = term.at;
            Term::new(Node::Ref(vec![term]), at)
        }
        _ => term,
    }
}
