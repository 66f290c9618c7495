//! The syntax tree of an expression: calls, selections and literals as written, macros not yet expanded.
//!
//! Operators are calls under the names that CEL gives them (`_+_`, `_&&_`), so that one table of overloads serves
//! operators and functions. Names and types are the checker's business.

use crate::value::Value;

/// A part of an expression and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    /// Offset in the source, in bytes.
    pub(super) at: usize,
    pub(super) kind: ExprKind,
    height: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExprKind {
    Literal(Value),
    Name(String),
    Select(Box<Select>),
    Call(Call),
    /// Elements; `true` marks `?element`.
    List(Vec<(bool, Expr)>),
    /// Entries; `true` marks `?key: value`.
    Map(Vec<(bool, Expr, Expr)>),
    Message(Message),
}

/// `operand.field`, or `operand.?field`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Select {
    pub(super) operand: Expr,
    pub(super) field: String,
    pub(super) optional: bool,
}

/// `name{fields}`, as mutations have: `Object.spec{replicas: 1}`. It stands where its bracket does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// `name: value`, or `?name: value`. It stands where its colon does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) at: usize,
    pub(super) optional: bool,
    pub(super) name: String,
    pub(super) value: Expr,
}

/// `function(arguments)`, or `target.function(arguments)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) target: Option<Box<Expr>>,
    pub(super) function: String,
    pub(super) arguments: Vec<Expr>,
}

impl Expr {
    pub(super) fn new(at: usize, kind: ExprKind) -> Self {
        let height = kind.parts().map(|part| part.height).max().unwrap_or(0).saturating_add(1);
        Self { at, kind, height }
    }

    /// Levels of nesting, this one included.
    pub(super) const fn height(&self) -> usize {
        self.height
    }

    /// Identifies one part among the parts of an expression, as long as the expression is not moved.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// `a.b.c` as written with dots only; `None` for anything else.
    pub(super) fn dotted(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Name(name) => Some(name.clone()),
            ExprKind::Select(select) if !select.optional => {
                Some(format!("{}.{}", select.operand.dotted()?, select.field))
            }
            _ => None,
        }
    }
}

impl ExprKind {
    pub(super) fn parts(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match self {
            Self::Literal(_) | Self::Name(_) => Box::new(std::iter::empty()),
            Self::Select(select) => Box::new(std::iter::once(&select.operand)),
            Self::Call(call) => Box::new(call.target.as_deref().into_iter().chain(&call.arguments)),
            Self::List(elements) => Box::new(elements.iter().map(|(_, element)| element)),
            Self::Map(entries) => Box::new(entries.iter().flat_map(|(_, key, value)| [key, value])),
            Self::Message(message) => Box::new(message.fields.iter().map(|field| &field.value)),
        }
    }
}
