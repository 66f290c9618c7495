//! Values while a template is executed, in the kinds of Go's `reflect`.

use std::rc::Rc;

use crate::value::{Number, Object, Value};
use go_compat::fmt::{Arg, Compound};

/// A value.
#[derive(Clone)]
pub(super) enum Item<'v> {
    /// No value at all: what a missing key has.
    Invalid,
    /// A `null` where it was found. Beyond its pipeline it is not a value.
    Nil,
    Bool(bool),
    Int(i64),
    /// A byte of a string.
    Byte(u8),
    Float(f64),
    Complex(f64, f64),
    Text(Rc<str>),
    /// A number of the data, which is a string of its own type to Go.
    Number(&'v Number),
    List(List<'v>),
    Map(&'v Object),
}

/// An array, or a part of one. Go has room behind an array's end, which `slice` reaches.
#[derive(Clone)]
pub(super) struct List<'v> {
    /// The items that are there; the rest is `null`.
    pub(super) items: &'v [Value],
    pub(super) length: usize,
    pub(super) room: usize,
}

impl<'v> List<'v> {
    pub(super) fn get(&self, index: usize) -> Option<Item<'v>> {
        let item = || self.items.get(index).map_or(Item::Nil, Item::of);
        (index < self.length).then(item)
    }
}

/// Returns the room of an array that Go's decoder has made item by item.
fn room(length: usize) -> usize {
    const DOUBLED: usize = 512;
    if length <= DOUBLED { length.next_power_of_two() } else { length }
}

impl<'v> Item<'v> {
    /// Returns a value as it is found within another.
    pub(super) fn of(value: &'v Value) -> Self {
        match value {
            Value::Bool(bool) => Self::Bool(*bool),
            Value::String(text) => Self::Text(Rc::from(&**text)),
            Value::Number(number) => Self::Number(number),
            Value::Array(items) => {
                let room = if items.is_empty() { 0 } else { room(items.len()) };
                Self::List(List { items, length: items.len(), room })
            }
            Value::Object(pairs) => Self::Map(pairs),
            Value::Null | Value::Set(_) | Value::Undefined => Self::Nil,
        }
    }

    /// Converts an item as the end of a pipeline does.
    pub(super) fn settled(self) -> Self {
        if matches!(self, Self::Nil) { Self::Invalid } else { self }
    }

    pub(super) fn is_valid(&self) -> bool {
        !matches!(self, Self::Invalid | Self::Nil)
    }

    /// Returns true for everything but zeros, empty ones and nothing.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Invalid | Self::Nil => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => *int != 0,
            Self::Byte(byte) => *byte != 0,
            Self::Float(float) => *float != 0.0,
            Self::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Number(_) => true,
            Self::List(list) => list.length > 0,
            Self::Map(pairs) => !pairs.is_empty(),
        }
    }

    /// Returns the bytes of a string, of whichever type.
    pub(super) fn as_string(&self) -> Option<Rc<str>> {
        match self {
            Self::Text(text) => Some(Rc::clone(text)),
            Self::Number(number) => Some(Rc::from(&*number.text())),
            _ => None,
        }
    }

    /// Returns the value as Go's `fmt` gets it.
    pub(super) fn to_arg(&self) -> Arg {
        Arg::Other(match self {
            Self::Invalid | Self::Nil => Compound::Nil,
            Self::Bool(bool) => Compound::Bool(*bool),
            Self::Int(int) => Compound::Int(*int),
            Self::Byte(byte) => Compound::Byte(*byte),
            Self::Float(float) => return Arg::Float(*float),
            Self::Complex(real, imaginary) => Compound::Complex(*real, *imaginary),
            Self::Text(text) => return Arg::String(text.to_string()),
            Self::Number(number) => Compound::Number(number.text().into_owned()),
            Self::List(list) => {
                let items = (0..list.length).map(|index| list.get(index).unwrap_or(Item::Nil).to_arg());
                Compound::List(items.collect())
            }
            Self::Map(pairs) => {
                let pair = |(key, value): (&Value, &'v Value)| {
                    let key = key.as_string().map_or_else(|_| String::new(), |key| key.to_string());
                    (key, Item::of(value).to_arg())
                };
                Compound::Map(pairs.iter().map(pair).collect())
            }
        })
    }
}
