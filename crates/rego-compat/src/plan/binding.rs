//! The work on one definition: which slots have values, and expressions over those.

use crate::ast::Name;
use crate::desugar::SlotSet;
use crate::diagnostic::Pos;
use crate::ir::{self, Kind, Operand, Reference, Root, Rulebook, Slot};

use super::{BuiltinCall, Call, Callee, Expr, Get, Hop, Mark, SlotIndex, Step};

/// State while a definition is planned.
pub(super) struct Binder<'a> {
    pub(super) book: &'a Rulebook,
    /// Indices of the plan's nodes by path.
    pub(super) nodes: &'a std::collections::HashMap<Vec<Name>, usize>,
    pub(super) bound: SlotSet,
    pub(super) slots: usize,
    /// The module of the rule.
    pub(super) source: Option<&'a crate::diagnostic::Source>,
    /// The destination of marks, if the plan is traced.
    pub(super) marks: Option<Marks<'a>>,
}

/// The marks of a plan, for a rule of one source.
pub(super) struct Marks<'a> {
    pub(super) source: std::sync::Arc<crate::diagnostic::Source>,
    pub(super) made: &'a mut Vec<Mark>,
}

pub(super) fn index(slot: Slot) -> SlotIndex {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

impl Binder<'_> {
    /// Marks a place of the text, if the plan is traced.
    pub(super) fn mark(&mut self, at: Pos, steps: &mut Vec<Step>) {
        if let Some(marks) = self.marks.as_mut().filter(|_| at.1 > at.0) {
            steps.push(Step::Mark(marks.made.len()));
            marks.made.push(Mark { source: marks.source.clone(), at });
        }
    }

    /// Returns a slot for a value the plan passes on.
    pub(super) fn temporary(&mut self) -> Slot {
        let slot = Slot::try_from(self.slots).unwrap_or(Slot::MAX);
        self.slots = self.slots.saturating_add(1);
        slot
    }

    /// Returns true if the operand has one value at most, given what is bound. Comprehensions are steps, not
    /// expressions.
    pub(super) fn is_closed(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Const(_) => true,
            Operand::Var(slot) => self.bound.contains(*slot),
            Operand::Array(items) | Operand::Set(items) => items.iter().all(|item| self.is_closed(item)),
            Operand::Object(pairs) => pairs.iter().all(|(k, v)| self.is_closed(k) && self.is_closed(v)),
            Operand::Ref(reference) => {
                let root = match reference.root {
                    Root::Var(slot) => self.bound.contains(slot),
                    Root::Input | Root::Data => true,
                };
                root && reference.path.iter().all(|part| self.is_closed(part))
            }
            Operand::Collect(_) => false,
        }
    }

    /// Returns the expression for a closed operand.
    pub(super) fn expr(&self, operand: &Operand) -> Expr {
        match operand {
            Operand::Const(value) => Expr::Const(value.clone()),
            Operand::Var(slot) => Expr::Slot(index(*slot)),
            Operand::Array(items) => Expr::Array(items.iter().map(|item| self.expr(item)).collect()),
            Operand::Set(items) => Expr::Set(items.iter().map(|item| self.expr(item)).collect()),
            Operand::Object(pairs) => {
                Expr::Object(pairs.iter().map(|(k, v)| (self.expr(k), self.expr(v))).collect())
            }
            Operand::Ref(reference) => {
                let (base, rest) = self.base(reference);
                let path: Vec<Expr> = rest.iter().map(|part| self.expr(part)).collect();
                if path.is_empty() { base } else { Expr::Get(Box::new(Get { base, path })) }
            }
            // A comprehension is a step, see `collect`.
            Operand::Collect(_) => UNPLANNED,
        }
    }

    /// Returns the document a reference starts in, and what is left of its path.
    pub(super) fn base<'r>(&self, reference: &'r Reference) -> (Expr, &'r [Operand]) {
        let path = reference.path.as_slice();
        match reference.root {
            Root::Input => (Expr::Input, path),
            Root::Var(slot) => (Expr::Slot(index(slot)), path),
            Root::Data => self.data_base(path),
        }
    }

    fn data_base<'r>(&self, path: &'r [Operand]) -> (Expr, &'r [Operand]) {
        let mut node = &self.book.tree;
        let mut names: Vec<Name> = Vec::new();
        let mut rest = path;
        loop {
            if let Some(group) = node.group {
                let is_function = self
                    .book
                    .groups
                    .get(group)
                    .is_some_and(|group| matches!(group.kind, Kind::Function { .. }));
                // A function has no value without arguments: `data.package.function` is undefined.
                return (if is_function { Expr::Undefined } else { Expr::Rule(group) }, rest);
            }
            let next = rest.split_first().and_then(|(first, left)| Some((name_of(first)?, left)));
            match next {
                Some((name, left)) => match node.children.get(&*name) {
                    Some(child) => {
                        node = child;
                        names.push(name);
                        rest = left;
                    }
                    // No rule there: plain data, read from its root.
                    None => return (Expr::Data, path),
                },
                None if names.is_empty() && node.children.is_empty() => return (Expr::Data, path),
                None => {
                    let known = self.nodes.get(&names).copied();
                    return (Expr::Package(known.unwrap_or(NOWHERE)), rest);
                }
            }
        }
    }

    /// Returns the path of an open reference, binding as it goes.
    pub(super) fn hops(&mut self, path: &[Operand]) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(path.len());
        for part in path {
            if self.is_closed(part) {
                hops.push(Hop::Key(self.expr(part)));
            } else {
                hops.push(Hop::Any(self.pattern(part)));
            }
        }
        hops
    }

    /// Returns a call whose arguments are closed.
    pub(super) fn call(&self, callee: ir::Callee, args: &[Operand]) -> Expr {
        let args: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect();
        match Self::callee(callee) {
            Callee::Builtin(builtin) => Expr::Builtin(Box::new(BuiltinCall { builtin, args })),
            Callee::Function(group) if args.is_empty() => Expr::Rule(group),
            callee => Expr::Call(Box::new(Call { callee, args })),
        }
    }

    /// Returns the target of a call; no program is compiled that calls an unknown one.
    pub(super) const fn callee(callee: ir::Callee) -> Callee {
        match callee {
            ir::Callee::Builtin(builtin) => Callee::Builtin(builtin),
            ir::Callee::Function(group) => Callee::Function(group),
            ir::Callee::External(index) => Callee::External(index),
            ir::Callee::Hook(hook) => Callee::Hook(hook),
            ir::Callee::Unknown => Callee::Function(NOWHERE),
        }
    }
}

