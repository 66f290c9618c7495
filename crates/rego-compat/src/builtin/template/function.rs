//! The functions of templates (`text/template/funcs.go`).

use std::rc::Rc;

use crate::error::EvalError;
use eval_budget::Limit;
use go_compat::fmt::{self, Arg};
use go_compat::url::query_escape;

use super::compare::{equals_any, is_less};
use super::execute::State;
use super::item::{Item, List};
use super::{Exit, escape};

/// The functions by kind.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// `or` and `and`: the first argument that is, or is not, true.
    Choice(bool),
    /// A function of values that costs what its arguments are read for.
    Plain(for<'v> fn(&[Item<'v>]) -> Result<Item<'v>, Exit>),
    /// All arguments printed, and escaped.
    Escape(fn(&str) -> String),
    Print,
    Println,
    Printf,
}

pub(super) struct Function {
    pub(super) kind: Kind,
    /// The number of arguments it takes at least.
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

pub(super) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

pub(super) fn find(name: &str) -> Option<Function> {
    let (kind, least, most) = match name {
        "and" => (Kind::Choice(false), 1, None),
        "or" => (Kind::Choice(true), 1, None),
        // There are no functions among the data.
        "call" => (Kind::Plain(|_| Err(Exit::Error)), 1, None),
        "html" => (Kind::Escape(escape::html), 0, None),
        "js" => (Kind::Escape(escape::script), 0, None),
        "urlquery" => (Kind::Escape(query_escape), 0, None),
        "print" => (Kind::Print, 0, None),
        "println" => (Kind::Println, 0, None),
        "printf" => (Kind::Printf, 1, None),
        "index" => (Kind::Plain(index), 1, None),
        "slice" => (Kind::Plain(slice), 1, None),
        "len" => (Kind::Plain(length), 1, Some(1)),
        "not" => (Kind::Plain(|items| Ok(Item::Bool(!items.first().is_some_and(Item::is_true)))), 1, Some(1)),
        "eq" => (Kind::Plain(|items| equals_any(items).map(Item::Bool)), 1, None),
        "ne" => (Kind::Plain(|items| equals_any(items).map(|equal| Item::Bool(!equal))), 2, Some(2)),
        "lt" => (Kind::Plain(|items| less(items).map(Item::Bool)), 2, Some(2)),
        "le" => (Kind::Plain(|items| less_or_equal(items).map(Item::Bool)), 2, Some(2)),
        "gt" => (Kind::Plain(|items| less_or_equal(items).map(|is| Item::Bool(!is))), 2, Some(2)),
        "ge" => (Kind::Plain(|items| less(items).map(|is| Item::Bool(!is))), 2, Some(2)),
        _ => return None,
    };
    Some(Function { kind, least, most })
}

impl Function {
    /// Returns true if an argument must be a plain string.
    pub(super) fn wants_text(&self, position: usize) -> bool {
        position == 0 && matches!(self.kind, Kind::Printf)
    }

    pub(super) fn run<'v>(&self, items: &[Item<'v>], state: &State<'v>) -> Result<Item<'v>, Exit> {
        let text = match self.kind {
            Kind::Choice(_) => return Err(Exit::Error),
            Kind::Plain(run) => {
                items.iter().try_for_each(|item| match item {
                    Item::Text(text) => state.meter.charge(text.len()),
                    _ => Ok(()),
                })?;
                return run(items);
            }
            Kind::Escape(escape) => escape(&printed(items, state, true)?),
            Kind::Print => printed(items, state, false)?,
            Kind::Println => {
                let mut text = String::new();
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        text.push(' ');
                    }
                    state.weigh(item)?;
                    fmt::append(&item.to_arg(), &mut text);
                }
                text.push('\n');
                text
            }
            Kind::Printf => formatted(items, state)?,
        };
        state.meter.charge(text.len())?;
        Ok(Item::Text(Rc::from(text)))
    }
}

