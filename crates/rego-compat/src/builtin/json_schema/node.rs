//! A compiled schema: its parts, which refer to one another by number.

use std::rc::Rc;

use go_compat::regexp::Pattern;

use super::decimal::Decimal;

/// The number of a part.
pub(super) type NodeId = usize;

/// Versions of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    /// Keywords that the schema leaves out are taken as any of them has them.
    Any,
}

/// A schema with all of its parts.
pub(super) struct Schema {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

/// `additionalProperties` and `additionalItems`.
#[derive(Clone, Copy)]
pub(super) enum Additional {
    Allowed,
    Refused,
    Schema(NodeId),
}

/// The requirement of a property that is there.
pub(super) enum Dependency {
    Keys(Vec<Rc<str>>),
    Schema(NodeId),
}

/// `items`
#[derive(Default)]
pub(super) enum Items {
    #[default]
    Any,
    Each(NodeId),
    Tuple(Vec<NodeId>),
}

/// A schema that is part of one.
#[derive(Default)]
pub(super) struct Node {
    /// `true` or `false` in place of a schema.
    pub(super) pass: Option<bool>,
    /// `$ref`, beside which nothing else counts.
    pub(super) reference: Option<NodeId>,
    pub(super) types: Vec<&'static str>,
    pub(super) text: Text,
    pub(super) number: Number,
    pub(super) array: Array,
    pub(super) object: Object,
    pub(super) constant: Option<String>,
    pub(super) choices: Option<Vec<String>>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<NodeId>,
    pub(super) consequence: Option<NodeId>,
    pub(super) alternative: Option<NodeId>,
}

/// The requirements on a string. A format is required of any value, but restricts strings only.
#[derive(Default)]
pub(super) struct Text {
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    pub(super) pattern: Option<(String, Pattern)>,
    pub(super) format: Option<String>,
}

/// The requirements on a number.
#[derive(Default)]
pub(super) struct Number {
    pub(super) multiple_of: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) below: Option<Decimal>,
    pub(super) minimum: Option<Decimal>,
    pub(super) above: Option<Decimal>,
}

/// The requirements on an array.
#[derive(Default)]
pub(super) struct Array {
    pub(super) items: Items,
    pub(super) additional: Option<Additional>,
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    pub(super) unique: bool,
    pub(super) contains: Option<NodeId>,
}

/// The requirements on an object.
#[derive(Default)]
pub(super) struct Object {
    pub(super) properties: Vec<(Rc<str>, NodeId)>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Option<Additional>,
    pub(super) names: Option<NodeId>,
    pub(super) dependencies: Vec<(Rc<str>, Dependency)>,
    pub(super) required: Vec<Rc<str>>,
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
}
