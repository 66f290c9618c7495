//! The plan that the interpreter runs: bodies as steps over slots, with every variable's first use decided beforehand.
//!
//! `compile` makes a plan from the flat form, `fuse` joins steps that only pass a value on, `invariant` finds what need be
//! computed once only. Because a body's
//! order is fixed, whether a variable has a value at some step is known here and never asked at run time.

mod binding;
mod compile;
mod fuse;
mod invariant;
mod pattern;
mod risk;
mod rule_index;

use std::sync::Arc;

use crate::ast::Name;
use crate::builtin::Builtin;
use crate::diagnostic::{Pos, Source};
use crate::error::EvalError;
use crate::ir::{GroupId, Hook, Kind, RuleNode};
use crate::value::Value;

pub(crate) use compile::{Queried, plan, plan_rules};
pub(crate) use rule_index::{Check, Conditions, Place, PlaceRoot, Want, split_escaped};

/// Index into a frame.
pub(crate) type SlotIndex = usize;

/// A program ready to run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) query: Option<Expr>,
    /// Names of the host's functions.
    pub(crate) externals: Vec<String>,
    /// The number of values that a run keeps for [`Invariant`]s.
    pub(crate) invariants: usize,
    /// The marks that [`Step::Mark`] names.
    pub(crate) marks: Vec<Mark>,
}

/// Returns the error of an index that is not in the plan. That is a defect of the planner, and must not become an undefined
/// value, which would silence the policy.
///
/// Callers match on `get` and return this error instead of using `?`: the evaluator recurses through them, and a debug build
/// gives each `?` over an [`EvalError`] some hundred bytes of stack.
#[cold]
pub(crate) fn missing(what: &str, id: usize) -> EvalError {
    EvalError::Internal(format!("the plan has no {what} {id}"))
}

/// A level of `data` that has rules below it.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) path: Vec<Name>,
    pub(crate) children: Vec<(Value, usize)>,
    pub(crate) group: Option<GroupId>,
}

/// A rule or function.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) path: Vec<Name>,
    pub(crate) kind: Kind,
    pub(crate) rules: Vec<Rule>,
    pub(crate) default: Option<Rule>,
    /// The empty sets and objects that an object has although nothing of it holds.
    pub(crate) nodes: Vec<RuleNode>,
    /// All definitions give this one value, so the first that holds settles it.
    pub(crate) settled: bool,
    /// Something its bodies use can fail, so that what is tried, and in which order, shows.
    pub(crate) exact: bool,
    /// The places that the conditions of its branches look at.
    pub(crate) places: Vec<Place>,
    /// For each branch of each definition that is not a default a number, the same for the same constant; `None` where the
    /// value is computed. Empty unless `exact`.
    pub(crate) agreed: Vec<Option<usize>>,
}

/// One definition with its `else` branches.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) args: Vec<Pattern>,
    pub(crate) slots: usize,
    pub(crate) branches: Vec<Branch>,
}

/// A body and what it gives.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) body: Vec<Step>,
    pub(crate) keys: Vec<Expr>,
    pub(crate) value: Expr,
    /// The value goes into a set.
    pub(crate) element: bool,
    /// The conditions under which the branch is tried.
    pub(crate) conditions: Option<Conditions>,
    /// The place of the definition, if its value can conflict with another.
    pub(crate) spot: Option<Box<Spot>>,
}

/// A place in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) file: Arc<str>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One step of a body.
#[derive(Debug)]
pub(crate) enum Step {
    /// Defined and not `false`.
    Test(Expr),
    /// Gives a slot its value.
    Let(SlotIndex, Expr),
    /// Takes a value apart.
    Match(Expr, Pattern),
    /// Tries every value a reference with open variables has.
    Each(Box<Each>),
    /// Tries every path and value `walk` finds.
    Walk(Expr, Pattern),
    Collect(Box<Collect>),
    Not(Vec<Step>, Search),
    Every(Box<Every>),
    With(Vec<Override>, Vec<Step>),
    /// Every block has to hold; each sees only the variables around the step.
    And(Vec<Vec<Step>>),
    /// One of the blocks has to hold.
    Or(Vec<Vec<Step>>),
    /// Notes that the run got here; only in plans that are traced.
    Mark(usize),
}

/// The number of solutions of a block that are searched for, where one is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    First,
    /// All, as OPA does, because a later one can fail.
    All,
}

/// A place in a module's text that a run can pass.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) source: Arc<Source>,
    pub(crate) at: Pos,
}

/// `base[path]…` where the path gives values to variables.
#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) base: Expr,
    /// The path leads into plain data.
    pub(crate) stored: bool,
    pub(crate) path: Vec<Hop>,
    pub(crate) target: Pattern,
}

/// One component of an open path.
#[derive(Debug)]
pub(crate) enum Hop {
    /// A known key.
    Key(Expr),
    /// Every key that fits.
    Any(Pattern),
}

