//! A module after desugaring: names resolved, calls flat, every variable a slot.
//!
//! `crate::desugar` makes it, `crate::check` judges it, `crate::plan` turns it into what the interpreter runs.

use std::sync::Arc;

use crate::annotation::Annotations;
use crate::value::Value;

use crate::ast::Name;
use crate::builtin::Builtin;
use crate::diagnostic::{Pos, Source};

/// A variable of a rule.
pub(crate) type Slot = u32;

/// A rule or function with all its definitions.
pub(crate) type GroupId = usize;

/// A term without calls.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Const(Value),
    Var(Slot),
    Array(Vec<Operand>),
    Set(Vec<Operand>),
    Object(Vec<(Operand, Operand)>),
    Ref(Box<Reference>),
    Collect(Box<Collect>),
}

/// `root[path]…`
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) root: Root,
    pub(crate) path: Vec<Operand>,
    pub(crate) at: Pos,
}

/// The start of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Input,
    Data,
    Var(Slot),
}

/// A comprehension.
#[derive(Clone, Debug)]
pub(crate) struct Collect {
    pub(crate) kind: CollectKind,
    pub(crate) body: Vec<Statement>,
    pub(crate) at: Pos,
    /// The place of its element, or key.
    pub(crate) head: Pos,
}

/// The collection that a comprehension makes.
#[derive(Clone, Debug)]
pub(crate) enum CollectKind {
    Array(Operand),
    Set(Operand),
    Object(Operand, Operand),
}

/// One thing that has to hold.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) negated: bool,
    pub(crate) action: Action,
    pub(crate) with: Vec<Override>,
    pub(crate) at: Pos,
}

/// The kinds of planned statements.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Defined and not `false`.
    Term(Operand),
    /// `left = right`; `assigned` when written `:=`, whose left side gives nothing to the right.
    Unify {
        left: Operand,
        right: Operand,
        assigned: bool,
    },
    /// `callee(args)`, its result matched with `output`, or not `false` where there is none.
    Call {
        callee: Callee,
        args: Vec<Operand>,
        output: Option<Operand>,
    },
    Every {
        key: Slot,
        value: Slot,
        domain: Operand,
        body: Vec<Statement>,
    },
    /// `explicit`: written in braces, with a scope of its own.
    Not {
        body: Vec<Statement>,
        explicit: bool,
    },
    /// Two or more operands that all have to hold.
    And(Vec<Branch>),
    /// Two or more operands of which one has to hold.
    Or(Vec<Branch>),
}

/// One operand of `and` / `or`.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) body: Vec<Statement>,
    pub(crate) explicit: bool,
}

/// The target of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    Builtin(&'static Builtin),
    Function(GroupId),
    /// A host function, by its index among the program's.
    External(usize),
    Hook(Hook),
    /// An unknown name; reported, and never evaluated.
    Unknown,
}

/// A hook that notifies a listener about a run, and always holds. Its argument is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// `print(…)`; each element is a set, empty where the argument is undefined.
    Print,
    /// A case of a test with cases; the elements are its name.
    Case,
}

/// `with target as value`.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) target: Target,
    pub(crate) value: Operand,
    /// A function named in place of a value (`with f as g`).
    pub(crate) function: Option<Callee>,
}

/// The target of `with`.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Input(Vec<Value>),
    Data(Vec<Name>),
    Call(Callee),
}

/// Every rule of every module, resolved.
#[derive(Debug, Default)]
pub(crate) struct Rulebook {
    pub(crate) groups: Vec<Group>,
    pub(crate) tree: Node,
    pub(crate) externals: Vec<String>,
    pub(crate) annotations: Annotations,
}

/// A level of the tree of virtual documents under `data`.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) children: std::collections::BTreeMap<Name, Node>,
    pub(crate) group: Option<GroupId>,
}

impl Node {
    /// Returns the node under a path of names, if any rule is below it.
    pub(crate) fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, name| node.children.get(name))
    }

    /// Adds every group at or below the node.
    pub(crate) fn groups(&self, found: &mut Vec<GroupId>) {
        found.extend(self.group);
        for child in self.children.values() {
            child.groups(found);
        }
    }
}

/// All definitions of one rule or function.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) path: Vec<Name>,
    pub(crate) kind: Kind,
    pub(crate) rules: Vec<Rule>,
    /// True where OPA's tree of rules has one here. Those of an object may all be deeper: `p[1] := 2` is one called `p[1]`.
    pub(crate) is_whole: bool,
    /// The empty sets and objects that an object has although nothing of it holds.
    pub(crate) nodes: Vec<RuleNode>,
}

/// An empty set or object below an object rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleNode {
    pub(crate) keys: Vec<Value>,
    /// True for a set.
    pub(crate) is_set: bool,
}

impl Group {
    /// Returns `data.package.name`.
    pub(crate) fn name(&self) -> String {
        format!("data.{}", self.path.join("."))
    }
}

/// The document that a rule makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Complete,
    Function {
        arity: usize,
    },
    Set,
    /// An object whose keys are computed, possibly nested, possibly with sets as leaves.
    Object,
}

/// One definition.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) source: Arc<Source>,
    pub(crate) at: Pos,
    pub(crate) default: bool,
    pub(crate) args: Vec<Operand>,
    /// Names of the slots, for messages; `$…` where the author wrote `_` or nothing.
    pub(crate) slots: Vec<Name>,
    pub(crate) branches: Vec<Definition>,
}

/// A body and what it gives; further branches of a rule are its `else`s.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) keys: Vec<Operand>,
    pub(crate) leaf: Leaf,
    pub(crate) body: Vec<Statement>,
    pub(crate) at: Pos,
    /// The place of the value of a definition without body.
    pub(crate) bodiless: Option<Pos>,
}

/// The value that a definition gives.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Value(Operand),
    Element(Operand),
}

impl Leaf {
    pub(crate) const fn operand(&self) -> &Operand {
        match self {
            Self::Value(operand) | Self::Element(operand) => operand,
        }
    }
}

impl Operand {
    /// Returns true if evaluating the term takes more than looking at variables.
    pub(crate) fn needs_evaluation(&self) -> bool {
        match self {
            Self::Const(_) | Self::Var(_) => false,
            Self::Ref(_) | Self::Collect(_) => true,
            Self::Array(items) | Self::Set(items) => items.iter().any(Self::needs_evaluation),
            Self::Object(pairs) => pairs.iter().any(|(k, v)| k.needs_evaluation() || v.needs_evaluation()),
        }
    }
}
