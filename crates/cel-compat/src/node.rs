//! A checked expression, ready to evaluate: names resolved, macros expanded, functions found.
//!
//! Knows neither positions nor types; both have done their work by now.

use crate::value::Value;

use super::library::Native;
use super::operator::Operator;
use super::overload::Overload;

/// One step of evaluation.
#[derive(Debug)]
pub(super) enum Node {
    Constant(Value),
    /// A name of the environment whose value is given, by position.
    Given(usize),
    /// A variable of the environment, by position.
    Variable(usize),
    /// A name that a macro binds, by position.
    Local(usize),
    Path(Box<Path>),
    SelectOptional {
        operand: Box<Node>,
        field: String,
    },
    Has {
        operand: Box<Node>,
        field: String,
    },
    Index(Box<[Node; 2]>),
    IndexOptional(Box<[Node; 2]>),
    /// `&&`
    Every(Vec<Node>),
    /// `||`
    Some(Vec<Node>),
    Not(Box<Node>),
    Conditional(Box<[Node; 3]>),
    Operation(Operator, Box<[Node; 2]>),
    Negate(Box<Node>),
    /// `or` and `orValue`
    Otherwise {
        parts: Box<[Node; 2]>,
        is_value: bool,
    },
    Call(Box<Call>),
    List(Vec<(bool, Node)>),
    Map(Vec<(bool, Node, Node)>),
    Fold(Box<Fold>),
    Optional(Box<OptionalMap>),
}

impl Node {
    /// The field of an operand.
    pub(super) fn select(operand: Self, field: String) -> Self {
        let mut path = match operand {
            Self::Path(path) => path,
            root => Box::new(Path { root, fields: Vec::new() }),
        };
        path.fields.push(field);
        Self::Path(path)
    }
}

/// A chain of fields, one below the other: a single node, so that what lies between is looked at only.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) root: Node,
    /// At least one.
    pub(super) fields: Vec<String>,
}

/// The call of a function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: Native,
    pub(super) overloads: &'static [Overload],
    pub(super) arguments: Vec<Node>,
}

/// A macro over the elements of a list or the keys of a map.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) range: Node,
    /// The slot of the first variable; the second, if any, follows.
    pub(super) slot: usize,
    /// Two variables: index and element, or key and value.
    pub(super) is_pair: bool,
    pub(super) shape: Shape,
}

/// The value that a macro makes of the elements.
#[derive(Debug)]
pub(super) enum Shape {
    All(Node),
    Exists(Node),
    ExistsOne(Node),
    /// The elements that satisfy a condition.
    Filter(Node),
    /// A list of what an expression makes of the elements, those that satisfy the condition.
    List(Option<Node>, Node),
    /// A map from the same keys.
    Map(Option<Node>, Node),
    /// A map of the entries of maps.
    Entries(Option<Node>, Node),
    /// The elements in the order of what an expression makes of them.
    SortBy(Node),
}

/// `optMap` and `optFlatMap`.
#[derive(Debug)]
pub(super) struct OptionalMap {
    pub(super) target: Node,
    pub(super) slot: usize,
    pub(super) body: Node,
    /// The body is an optional itself.
    pub(super) is_flat: bool,
}
