//! A template as it was read.

use std::collections::HashMap;
use std::rc::Rc;

/// The templates of a text by their names.
pub(super) struct Templates<'t> {
    pub(super) all: HashMap<String, Vec<Node<'t>>>,
}

/// The name of the outermost template.
pub(super) const MAIN: &str = "template";

/// A part of a template between two others.
pub(super) enum Node<'t> {
    Text(&'t str),
    Action(Pipe<'t>),
    If(Control<'t>),
    With(Control<'t>),
    Range(Control<'t>),
    Template(String, Option<Pipe<'t>>),
    Break,
    Continue,
}

/// A condition, or what is walked through, with both branches.
pub(super) struct Control<'t> {
    pub(super) pipe: Pipe<'t>,
    pub(super) list: Vec<Node<'t>>,
    pub(super) otherwise: Option<Vec<Node<'t>>>,
}

/// Commands, each of which gets what the one before has given.
#[derive(Default)]
pub(super) struct Pipe<'t> {
    pub(super) variables: Vec<&'t str>,
    /// `=` and not `:=`
    pub(super) assigns: bool,
    pub(super) commands: Vec<Vec<Word<'t>>>,
}

/// A part of a command.
pub(super) enum Word<'t> {
    Dot,
    Nil,
    Bool(bool),
    Number(Constant),
    Text(Rc<str>),
    Field(Vec<&'t str>),
    Variable(&'t str, Vec<&'t str>),
    Function(&'t str),
    /// The fields of what another word gives.
    Chain(Box<Self>, Vec<&'t str>),
    Pipe(Box<Pipe<'t>>),
}

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    /// A whole number of 64 bits that a signed one cannot hold: an error where it is used.
    Overflow,
}

/// Returns true if there is nothing but space.
pub(super) fn is_empty(nodes: &[Node<'_>]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
}
