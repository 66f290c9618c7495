//! Rules that need their own value. Evaluating one would never end, so none is ever evaluated.
//!
//! A reference into `data` that names no single rule depends on every rule it may reach, as in OPA.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{
    Action, Callee, Collect, CollectKind, Group, GroupId, Node, Operand, Reference, Root, Rulebook,
    Statement, Target,
};

/// Reports recursion; returns the rules in an order in which each comes after those it uses.
pub(super) fn check(
    book: &Rulebook,
    dependencies: &Dependencies,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<GroupId> {
    let edges = &dependencies.edges;
    let components = components(edges);
    for component in &components {
        let recursive = match component.as_slice() {
            [only] => edges.get(*only).is_some_and(|edges| edges.contains(only)),
            _ => true,
        };
        if recursive {
            report(book, component, edges, diagnostics);
        }
    }
    components.into_iter().flatten().collect()
}

/// Members of one cycle that are reported, and names a report lists. Longer cycles are made by machines.
const MOST_REPORTS: usize = 100;
const MOST_NAMES: usize = 20;

fn report(book: &Rulebook, component: &[GroupId], edges: &[Vec<GroupId>], diagnostics: &mut Vec<Diagnostic>) {
    for id in component.iter().take(MOST_REPORTS) {
        let Some(group) = book.groups.get(*id) else {
            continue;
        };
        let Some(rule) = group.rules.first() else {
            continue;
        };
        let way = cycle(*id, component, edges);
        let names = way.iter().filter_map(|id| book.groups.get(*id)).map(Group::name);
        let mut cycle: Vec<String> = names.collect();
        if let Some(dropped) = cycle.len().checked_sub(MOST_NAMES).filter(|dropped| *dropped > 0) {
            let from = MOST_NAMES / 2;
            cycle.splice(from..from.saturating_add(dropped), ["...".to_owned()]);
        }
        let message = format!("rule {} is recursive: {}", group.name(), cycle.join(" -> "));
        diagnostics.push(rule.source.diagnostic(rule.at, Code::Recursion, message, "break the cycle"));
    }
}

/// A shortest way from a rule back to itself, through rules of its component (which are in ascending order).
fn cycle(start: GroupId, component: &[GroupId], edges: &[Vec<GroupId>]) -> Vec<GroupId> {
    // From where each rule was reached first.
    let mut before: HashMap<GroupId, GroupId> = HashMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for next in edges.get(at).into_iter().flatten() {
            if *next == start {
                let mut way = vec![start];
                way.extend(std::iter::successors(Some(at), |at| before.get(at).copied()));
                way.reverse();
                way.push(start);
                // The first rule is its own beginning.
                way.dedup();
                return if way.len() == 1 { vec![start, start] } else { way };
            }
            if component.binary_search(next).is_ok() && !before.contains_key(next) {
                before.insert(*next, at);
                open.push_back(*next);
            }
        }
    }
    vec![start]
}

/// Nodes of the tree of rules that are visited for all references together. A policy of 4,000 rules that each look at
/// all of a package of ten rules takes 40,000.
const MOST_VISITS: usize = 5_000_000;

/// Which rules each rule uses.
#[derive(Debug)]
pub(crate) struct Dependencies {
    edges: Vec<Vec<GroupId>>,
}

impl Dependencies {
    /// Follows every reference; those that lead to more rules than anybody can keep apart are reported.
    pub(super) fn of(book: &Rulebook, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut visits = MOST_VISITS;
        let edges = (0..book.groups.len()).map(|group| dependencies(book, group, &mut visits)).collect();
        if visits == 0
            && let Some(rule) = book.groups.iter().find_map(|group| group.rules.first())
        {
            let message = "references that may lead to any rule are too many".to_owned();
            let help = "name the rules they lead to";
            diagnostics.push(rule.source.diagnostic(rule.at, Code::Bound, message, help));
        }
        Self { edges }
    }

