//! The rules that each rule uses.
//!
//! A reference into `data` that names no single rule depends on every rule it may reach, as in OPA.

use std::collections::{BTreeSet, HashSet};

use crate::ast::Name;
use crate::desugar::rule_on;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::ir::{
    Action, Callee, Collect, CollectKind, GroupId, Node, Operand, Reference, Root, Rulebook, Statement,
    Target,
};

/// Nodes of the tree of rules that are visited for all references together. A policy of 4,000 rules that each look at
/// all of a package of ten rules takes 40,000.
const MOST_VISITS: usize = 5_000_000;

/// The rules that each rule uses.
#[derive(Debug)]
pub(crate) struct Dependencies {
    pub(super) edges: Vec<Vec<GroupId>>,
}

impl Dependencies {
    /// Follows every reference; more than [`MOST_VISITS`] are reported.
    pub(super) fn of(book: &Rulebook, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut visits = MOST_VISITS;
        let edges = (0..book.groups.len()).map(|group| dependencies(book, group, &mut visits)).collect();
        if visits == 0
            && let Some(rule) = book.groups.iter().find_map(|group| group.rules.first())
        {
            let message = "references that may lead to any rule are too many".to_owned();
            let help = "name the rules they lead to";
            diagnostics.push(rule.source.diagnostic(rule.at, DiagnosticCode::Bound, message, help));
        }
        Self { edges }
    }

    /// Returns the rules that a rule uses directly.
    pub(crate) fn of_group(&self, group: GroupId) -> &[GroupId] {
        self.edges.get(group).map_or(&[], Vec::as_slice)
    }

    /// Returns these rules and all they use, directly or not; each comes after those that it uses.
    pub(crate) fn used_first(&self, start: Vec<GroupId>) -> Vec<GroupId> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.edges.len()];
        let mut open: Vec<_> = start.into_iter().map(|group| (group, false)).collect();
        while let Some((group, used_are_done)) = open.pop() {
            if used_are_done {
                order.push(group);
            } else if let Some(place) = seen.get_mut(group).filter(|place| !**place) {
                *place = true;
                open.push((group, true));
                open.extend(self.of_group(group).iter().map(|used| (*used, false)));
            }
        }
        order
    }
}

fn dependencies(book: &Rulebook, group: GroupId, visits: &mut usize) -> Vec<GroupId> {
    let mut found = Finder { book, groups: BTreeSet::new(), seen: HashSet::new(), visits };
    for rule in book.groups.get(group).iter().flat_map(|group| &group.rules) {
        for branch in &rule.branches {
            found.body(&branch.body);
            branch.keys.iter().chain([branch.leaf.operand()]).for_each(|operand| found.operand(operand));
        }
    }
    found.groups.into_iter().collect()
}

struct Finder<'a> {
    book: &'a Rulebook,
    groups: BTreeSet<GroupId>,
    /// Nodes, by their place in memory, and what was left of a path there: both together lead to the same rules
    /// each time.
    seen: HashSet<(usize, Vec<Part>)>,
    /// Nodes that may still be visited.
    visits: &'a mut usize,
}

impl Finder<'_> {
    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.action(&statement.action);
            for with in &statement.with {
                self.operand(&with.value);
                if let Some(callee) = with.function {
                    self.callee(callee);
                }
                match &with.target {
                    Target::Input(_) => {}
                    Target::Data(path) => self.replaced(path),
                    Target::Call(callee) => self.callee(*callee),
                }
            }
        }
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::Term(operand) => self.operand(operand),
            Action::Unify { left, right, .. } => {
                self.operand(left);
                self.operand(right);
            }
            Action::Call { callee, args, output } => {
                self.callee(*callee);
                args.iter().chain(output).for_each(|operand| self.operand(operand));
            }
            Action::Every { domain, body, .. } => {
                self.operand(domain);
                self.body(body);
            }
            Action::Not { body, .. } => self.body(body),
            Action::And(branches) | Action::Or(branches) => {
                branches.iter().for_each(|branch| self.body(&branch.body));
            }
        }
    }

    fn callee(&mut self, callee: Callee) {
        if let Callee::Function(group) = callee {
            self.groups.insert(group);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Const(_) | Operand::Var(_) => {}
            Operand::Array(items) | Operand::Set(items) => items.iter().for_each(|item| self.operand(item)),
            Operand::Object(pairs) => {
                for (key, value) in pairs {
                    self.operand(key);
                    self.operand(value);
                }
            }
            Operand::Ref(reference) => self.reference(reference),
            Operand::Collect(collect) => self.collect(collect),
        }
    }

    fn collect(&mut self, collect: &Collect) {
        self.body(&collect.body);
        match &collect.kind {
            CollectKind::Array(head) | CollectKind::Set(head) => self.operand(head),
            CollectKind::Object(key, value) => {
                self.operand(key);
                self.operand(value);
            }
        }
    }

    fn reference(&mut self, reference: &Reference) {
        reference.path.iter().for_each(|part| self.operand(part));
        if reference.root != Root::Data {
            return;
        }
        let path: Vec<Part> = reference.path.iter().map(Part::of).collect();
        self.reachable(&self.book.tree, &path);
    }

    /// Adds the rules at the target of a modifier and below it, whose values it replaces. A rule above the target is not a dependency.
    /// Source: OPA `ast/compile.go`, `walkRuleDependencies`: it visits targets like any other reference.
    fn replaced(&mut self, path: &[Name]) {
        if rule_on(&self.book.tree, path.iter().map(|name| &**name))
            .is_none_or(|(_, taken)| taken == path.len())
        {
            let path: Vec<Part> = path.iter().cloned().map(Part::Name).collect();
            self.reachable(&self.book.tree, &path);
        }
    }

    /// Rules a path may lead to: a known component only to what has its name, any other to everything.
    fn reachable(&mut self, node: &Node, path: &[Part]) {
        let path = if node.group.is_some() { &[] } else { path };
        if *self.visits == 0 || !self.seen.insert((std::ptr::from_ref(node).addr(), path.to_vec())) {
            return;
        }
        *self.visits = self.visits.saturating_sub(1);
        self.groups.extend(node.group);
        match path.split_first() {
            None => node.children.values().for_each(|child| self.reachable(child, &[])),
            Some((Part::Name(name), rest)) => {
                if let Some(child) = node.children.get(name) {
                    self.reachable(child, rest);
                }
            }
            Some((Part::Any, rest)) => node.children.values().for_each(|child| self.reachable(child, rest)),
            Some((Part::Nothing, _)) => {}
        }
    }
}

/// A component of a path under `data`, as far as rules are concerned.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Part {
    Name(Name),
    Any,
    /// A constant that names no rule.
    Nothing,
}

impl Part {
    fn of(operand: &Operand) -> Self {
        match operand {
            Operand::Const(crate::value::Value::String(name)) => Self::Name(Name::from(&**name)),
            Operand::Const(_) => Self::Nothing,
            _ => Self::Any,
        }
    }
}
