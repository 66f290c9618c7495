//! Tokens read into templates (`text/template/parse/parse.go`).

mod pipe;

use std::collections::HashMap;

use crate::meter::Meter;

use super::node::{Control, MAIN, Node, Templates, is_empty};
use super::token::Token;
use super::{Exit, constant};

/// Parses all templates of a text.
pub(super) fn templates<'t>(tokens: &[Token<'t>], meter: &Meter) -> Result<Templates<'t>, Exit> {
    let mut parser = Parser { tokens, at: 0, scope: Scope::default(), templates: HashMap::new(), meter };
    let main = parser.main()?;
    parser.add(MAIN.to_owned(), main)?;
    Ok(Templates { all: parser.templates })
}

struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
    at: usize,
    scope: Scope<'t>,
    templates: HashMap<String, Vec<Node<'t>>>,
    meter: &'p Meter,
}

/// The names known within one template.
struct Scope<'t> {
    variables: Vec<&'t str>,
    /// Ranges that `break` may end.
    ranges: usize,
}

impl Default for Scope<'_> {
    fn default() -> Self {
        Self { variables: vec!["$"], ranges: 0 }
    }
}

/// The end of a list.
#[derive(PartialEq, Eq)]
enum End {
    End,
    Else,
}

/// A node, or what ends the list it would be in.
enum Step<'t> {
    Node(Node<'t>),
    End(End),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    If,
    With,
    Range,
}