    /// The rules and all they use, directly or not.
    pub(crate) fn closure(&self, start: Vec<GroupId>) -> Vec<GroupId> {
        let mut seen = vec![false; self.edges.len()];
        let mut open = start;
        while let Some(group) = open.pop() {
            let Some(place) = seen.get_mut(group).filter(|place| !**place) else { continue };
            *place = true;
            open.extend(self.edges.get(group).into_iter().flatten());
        }
        seen.iter().enumerate().filter(|(_, seen)| **seen).map(|(group, _)| group).collect()
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
                if let Target::Call(callee) = with.target {
                    self.callee(callee);
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
            Action::And(left, right) | Action::Or(left, right) => {
                self.body(&left.body);
                self.body(&right.body);
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

/// Strongly connected components, without recursion (Tarjan's algorithm with a stack of its own).
fn components(edges: &[Vec<GroupId>]) -> Vec<Vec<GroupId>> {
    let mut search = Search {
        edges,
        order: vec![None; edges.len()],
        low: vec![0; edges.len()],
        is_open: vec![false; edges.len()],
        ..Search::default()
    };
    for start in 0..edges.len() {
        if search.order.get(start).is_some_and(Option::is_none) {
            search.visit(start);
        }
    }
    search.found
}

#[derive(Default)]
struct Search<'a> {
    edges: &'a [Vec<GroupId>],
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    count: usize,
    open: Vec<GroupId>,
    is_open: Vec<bool>,
    found: Vec<Vec<GroupId>>,
}

impl Search<'_> {
    fn visit(&mut self, start: GroupId) {
        let mut work: Vec<(GroupId, usize)> = vec![(start, 0)];
        self.enter(start);
        while let Some((node, at)) = work.pop() {
            match self.edges.get(node).and_then(|edges| edges.get(at)).copied() {
                Some(next) => {
                    work.push((node, at.saturating_add(1)));
                    match self.order.get(next).copied().flatten() {
                        None => {
                            self.enter(next);
                            work.push((next, 0));
                        }
                        Some(order) if self.is_open.get(next) == Some(&true) => self.lower(node, order),
                        Some(_) => {}
                    }
                }
                None => {
                    let low = self.low.get(node).copied().unwrap_or(0);
                    if let Some((parent, _)) = work.last() {
                        self.lower(*parent, low);
                    }
                    if self.order.get(node).copied().flatten() == Some(low) {
                        self.close(node);
                    }
                }
            }
        }
    }

    fn enter(&mut self, node: GroupId) {
        if let (Some(order), Some(low)) = (self.order.get_mut(node), self.low.get_mut(node)) {
            *order = Some(self.count);
            *low = self.count;
        }
        self.count = self.count.saturating_add(1);
        self.open.push(node);
        self.set_open(node, true);
    }

    fn set_open(&mut self, node: GroupId, is_open: bool) {
        if let Some(place) = self.is_open.get_mut(node) {
            *place = is_open;
        }
    }

    fn lower(&mut self, node: GroupId, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, root: GroupId) {
        let mut component = Vec::new();
        while let Some(node) = self.open.pop() {
            component.push(node);
            self.set_open(node, false);
            if node == root {
                break;
            }
        }
        component.sort_unstable();
        self.found.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, RegoVersion, Rules, compile};

    fn diagnostics(text: &str) -> Vec<String> {
        let module = Module::parse("t.rego", &format!("package t\n{text}"), RegoVersion::V0).unwrap();
        let diagnostics = compile(&[module], "data.t.p", &Rules::default()).err();
        diagnostics
            .map_or_else(Vec::new, |all| all.iter().map(|diagnostic| diagnostic.message.clone()).collect())
    }

    #[test]
    fn every_form_of_recursion_is_found() {
        assert_eq!(diagnostics("p { p }"), ["rule data.t.p is recursive: data.t.p -> data.t.p"]);
        assert_eq!(diagnostics("p { q }\nq { not p }").len(), 2);
        assert_eq!(diagnostics("f(x) = y { y = f(x) }\np { f(1) }").len(), 1);
        assert_eq!(diagnostics("p[x] { p[y]; x = y }").len(), 1);
        assert_eq!(diagnostics("p = [x | x = q[_]]\nq[x] { x = p }").len(), 2);
        assert_eq!(diagnostics("p { data.t[x] }\nq = 1").len(), 1);
        assert_eq!(diagnostics("p { x := data.t; x.q }\nq = 1").len(), 1);
        assert_eq!(diagnostics("p { every_q }\nevery_q { input with input as p }").len(), 2);
    }

    #[test]
    fn a_diamond_is_no_cycle() {
        assert!(diagnostics("p { q; r }\nq { s }\nr { s }\ns = 1").is_empty());
        assert!(diagnostics("p { data.other[x] }").is_empty());
    }

    #[test]
    fn components_are_found_without_recursion() {
        let chain: Vec<Vec<GroupId>> = (0..50_000).map(|node| vec![node + 1]).chain([Vec::new()]).collect();
        assert_eq!(components(&chain).len(), 50_001);
        let ring: Vec<Vec<GroupId>> = (0..1000).map(|node| vec![(node + 1) % 1000]).collect();
        assert_eq!(components(&ring).len(), 1);
    }
}