/// The number of no rule and no package: using it is an internal error, see [`super::missing`], and never undefined.
const NOWHERE: usize = usize::MAX;

/// Stands where the checks leave no operand to plan: using it is an internal error.
pub(super) const UNPLANNED: Expr = Expr::Rule(NOWHERE);

fn name_of(operand: &Operand) -> Option<Name> {
    match operand {
        Operand::Const(crate::value::Value::String(text)) => Some(Name::from(&**text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::plan::{Pattern, missing};

    #[test]
    fn what_the_plan_lacks_is_planned_as_an_error() {
        let rule = ir::Node { group: Some(0), ..ir::Node::default() };
        let package = ir::Node { children: [("p".into(), rule)].into(), group: None };
        let tree = ir::Node { children: [("t".into(), package)].into(), group: None };
        let book = Rulebook { tree, ..Rulebook::default() };
        let nodes = HashMap::new();
        let mut binder = Binder {
            book: &book,
            nodes: &nodes,
            bound: SlotSet::default(),
            slots: 0,
            source: None,
            marks: None,
        };
        let path = vec![Operand::Const("t".into())];
        let reference = Operand::Ref(Box::new(Reference { root: Root::Data, path, at: Pos::default() }));
        assert!(matches!(binder.expr(&reference), Expr::Package(NOWHERE)));
        assert!(matches!(binder.call(ir::Callee::Unknown, &[]), Expr::Rule(NOWHERE)));
        let open = ir::Collect {
            kind: ir::CollectKind::Array(Operand::Var(0)),
            body: Vec::new(),
            at: Pos::default(),
            head: Pos::default(),
        };
        assert!(matches!(binder.expr(&Operand::Collect(Box::new(open))), Expr::Rule(NOWHERE)));
        assert!(missing("rule", NOWHERE).to_string().starts_with("internal error"));

        let open = || Operand::Var(7);
        assert!(matches!(binder.pattern(&Operand::Set(vec![open()])), Pattern::Equal(Expr::Rule(NOWHERE))));
        for (left, right) in [
            (
                Operand::Ref(Box::new(Reference {
                    root: Root::Var(7),
                    path: vec![open()],
                    at: Pos::default(),
                })),
                open(),
            ),
            (Operand::Array(vec![open()]), Operand::Array(vec![Operand::Var(8)])),
        ] {
            let mut steps = Vec::new();
            binder.unify(&left, &right, &mut steps);
            assert!(matches!(steps.as_slice(), [Step::Test(Expr::Rule(NOWHERE))]), "{steps:?}");
        }
    }
}