impl<'t> Parser<'_, 't> {
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token<'t>> {
        let token = self.peek();
        self.at = self.at.saturating_add(1);
        token
    }

    fn skip_space(&mut self) {
        while self.peek() == Some(Token::Space) {
            self.at = self.at.saturating_add(1);
        }
    }

    fn take(&mut self, wanted: Token<'_>) -> bool {
        self.skip_space();
        let taken = self.peek() == Some(wanted);
        if taken {
            self.at = self.at.saturating_add(1);
        }
        taken
    }

    fn expect(&mut self, wanted: Token<'_>) -> Result<(), Exit> {
        if self.take(wanted) { Ok(()) } else { Err(Exit::Error) }
    }

    /// Adds a template; a second one of a name is refused, unless one of both is empty.
    fn add(&mut self, name: String, nodes: Vec<Node<'t>>) -> Result<(), Exit> {
        match self.templates.get(&name) {
            Some(known) if !is_empty(known) => {
                if is_empty(&nodes) {
                    Ok(())
                } else {
                    Err(Exit::Error)
                }
            }
            _ => {
                self.templates.insert(name, nodes);
                Ok(())
            }
        }
    }

    /// Parses the outermost template, between whose parts others are defined.
    fn main(&mut self) -> Result<Vec<Node<'t>>, Exit> {
        let mut nodes = Vec::new();
        while self.peek().is_some() {
            let start = self.at;
            if self.take(Token::LeftDelimiter) && self.take(Token::Word("define")) {
                self.definition()?;
                continue;
            }
            self.at = start;
            match self.step()? {
                Step::Node(node) => nodes.push(node),
                Step::End(_) => return Err(Exit::Error),
            }
        }
        Ok(nodes)
    }

    fn definition(&mut self) -> Result<(), Exit> {
        let name = self.name()?;
        self.expect(Token::RightDelimiter)?;
        self.inner(name)
    }

    /// Parses a template within another, up to its end.
    fn inner(&mut self, name: String) -> Result<(), Exit> {
        let outer = std::mem::take(&mut self.scope);
        let (nodes, end) = self.list()?;
        self.scope = outer;
        if end != End::End {
            return Err(Exit::Error);
        }
        self.add(name, nodes)
    }

    fn name(&mut self) -> Result<String, Exit> {
        self.skip_space();
        match self.next() {
            Some(Token::Quoted(name)) => constant::text(name).ok_or(Exit::Error),
            _ => Err(Exit::Error),
        }
    }

    fn list(&mut self) -> Result<(Vec<Node<'t>>, End), Exit> {
        self.meter.check_stack()?;
        let mut nodes = Vec::new();
        loop {
            match self.step()? {
                Step::Node(node) => nodes.push(node),
                Step::End(end) => return Ok((nodes, end)),
            }
        }
    }

    /// Parses a text or an action.
    fn step(&mut self) -> Result<Step<'t>, Exit> {
        self.skip_space();
        match self.next() {
            Some(Token::Text(text)) => Ok(Step::Node(Node::Text(text))),
            Some(Token::LeftDelimiter) => self.action(),
            _ => Err(Exit::Error),
        }
    }

    fn action(&mut self) -> Result<Step<'t>, Exit> {
        self.skip_space();
        let start = self.at;
        let node = match self.next() {
            Some(Token::Word("end")) => {
                self.expect(Token::RightDelimiter)?;
                return Ok(Step::End(End::End));
            }
            Some(Token::Word("else")) => {
                self.skip_space();
                // What follows is read by the caller that began the list.
                if !matches!(self.peek(), Some(Token::Word("if" | "with"))) {
                    self.expect(Token::RightDelimiter)?;
                }
                return Ok(Step::End(End::Else));
            }
            Some(Token::Word("if")) => Node::If(self.control(Kind::If)?),
            Some(Token::Word("with")) => Node::With(self.control(Kind::With)?),
            Some(Token::Word("range")) => Node::Range(self.control(Kind::Range)?),
            Some(Token::Word("block")) => self.block()?,
            Some(Token::Word("template")) => self.template()?,
            Some(Token::Word("break")) => self.leap(Node::Break)?,
            Some(Token::Word("continue")) => self.leap(Node::Continue)?,
            _ => {
                self.at = start;
                Node::Action(self.pipe(false, Token::RightDelimiter)?)
            }
        };
        Ok(Step::Node(node))
    }

    fn leap(&mut self, node: Node<'t>) -> Result<Node<'t>, Exit> {
        self.expect(Token::RightDelimiter)?;
        if self.scope.ranges == 0 { Err(Exit::Error) } else { Ok(node) }
    }

    fn block(&mut self) -> Result<Node<'t>, Exit> {
        let name = self.name()?;
        let pipe = self.pipe(false, Token::RightDelimiter)?;
        self.inner(name.clone())?;
        Ok(Node::Template(name, Some(pipe)))
    }

    fn template(&mut self) -> Result<Node<'t>, Exit> {
        let name = self.name()?;
        let pipe = if self.take(Token::RightDelimiter) {
            None
        } else {
            Some(self.pipe(false, Token::RightDelimiter)?)
        };
        Ok(Node::Template(name, pipe))
    }

    fn control(&mut self, kind: Kind) -> Result<Control<'t>, Exit> {
        self.meter.check_stack()?;
        let variables = self.scope.variables.len();
        let pipe = self.pipe(kind == Kind::Range, Token::RightDelimiter)?;
        let range = usize::from(kind == Kind::Range);
        self.scope.ranges = self.scope.ranges.saturating_add(range);
        let (list, end) = self.list()?;
        self.scope.ranges = self.scope.ranges.saturating_sub(range);
        let otherwise = match end {
            End::End => None,
            End::Else => Some(self.otherwise(kind)?),
        };
        self.scope.variables.truncate(variables);
        Ok(Control { pipe, list, otherwise })
    }

    /// Parses what follows `else`, which may be another condition of the same kind.
    fn otherwise(&mut self, kind: Kind) -> Result<Vec<Node<'t>>, Exit> {
        if kind == Kind::If && self.peek() == Some(Token::Word("if")) {
            self.next();
            return Ok(vec![Node::If(self.control(kind)?)]);
        }
        if kind == Kind::With && self.peek() == Some(Token::Word("with")) {
            self.next();
            return Ok(vec![Node::With(self.control(kind)?)]);
        }
        match self.list()? {
            (list, End::End) => Ok(list),
            (_, End::Else) => Err(Exit::Error),
        }
    }
}
