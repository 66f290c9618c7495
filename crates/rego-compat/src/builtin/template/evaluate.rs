//! Pipelines, commands and their words as values.

use std::rc::Rc;

use super::Exit;
use super::execute::State;
use super::function::{self, Function, Kind};
use super::item::Item;
use super::node::{Constant, Pipe, Word};

impl<'v> State<'v> {
    /// Evaluates a pipeline to the value of its last command; variables that are declared stay until the end of their
    /// list.
    pub(super) fn pipe(&mut self, dot: &Item<'v>, pipe: &'v Pipe<'v>) -> Result<Item<'v>, Exit> {
        self.meter.check_stack()?;
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?.settled());
        }
        let value = value.unwrap_or(Item::Invalid);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.meter.charge(64)?;
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    /// Evaluates a command, whose last argument is the value of the command before.
    fn command(
        &mut self,
        dot: &Item<'v>,
        words: &'v [Word<'v>],
        last: Option<Item<'v>>,
    ) -> Result<Item<'v>, Exit> {
        self.meter.spend(1)?;
        let (first, args) = words.split_first().ok_or(Exit::Error)?;
        if let Word::Function(name) = first {
            return self.call(dot, name, args, last);
        }
        // Nothing else takes arguments, for there are no methods; but what has no value has any.
        let is_call = !args.is_empty() || last.is_some();
        match first {
            Word::Field(names) if is_call => self.method(dot.clone(), names),
            Word::Variable(name, names) if is_call => self.method(self.variable(name)?, names),
            Word::Chain(inner, names) if is_call => {
                let value = self.word(dot, inner)?;
                self.method(value, names)
            }
            Word::Nil => Err(Exit::Error),
            _ if is_call => Err(Exit::Error),
            word => self.word(dot, word),
        }
    }

    /// Returns the last of some fields with arguments, which only no value takes.
    fn method(&self, value: Item<'v>, names: &[&str]) -> Result<Item<'v>, Exit> {
        let (_, receivers) = names.split_last().ok_or(Exit::Error)?;
        match self.fields(value, receivers)? {
            Item::Invalid => Ok(Item::Invalid),
            _ => Err(Exit::Error),
        }
    }

    fn variable(&self, name: &str) -> Result<Item<'v>, Exit> {
        self.meter.spend(u64::try_from(self.variables.len() / 8).unwrap_or(u64::MAX))?;
        let variable = self.variables.iter().rev().find(|(known, _)| *known == name);
        variable.map(|(_, value)| value.clone()).ok_or(Exit::Error)
    }

    /// Returns a word as a value.
    fn word(&mut self, dot: &Item<'v>, word: &'v Word<'v>) -> Result<Item<'v>, Exit> {
        match word {
            Word::Dot => Ok(dot.clone()),
            Word::Nil => Ok(Item::Nil),
            Word::Bool(bool) => Ok(Item::Bool(*bool)),
            Word::Number(Constant::Int(int)) => Ok(Item::Int(*int)),
            Word::Number(Constant::Float(float)) => Ok(Item::Float(*float)),
            Word::Number(Constant::Complex(real, imaginary)) => Ok(Item::Complex(*real, *imaginary)),
            Word::Number(Constant::Overflow) => Err(Exit::Error),
            Word::Text(text) => Ok(Item::Text(Rc::clone(text))),
            Word::Field(names) => self.fields(dot.clone(), names),
            Word::Variable(name, names) => {
                let value = self.variable(name)?;
                self.fields(value, names)
            }
            Word::Function(name) => self.call(dot, name, &[], None),
            Word::Chain(inner, names) => {
                let value = self.word(dot, inner)?;
                self.fields(value, names)
            }
            Word::Pipe(pipe) => self.pipe(dot, pipe),
        }
    }

    /// Returns a field of a field. No value has any field, which is not a value; `null` has none.
    fn fields(&self, value: Item<'v>, names: &[&str]) -> Result<Item<'v>, Exit> {
        let mut value = value;
        for name in names {
            self.meter.spend(1)?;
            value = match value {
                Item::Invalid => Item::Invalid,
                Item::Map(pairs) => pairs.get(&(*name).into()).map_or(Item::Invalid, Item::of),
                _ => return Err(Exit::Error),
            };
        }
        Ok(value)
    }

    fn call(
        &mut self,
        dot: &Item<'v>,
        name: &str,
        args: &'v [Word<'v>],
        last: Option<Item<'v>>,
    ) -> Result<Item<'v>, Exit> {
        self.meter.spend(4)?;
        let function = function::find(name).ok_or(Exit::Error)?;
        let count = args.len().saturating_add(usize::from(last.is_some()));
        if count < function.least || function.most.is_some_and(|most| count > most) {
            return Err(Exit::Error);
        }
        if let Kind::Choice(wanted) = function.kind {
            return self.choose(dot, wanted, args, last);
        }
        let mut values = Vec::with_capacity(count);
        for (position, word) in args.iter().enumerate() {
            values.push(self.argument(dot, &function, position, word)?);
        }
        if let Some(last) = last {
            if function.wants_text(values.len()) && !matches!(last, Item::Text(_)) {
                return Err(Exit::Error);
            }
            values.push(last);
        }
        function.run(&values, self)
    }

    /// Returns an argument; the format of `printf` must be a string, and no other.
    fn argument(
        &mut self,
        dot: &Item<'v>,
        function: &Function,
        position: usize,
        word: &'v Word<'v>,
    ) -> Result<Item<'v>, Exit> {
        let value = self.word(dot, word)?;
        if function.wants_text(position) && !matches!(value, Item::Text(_)) {
            return Err(Exit::Error);
        }
        Ok(value)
    }

    /// Evaluates `and` and `or`, which return the argument that decides and do not evaluate those behind it.
    fn choose(
        &mut self,
        dot: &Item<'v>,
        wanted: bool,
        args: &'v [Word<'v>],
        last: Option<Item<'v>>,
    ) -> Result<Item<'v>, Exit> {
        let mut value = Item::Invalid;
        for word in args {
            value = self.word(dot, word)?;
            if value.is_true() == wanted {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }
}