/// Go's `Sprint`: a space between two arguments if neither is a string.
fn printed<'v>(items: &[Item<'v>], state: &State<'v>, names_nothing: bool) -> Result<String, EvalError> {
    let mut text = String::new();
    let mut after_string = true;
    for (position, item) in items.iter().enumerate() {
        let is_nothing = names_nothing && !item.is_valid();
        let is_string = is_nothing || matches!(item, Item::Text(_) | Item::Number(_));
        if position > 0 && !is_string && !after_string {
            text.push(' ');
        }
        after_string = is_string;
        state.weigh(item)?;
        if is_nothing {
            text.push_str("<no value>");
        } else {
            fmt::append(&item.to_arg(), &mut text);
        }
    }
    Ok(text)
}

fn formatted<'v>(items: &[Item<'v>], state: &State<'v>) -> Result<String, Exit> {
    let Some((Item::Text(format), values)) = items.split_first() else { return Err(Exit::Error) };
    values.iter().try_for_each(|value| state.weigh(value))?;
    let args: Vec<Arg> = values.iter().map(Item::to_arg).collect();
    let text = fmt::sprintf(format, &args, state.meter.bytes_left());
    text.ok_or(Exit::Limit(EvalError::Budget(Limit::Memory)))
}

fn less(items: &[Item<'_>]) -> Result<bool, Exit> {
    match items {
        [a, b] => is_less(a, b),
        _ => Err(Exit::Error),
    }
}

fn less_or_equal(items: &[Item<'_>]) -> Result<bool, Exit> {
    Ok(less(items)? || equals_any(items)?)
}

fn length<'v>(items: &[Item<'v>]) -> Result<Item<'v>, Exit> {
    let length = match items {
        [Item::List(list)] => list.length,
        [Item::Map(pairs)] => pairs.len(),
        [item] => item.as_string().ok_or(Exit::Error)?.len(),
        _ => return Err(Exit::Error),
    };
    Ok(Item::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// Returns an argument as a place up to the end of something.
fn place(item: &Item<'_>, most: usize) -> Result<usize, Exit> {
    let place = match item {
        Item::Int(int) => usize::try_from(*int).ok(),
        Item::Byte(byte) => Some(usize::from(*byte)),
        _ => None,
    };
    place.filter(|place| *place <= most).ok_or(Exit::Error)
}

fn index<'v>(items: &[Item<'v>]) -> Result<Item<'v>, Exit> {
    let (first, keys) = items.split_first().ok_or(Exit::Error)?;
    let mut item = first.clone();
    if !item.is_valid() {
        return Err(Exit::Error);
    }
    for key in keys {
        item = match &item {
            Item::List(list) => list.get(place(key, list.length)?).ok_or(Exit::Error)?,
            Item::Map(pairs) => match key {
                Item::Text(key) => pairs.get(&(&**key).into()).map_or(Item::Nil, Item::of),
                _ => return Err(Exit::Error),
            },
            other => {
                let text = other.as_string().ok_or(Exit::Error)?;
                let place = place(key, text.len())?;
                Item::Byte(*text.as_bytes().get(place).ok_or(Exit::Error)?)
            }
        };
    }
    Ok(item)
}

fn slice<'v>(items: &[Item<'v>]) -> Result<Item<'v>, Exit> {
    let (item, bounds) = items.split_first().ok_or(Exit::Error)?;
    let text = item.as_string();
    let (length, room, most) = match (item, &text) {
        (Item::List(list), _) => (list.length, list.room, 3),
        (_, Some(text)) => (text.len(), text.len(), 2),
        _ => return Err(Exit::Error),
    };
    if bounds.len() > most {
        return Err(Exit::Error);
    }
    let places = bounds.iter().map(|bound| place(bound, room)).collect::<Result<Vec<_>, _>>()?;
    let start = places.first().copied().unwrap_or(0);
    let end = places.get(1).copied().unwrap_or(length);
    let room = places.get(2).copied().unwrap_or(room);
    if start > end || end > room {
        return Err(Exit::Error);
    }
    match (item, text) {
        (Item::List(list), _) => {
            let items = list.items.get(start..).unwrap_or(&[]);
            Ok(Item::List(List {
                items,
                length: end.saturating_sub(start),
                room: room.saturating_sub(start),
            }))
        }
        (_, Some(text)) => {
            let bytes = text.as_bytes().get(start..end).unwrap_or(&[]);
            Ok(Item::Text(Rc::from(String::from_utf8_lossy(bytes))))
        }
        _ => Err(Exit::Error),
    }
}
