//! Pipelines: declarations, commands and their words.

use std::rc::Rc;

use super::super::constant;
use super::super::function;
use super::super::node::{Pipe, Word};
use super::super::token::Token;
use super::{Exit, Parser};

impl<'t> Parser<'_, 't> {
    /// Parses a pipeline with what ends it.
    pub(super) fn pipe(&mut self, is_range: bool, end: Token<'_>) -> Result<Pipe<'t>, Exit> {
        self.meter.check_stack()?;
        let mut pipe = Pipe::default();
        self.declarations(is_range, &mut pipe)?;
        loop {
            if self.take(end) {
                break;
            }
            if !self.is_operand() {
                return Err(Exit::Error);
            }
            pipe.commands.push(self.command()?);
        }
        let is_literal = |command: &Vec<Word<'_>>| {
            matches!(
                command.first(),
                Some(Word::Bool(_) | Word::Dot | Word::Nil | Word::Number(_) | Word::Text(_))
            )
        };
        if pipe.commands.is_empty() || pipe.commands.iter().skip(1).any(is_literal) {
            return Err(Exit::Error);
        }
        Ok(pipe)
    }

    /// Parses `$x :=`, `$x =`, and `$i, $x :=` of a range.
    fn declarations(&mut self, is_range: bool, pipe: &mut Pipe<'t>) -> Result<(), Exit> {
        loop {
            self.skip_space();
            let start = self.at;
            let Some(Token::Variable(name)) = self.next() else {
                self.at = start;
                return Ok(());
            };
            self.skip_space();
            match self.next() {
                Some(sign @ (Token::Assign | Token::Declare)) => {
                    pipe.assigns = sign == Token::Assign;
                    pipe.variables.push(name);
                    self.scope.variables.push(name);
                    return Ok(());
                }
                Some(Token::Comma) => {
                    pipe.variables.push(name);
                    self.scope.variables.push(name);
                    self.skip_space();
                    let follows = matches!(
                        self.peek(),
                        Some(Token::Variable(_) | Token::RightDelimiter | Token::RightParenthesis)
                    );
                    if !is_range || pipe.variables.len() >= 2 || !follows {
                        return Err(Exit::Error);
                    }
                }
                _ => {
                    self.at = start;
                    return Ok(());
                }
            }
        }
    }

    /// Returns true if a command may begin here.
    fn is_operand(&self) -> bool {
        match self.peek() {
            Some(Token::Word(word)) => !is_keyword(word),
            Some(
                Token::Quoted(_)
                | Token::Character(_)
                | Token::Number(_)
                | Token::Complex(_)
                | Token::Field(_)
                | Token::Variable(_)
                | Token::Dot
                | Token::LeftParenthesis,
            ) => true,
            _ => false,
        }
    }

    /// Words with spaces between them. The sign of a pipe belongs to the command before it.
    fn command(&mut self) -> Result<Vec<Word<'t>>, Exit> {
        let mut words = Vec::new();
        loop {
            self.skip_space();
            if let Some(word) = self.operand()? {
                words.push(word);
            }
            match self.next() {
                Some(Token::Space) => {}
                Some(Token::RightDelimiter | Token::RightParenthesis) => {
                    self.at = self.at.saturating_sub(1);
                    break;
                }
                Some(Token::Pipe) => break,
                _ => return Err(Exit::Error),
            }
        }
        if words.is_empty() { Err(Exit::Error) } else { Ok(words) }
    }

    /// Parses a term with the fields right behind it.
    fn operand(&mut self) -> Result<Option<Word<'t>>, Exit> {
        let Some(term) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        while let Some(Token::Field(name)) = self.peek() {
            fields.push(name);
            self.next();
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        Ok(Some(match term {
            Word::Field(mut names) => {
                names.append(&mut fields);
                Word::Field(names)
            }
            Word::Variable(name, mut names) => {
                names.append(&mut fields);
                Word::Variable(name, names)
            }
            Word::Bool(_) | Word::Text(_) | Word::Number(_) | Word::Nil | Word::Dot => {
                return Err(Exit::Error);
            }
            other => Word::Chain(Box::new(other), fields),
        }))
    }

    fn term(&mut self) -> Result<Option<Word<'t>>, Exit> {
        let number = |constant: Option<_>| constant.map(Word::Number).ok_or(Exit::Error);
        let word = match self.next() {
            Some(Token::Word("nil")) => Word::Nil,
            Some(Token::Word("true")) => Word::Bool(true),
            Some(Token::Word("false")) => Word::Bool(false),
            Some(Token::Word(name)) if !is_keyword(name) => {
                if !function::is_known(name) {
                    return Err(Exit::Error);
                }
                Word::Function(name)
            }
            Some(Token::Dot) => Word::Dot,
            Some(Token::Variable(name)) => {
                self.meter.spend(u64::try_from(self.scope.variables.len() / 8).unwrap_or(u64::MAX))?;
                if !self.scope.variables.contains(&name) {
                    return Err(Exit::Error);
                }
                Word::Variable(name, Vec::new())
            }
            Some(Token::Field(name)) => Word::Field(vec![name]),
            Some(Token::Number(text)) => number(constant::number(text))?,
            Some(Token::Complex(text)) => number(constant::complex(text))?,
            Some(Token::Character(text)) => {
                number(constant::character(text).map(super::super::node::Constant::Int))?
            }
            Some(Token::Quoted(text)) => Word::Text(Rc::from(constant::text(text).ok_or(Exit::Error)?)),
            Some(Token::LeftParenthesis) => Word::Pipe(Box::new(self.pipe(false, Token::RightParenthesis)?)),
            _ => {
                self.at = self.at.saturating_sub(1);
                return Ok(None);
            }
        };
        Ok(Some(word))
    }
}

fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 10] =
        ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"];
    KEYWORDS.contains(&word)
}
