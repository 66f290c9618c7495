//! Templates walked through, and what they write.

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;
use go_compat::fmt;

use super::Exit;
use super::item::Item;
use super::node::{Control, MAIN, Node, Pipe, Templates};

/// Executes the outermost template on the data.
pub(super) fn execute<'v>(
    templates: &'v Templates<'v>,
    data: &'v Value,
    meter: &'v Meter,
) -> Result<String, Exit> {
    let Some(main) = templates.all.get(MAIN) else { return Err(Exit::Error) };
    let root = Item::of(data);
    let mut state = State { templates, meter, out: String::new(), variables: vec![("$", root.clone())] };
    state.walk(&root, main)?;
    Ok(state.out)
}

pub(super) struct State<'v> {
    templates: &'v Templates<'v>,
    pub(super) meter: &'v Meter,
    out: String,
    /// Those of the template that is walked through, the innermost last.
    pub(super) variables: Vec<(&'v str, Item<'v>)>,
}

impl<'v> State<'v> {
    fn walk(&mut self, dot: &Item<'v>, nodes: &'v [Node<'v>]) -> Result<(), Exit> {
        self.meter.check_stack()?;
        for node in nodes {
            self.meter.spend(1)?;
            match node {
                Node::Text(text) => self.write(text)?,
                Node::Action(pipe) => {
                    let value = self.pipe(dot, pipe)?;
                    if pipe.variables.is_empty() {
                        self.print(&value)?;
                    }
                }
                Node::If(control) => self.branch(dot, control, false)?,
                Node::With(control) => self.branch(dot, control, true)?,
                Node::Range(control) => self.range(dot, control)?,
                Node::Template(name, pipe) => self.template(dot, name, pipe.as_ref())?,
                Node::Break => return Err(Exit::Break),
                Node::Continue => return Err(Exit::Continue),
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), EvalError> {
        self.meter.charge(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    fn print(&mut self, value: &Item<'v>) -> Result<(), Exit> {
        match value {
            Item::Invalid | Item::Nil => self.write("<no value>")?,
            Item::Text(text) => self.write(text)?,
            other => {
                self.weigh(other)?;
                let mut text = String::new();
                fmt::append(&other.to_arg(), &mut text);
                self.write(&text)?;
            }
        }
        Ok(())
    }

    /// Pays for all that is in a value.
    pub(super) fn weigh(&self, value: &Item<'v>) -> Result<(), EvalError> {
        match value {
            Item::Text(text) => self.meter.charge(text.len()),
            Item::Number(number) => self.meter.charge(number.text_len()),
            Item::List(list) => {
                list.items.iter().take(list.length).try_for_each(|item| self.meter.charge_tree(item))
            }
            Item::Map(pairs) => pairs.iter().try_for_each(|(key, value)| {
                self.meter.charge_tree(key)?;
                self.meter.charge_tree(value)
            }),
            _ => Ok(()),
        }
    }

    fn branch(&mut self, dot: &Item<'v>, control: &'v Control<'v>, is_with: bool) -> Result<(), Exit> {
        let mark = self.variables.len();
        let value = self.pipe(dot, &control.pipe)?;
        let walked = match &control.otherwise {
            _ if value.is_true() => self.walk(if is_with { &value } else { dot }, &control.list),
            Some(otherwise) => self.walk(dot, otherwise),
            None => Ok(()),
        };
        self.variables.truncate(mark);
        walked
    }

    fn range(&mut self, dot: &Item<'v>, control: &'v Control<'v>) -> Result<(), Exit> {
        let mark = self.variables.len();
        let walked = self.walk_range(dot, control);
        self.variables.truncate(mark);
        // A `break` in the other branch ends this range and no other.
        match walked {
            Err(Exit::Break) => Ok(()),
            other => other,
        }
    }

    fn walk_range(&mut self, dot: &Item<'v>, control: &'v Control<'v>) -> Result<(), Exit> {
        let value = self.pipe(dot, &control.pipe)?;
        let empty = match &value {
            Item::Int(_) | Item::Byte(_) if control.pipe.variables.len() > 1 => return Err(Exit::Error),
            Item::Int(count) => {
                (0..*count).try_for_each(|int| self.turn(control, Item::Invalid, &Item::Int(int)))?;
                *count <= 0
            }
            Item::Byte(count) => {
                (0..*count).try_for_each(|byte| self.turn(control, Item::Invalid, &Item::Byte(byte)))?;
                *count == 0
            }
            Item::List(list) => {
                for index in 0..list.length {
                    let position = Item::Int(i64::try_from(index).unwrap_or(i64::MAX));
                    self.turn(control, position, &list.get(index).unwrap_or(Item::Nil))?;
                }
                list.length == 0
            }
            Item::Map(pairs) => {
                for (key, value) in pairs.iter() {
                    self.turn(control, Item::of(key), &Item::of(value))?;
                }
                pairs.is_empty()
            }
            Item::Invalid | Item::Nil => true,
            _ => return Err(Exit::Error),
        };
        match &control.otherwise {
            Some(otherwise) if empty => self.walk(dot, otherwise),
            _ => Ok(()),
        }
    }

    /// Runs one iteration of a range, with its variables set.
    fn turn(&mut self, control: &'v Control<'v>, index: Item<'v>, element: &Item<'v>) -> Result<(), Exit> {
        self.meter.spend(1)?;
        let pipe = &control.pipe;
        match (pipe.variables.as_slice(), pipe.assigns) {
            ([], _) => {}
            ([one], true) => self.assign(one, element.clone())?,
            ([first, second, ..], true) => {
                self.assign(first, index)?;
                self.assign(second, element.clone())?;
            }
            ([_], false) => self.set_last(1, element.clone()),
            (_, false) => {
                self.set_last(1, element.clone());
                self.set_last(2, index);
            }
        }
        let mark = self.variables.len();
        let walked = self.walk(element, &control.list);
        self.variables.truncate(mark);
        match walked {
            Err(Exit::Continue) => Ok(()),
            other => other,
        }
    }

    fn set_last(&mut self, from_end: usize, value: Item<'v>) {
        let place = self.variables.len().checked_sub(from_end);
        if let Some((_, variable)) = place.and_then(|place| self.variables.get_mut(place)) {
            *variable = value;
        }
    }

    /// Overwrites the innermost variable of a name.
    pub(super) fn assign(&mut self, name: &str, value: Item<'v>) -> Result<(), Exit> {
        self.meter.spend(u64::try_from(self.variables.len() / 8).unwrap_or(u64::MAX))?;
        let variable = self.variables.iter_mut().rev().find(|(known, _)| *known == name);
        let (_, variable) = variable.ok_or(Exit::Error)?;
        *variable = value;
        Ok(())
    }

    fn template(&mut self, dot: &Item<'v>, name: &str, pipe: Option<&'v Pipe<'v>>) -> Result<(), Exit> {
        let nodes = self.templates.all.get(name).ok_or(Exit::Error)?;
        let dot = match pipe {
            Some(pipe) => self.pipe(dot, pipe)?,
            None => Item::Invalid,
        };
        let outer = std::mem::replace(&mut self.variables, vec![("$", dot.clone())]);
        let walked = self.walk(&dot, nodes);
        self.variables = outer;
        walked
    }
}
