//! Queries, and what they share with schemas: values, types and directives.

use super::super::ast::{
    Argument, Child, Directive, Field, Fragment, Inline, Literal, Operation, QueryDocument, Selection,
    Selections, Spread, Type, Variable, kind,
};
use super::super::token::Token;
use super::{Error, Parser};

impl Parser<'_> {
    pub(super) fn query_document(mut self) -> Result<QueryDocument, Error> {
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
                    _ => return Err(Error::Invalid),
                },
                Some(_) => return Err(Error::Invalid),
            }
        }
    }

    fn operation(&mut self) -> Result<Operation, Error> {
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

    fn fragment(&mut self) -> Result<Fragment, Error> {
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

    fn fragment_name(&mut self) -> Result<String, Error> {
        if self.is_word("on") { Err(Error::Invalid) } else { self.name() }
    }

    fn variables(&mut self) -> Result<Vec<Variable>, Error> {
        Ok(self.some(['(', ')'], Self::variable)?.0)
    }

    fn variable(&mut self) -> Result<Variable, Error> {
        let comment = self.comment.clone();
        self.expect('$')?;
        let name = self.name()?;
        self.expect(':')?;
        let kind = Some(Box::new(self.type_reference()?));
        let default = self.default()?;
        Ok(Variable { name, kind, default, directives: self.directives(false)?, comment })
    }

    /// Parses a default such as `= 1`.
    pub(super) fn default(&mut self) -> Result<Option<Box<Literal>>, Error> {
        if self.skip('=') { self.literal(true).map(|literal| Some(Box::new(literal))) } else { Ok(None) }
    }

    fn selections(&mut self) -> Result<Selections, Error> {
        if !self.is('{') {
            return Err(Error::Invalid);
        }
        Ok(Selections(self.some(['{', '}'], Self::selection)?.0))
    }

    fn selection(&mut self) -> Result<Selection, Error> {
        if self.peek() == Some(&Token::Spread) { self.spread() } else { self.field().map(Selection::Field) }
    }

    fn field(&mut self) -> Result<Field, Error> {
        let comment = self.comment.clone();
        let alias = self.name()?;
        let name = if self.skip(':') { self.name()? } else { alias.clone() };
        let arguments = self.arguments(false)?;
        let directives = self.directives(false)?;
        let selections = if self.is('{') { self.selections()? } else { Selections::default() };
        Ok(Field { alias, name, arguments, directives, selections, comment })
    }

    fn spread(&mut self) -> Result<Selection, Error> {
        let comment = self.comment.clone();
        self.next();
        if self.is_name() && !self.is_word("on") {
            let name = self.fragment_name()?;
            return Ok(Selection::Spread(Spread { name, directives: self.directives(false)?, comment }));
        }
        let mut condition = String::new();
        if self.is_word("on") {
            self.next();
            condition = self.name()?;
        }
        let directives = self.directives(false)?;
        Ok(Selection::Inline(Inline { condition, directives, selections: self.selections()?, comment }))
    }

    fn arguments(&mut self, constant: bool) -> Result<Vec<Argument>, Error> {
        Ok(self.some(['(', ')'], |parser| parser.argument(constant))?.0)
    }

    fn argument(&mut self, constant: bool) -> Result<Argument, Error> {
        let comment = self.comment.clone();
        let name = self.name()?;
        self.expect(':')?;
        Ok(Argument { name, value: Some(Box::new(self.literal(constant)?)), comment })
    }

    pub(super) fn directives(&mut self, constant: bool) -> Result<Vec<Directive>, Error> {
        let mut directives = Vec::new();
        while self.skip('@') {
            let name = self.name()?;
            directives.push(Directive { name, arguments: self.arguments(constant)? });
        }
        Ok(directives)
    }

    pub(super) fn type_reference(&mut self) -> Result<Type, Error> {
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

    /// Parses a value. Only lists and objects keep the comment before them.
    fn literal(&mut self, constant: bool) -> Result<Literal, Error> {
        self.meter.check_stack()?;
        let comment = self.comment.clone();
        let (kind, raw) = match self.next().ok_or(Error::Invalid)? {
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
            _ => return Err(Error::Invalid),
        };
        Ok(Literal { raw, kind, ..Literal::default() })
    }

    fn child(&mut self, constant: bool) -> Result<Child, Error> {
        let comment = self.comment.clone();
        let name = self.name()?;
        self.expect(':')?;
        Ok(Child { name, value: Some(Box::new(self.literal(constant)?)), comment })
    }
}