/// A comprehension, matched with a pattern.
#[derive(Debug)]
pub(crate) struct Collect {
    pub(crate) body: Vec<Step>,
    pub(crate) kind: CollectKind,
    pub(crate) target: Pattern,
    /// Under which its value is kept, if it has one value only for one state of the documents.
    pub(crate) invariant: Option<usize>,
    /// The place of the key of an object, if it can have two values.
    pub(crate) spot: Option<Box<Spot>>,
}

/// The collection that a comprehension makes.
#[derive(Debug)]
pub(crate) enum CollectKind {
    Array(Expr),
    Set(Expr),
    Object(Expr, Expr),
}

/// `every key, value in domain { body }`.
#[derive(Debug)]
pub(crate) struct Every {
    pub(crate) domain: Expr,
    pub(crate) key: SlotIndex,
    pub(crate) value: SlotIndex,
    pub(crate) body: Vec<Step>,
}

/// `with target as value`.
#[derive(Debug)]
pub(crate) struct Override {
    pub(crate) target: Target,
    pub(crate) value: Replacement,
}

/// The target of `with`.
#[derive(Debug)]
pub(crate) enum Target {
    Input(Vec<Value>),
    Data(Vec<Name>),
    Call(Callee),
}

/// The replacement that `with` puts there.
#[derive(Clone, Debug)]
pub(crate) enum Replacement {
    Value(Expr),
    Call(Callee),
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Builtin(&'static Builtin),
    Function(GroupId),
    External(usize),
    Hook(Hook),
}

/// An expression whose variables all have values; it has one value or none.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Const(Value),
    Slot(SlotIndex),
    Input,
    Data,
    Rule(GroupId),
    Package(usize),
    /// `base[path]…`
    Get(Box<Get>),
    Array(Vec<Expr>),
    Set(Vec<Expr>),
    Object(Vec<(Expr, Expr)>),
    Builtin(Box<BuiltinCall>),
    Call(Box<Call>),
    Invariant(Box<Invariant>),
    /// Never has a value.
    Undefined,
}

impl Expr {
    /// Visits the expressions directly inside this one, in the order in which they are computed, as long as `visit` returns
    /// true; returns false where it did not.
    pub(crate) fn all_parts(&self, visit: &mut dyn FnMut(&Self) -> bool) -> bool {
        match self {
            Self::Get(get) => visit(&get.base) && get.path.iter().all(visit),
            Self::Array(items) | Self::Set(items) => items.iter().all(visit),
            Self::Object(pairs) => pairs.iter().all(|(key, value)| visit(key) && visit(value)),
            Self::Builtin(call) => call.args.iter().all(visit),
            Self::Call(call) => call.args.iter().all(visit),
            Self::Invariant(invariant) => visit(&invariant.expr),
            Self::Const(_)
            | Self::Slot(_)
            | Self::Input
            | Self::Data
            | Self::Rule(_)
            | Self::Package(_)
            | Self::Undefined => true,
        }
    }

    /// Visits the expressions directly inside this one, to change them.
    pub(crate) fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        match self {
            Self::Get(get) => {
                visit(&mut get.base);
                get.path.iter_mut().for_each(visit);
            }
            Self::Array(items) | Self::Set(items) => items.iter_mut().for_each(visit),
            Self::Object(pairs) => {
                for (key, value) in pairs {
                    visit(key);
                    visit(value);
                }
            }
            Self::Builtin(call) => call.args.iter_mut().for_each(visit),
            Self::Call(call) => call.args.iter_mut().for_each(visit),
            Self::Invariant(invariant) => visit(&mut invariant.expr),
            Self::Const(_)
            | Self::Slot(_)
            | Self::Input
            | Self::Data
            | Self::Rule(_)
            | Self::Package(_)
            | Self::Undefined => {}
        }
    }
}

/// An expression without variables that is computed once for one state of the documents.
#[derive(Clone, Debug)]
pub(crate) struct Invariant {
    /// Under which its value is kept.
    pub(crate) id: usize,
    pub(crate) expr: Expr,
}

/// `base[path]…` with known keys.
#[derive(Clone, Debug)]
pub(crate) struct Get {
    pub(crate) base: Expr,
    pub(crate) path: Vec<Expr>,
}

/// A call of a builtin function.
#[derive(Clone, Debug)]
pub(crate) struct BuiltinCall {
    pub(crate) builtin: &'static Builtin,
    pub(crate) args: Vec<Expr>,
}

/// A call of a function of the modules or of the host.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Expr>,
}

/// The pattern that a value is matched with.
#[derive(Debug)]
pub(crate) enum Pattern {
    Any,
    /// Not `false`.
    Truthy,
    Bind(SlotIndex),
    Equal(Expr),
    Array(Vec<Pattern>),
    Object(Vec<(Expr, Pattern)>),
}
