//! Rules that need their own value. Evaluating one would never end, so none is ever evaluated.

use std::collections::{HashMap, VecDeque};

use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::ir::{Group, GroupId, Rulebook};

use super::dependencies::Dependencies;

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
        diagnostics.push(rule.source.diagnostic(
            rule.at,
            DiagnosticCode::Recursion,
            message,
            "break the cycle",
        ));
    }
}

/// Returns a shortest way from a rule back to itself, through rules of its component (which are in ascending order).
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

/// Returns the strongly connected components, without recursion (Tarjan's algorithm with a stack of its own).
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
    use crate::{Module, RegoVersion, Restrictions, compile};

    fn diagnostics(text: &str) -> Vec<String> {
        let module = Module::parse("t.rego", &format!("package t\n{text}"), RegoVersion::V0).unwrap();
        let diagnostics = compile(&[module], "data.t.p", &Restrictions::default()).err();
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
    fn what_a_modifier_replaces_is_used() {
        assert_eq!(
            diagnostics("q = 1\np { data.t.q with data.t as {\"q\": 9} }"),
            ["rule data.t.p is recursive: data.t.p -> data.t.p"]
        );
        for rules in [
            "p { true with data as {} }",
            "p { true with data.t.p as 9 }",
            "p { not false with data.t as 1 }",
            "p = [1 | true with data.t as 1]",
            "p { false }\np = 3 { true with data.t as 1 }",
            "p.a = 1 { true with data.t.p as 1 }",
        ] {
            assert_eq!(diagnostics(rules).len(), 1, "{rules}");
        }
        assert_eq!(diagnostics("q { p }\np { true with data.t.q as 9 }").len(), 2);
        assert_eq!(diagnostics("f(x) { p }\np { true with data.t.f as 9 }").len(), 2);
        for rules in [
            "q = 1\np { data.t.q with data.t.q as 9 }",
            "q { p }\np { true with data.other as 9 }",
            "p { true with data.t.other as 9 }",
            "p { true with input as {} }",
            "p.b = 1\np.a = 2 { true with data.t.p.b as 4 }",
        ] {
            assert_eq!(diagnostics(rules), [""; 0], "{rules}");
        }
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
