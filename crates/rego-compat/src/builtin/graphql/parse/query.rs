//! Queries, and what they share with schemas: values, types and directives.

use super::super::ast::{
    Argument, Child, Directive, Field, Fragment, Inline, Literal, Operation, QueryDocument, Selection,
    Selections, Spread, Type, Variable, kind,
};
use super::super::token::Token;
use super::{Halt, Parser};

impl Parser<'_> {
    pub(super) fn query_document(mut self) -> Result<QueryDocument, Halt> {
        let mut document = QueryDocument::default();
        loop {
            match self.peek() {
                None => return Ok(document),
                Some(Token::Sign('{')) => {
                    // The library looks for the comment when it is gone.
                    let selections = self.selections()?;
                    document.operations.push(Operation {
                        kind: "query".to_owned(),
                        selections,
                        ..Operation::default()
                    });
                }
                Some(Token::Name(word)) => match word.as_str() {
                    "query" | "mutation" | "subscription" => document.operations.push(self.operation()?),
                    "fragment" => document.fragments.push(self.fragment()?),
                    _ => return Err(Halt::Invalid),
                },
                Some(_) => return Err(Halt::Invalid),
            }
        }
    }

    fn operation(&mut self) -> Result<Operation, Halt> {
        let comment = self.comment.clone();
        let kind = self.name()?;
        let name = if self.is_name() { self.name()? } else { String::new() };
        Ok(Operation {
            kind,
            name,
            variables: self.variables()?,
            directives: self.directives(false)?,
            selections: self.selections()?,
            comment,
        })
    }

    fn fragment(&mut self) -> Result<Fragment, Halt> {
        let comment = self.comment.clone();
        self.keyword("fragment")?;
        let name = self.fragment_name()?;
        let variables = self.variables()?;
        self.keyword("on")?;
        Ok(Fragment {
            name,
            variables,
            condition: self.name()?,
            directives: self.directives(false)?,
            selections: self.selections()?,
            comment,
        })
    }

    fn fragment_name(&mut self) -> Result<String, Halt> {
        if self.says("on") { Err(Halt::Invalid) } else { self.name() }
    }

    fn variables(&mut self) -> Result<Vec<Variable>, Halt> {
        Ok(self.some(['(', ')'], Self::variable)?.0)
    }

    fn variable(&mut self) -> Result<Variable, Halt> {
        let comment = self.comment.clone();
        self.expect('$')?;
        let name = self.name()?;
        self.expect(':')?;
        let kind = Some(Box::new(self.type_reference()?));
        let default = self.default()?;
        Ok(Variable { name, kind, default, directives: self.directives(false)?, comment })
    }

    /// `= 1`
    pub(super) fn default(&mut self) -> Result<Option<Box<Literal>>, Halt> {
        if self.skip('=') { self.literal(true).map(|literal| Some(Box::new(literal))) } else { Ok(None) }
    }

    fn selections(&mut self) -> Result<Selections, Halt> {
        if !self.is('{') {
            return Err(Halt::Invalid);
        }
        Ok(Selections(self.some(['{', '}'], Self::selection)?.0))
    }

    fn selection(&mut self) -> Result<Selection, Halt> {
        if self.peek() == Some(&Token::Spread) { self.spread() } else { self.field().map(Selection::Field) }
    }

    fn field(&mut self) -> Result<Field, Halt> {
        let comment = self.comment.clone();
        let alias = self.name()?;
        let name = if self.skip(':') { self.name()? } else { alias.clone() };
        let arguments = self.arguments(false)?;
        let directives = self.directives(false)?;
        let selections = if self.is('{') { self.selections()? } else { Selections::default() };
        Ok(Field { alias, name, arguments, directives, selections, comment })
    }

    fn spread(&mut self) -> Result<Selection, Halt> {
        let comment = self.comment.clone();
        self.next();
        if self.is_name() && !self.says("on") {
            let name = self.fragment_name()?;
            return Ok(Selection::Spread(Spread { name, directives: self.directives(false)?, comment }));
        }
        let mut condition = String::new();
        if self.says("on") {
            self.next();
            condition = self.name()?;
        }
        let directives = self.directives(false)?;
        Ok(Selection::Inline(Inline { condition, directives, selections: self.selections()?, comment }))
    }

    fn arguments(&mut self, constant: bool) -> Result<Vec<Argument>, Halt> {
        Ok(self.some(['(', ')'], |parser| parser.argument(constant))?.0)
    }

    fn argument(&mut self, constant: bool) -> Result<Argument, Halt> {
        let comment = self.comment.clone();
        let name = self.name()?;
        self.expect(':')?;
        Ok(Argument { name, value: Some(Box::new(self.literal(constant)?)), comment })
    }

    pub(super) fn directives(&mut self, constant: bool) -> Result<Vec<Directive>, Halt> {
        let mut directives = Vec::new();
        while self.skip('@') {
            let name = self.name()?;
            directives.push(Directive { name, arguments: self.arguments(constant)? });
        }
        Ok(directives)
    }

    pub(super) fn type_reference(&mut self) -> Result<Type, Halt> {
        self.meter.check_stack()?;
        let mut kind = Type::default();
        if self.skip('[') {
            kind.element = Some(Box::new(self.type_reference()?));
            self.expect(']')?;
        } else {
            kind.name = self.name()?;
        }
        kind.required = self.skip('!');
        Ok(kind)
    }

    /// A value. Only lists and objects keep the comment before them.
    fn literal(&mut self, constant: bool) -> Result<Literal, Halt> {
        self.meter.check_stack()?;
        let comment = self.comment.clone();
        let (kind, raw) = match self.next().ok_or(Halt::Invalid)? {
            Token::Sign('[') => {
                let mut children = Vec::new();
                while !self.skip(']') {
                    let value = Some(Box::new(self.literal(constant)?));
                    children.push(Child { value, ..Child::default() });
                }
                return Ok(Literal { children, kind: kind::LIST, comment, ..Literal::default() });
            }
            Token::Sign('{') => {
                let mut children = Vec::new();
                while !self.skip('}') {
                    children.push(self.child(constant)?);
                }
                return Ok(Literal { children, kind: kind::OBJECT, comment, ..Literal::default() });
            }
            Token::Sign('$') if !constant => (kind::VARIABLE, self.name()?),
            Token::Int(raw) => (kind::INT, raw),
            Token::Float(raw) => (kind::FLOAT, raw),
            Token::Text(raw) => (kind::STRING, raw),
            Token::Block(raw) => (kind::BLOCK, raw),
            Token::Name(raw) => match raw.as_str() {
                "true" | "false" => (kind::BOOLEAN, raw),
                "null" => (kind::NULL, raw),
                _ => (kind::ENUM, raw),
            },
            _ => return Err(Halt::Invalid),
        };
        Ok(Literal { raw, kind, ..Literal::default() })
    }

    fn child(&mut self, constant: bool) -> Result<Child, Halt> {
        let comment = self.comment.clone();
        let name = self.name()?;
        self.expect(':')?;
        Ok(Child { name, value: Some(Box::new(self.literal(constant)?)), comment })
    }
}
