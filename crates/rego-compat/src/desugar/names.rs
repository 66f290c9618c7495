//! The rules and functions that exist, their paths, and their names in a module.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Head, HeadValue, Name, Node as Part, Rule, Term};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::ir::{Group, GroupId, Kind, Node, Rulebook};
use crate::module::Module;
use crate::restrictions::Restrictions;
use crate::value::Value;

/// The place of one rule of the source after desugaring.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) module: usize,
    pub(super) rule: usize,
    pub(super) group: GroupId,
    /// The number of components of the head's reference that are the group's name; the rest are keys.
    pub(super) fixed: usize,
}

struct Candidate {
    module: usize,
    rule: usize,
    path: Vec<Name>,
    fixed: usize,
    kind: Kind,
    is_whole: bool,
}

/// Finds every rule, gives it its group, and reports heads that contradict one another.
pub(super) fn collect(
    modules: &[Module],
    restrictions: &Restrictions,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Rulebook, Vec<Placed>) {
    let mut candidates = Vec::new();
    for (index, module) in modules.iter().enumerate() {
        for (number, rule) in module.tree.rules.iter().enumerate() {
            if let Some(candidate) = candidate(module, index, number, rule) {
                candidates.push(candidate);
            }
        }
    }
    check_count(modules, restrictions, candidates.len(), diagnostics);
    let odd = odd_candidates(modules, &candidates);
    absorb(&mut candidates);
    let mut book =
        Rulebook { externals: restrictions.externals().map(str::to_owned).collect(), ..Rulebook::default() };
    let mut placed = Vec::with_capacity(candidates.len());
    for (number, candidate) in candidates.iter().enumerate() {
        let group = insert(&mut book, candidate);
        let conflicting = book.groups.get(group).is_some_and(|known| known.kind != candidate.kind);
        if conflicting || odd.contains(&number) {
            report_conflict(modules, candidate, diagnostics);
        }
        placed.push(Placed { module: candidate.module, rule: candidate.rule, group, fixed: candidate.fixed });
    }
    for module in modules {
        add_package(&mut book.tree, &module.tree.package);
    }
    check_extents(modules, &book, &placed, diagnostics);
    check_defaults(modules, &book, &placed, diagnostics);
    (book, placed)
}

/// Returns the candidates that are of another kind or arity than the first whose reference begins with the same constants:
/// `p[x] contains 1` and `p[y] := 2` both begin with `p`. Source: OPA `ast/compile.go`, `checkRuleConflicts`.
fn odd_candidates(modules: &[Module], candidates: &[Candidate]) -> BTreeSet<usize> {
    let mut first: BTreeMap<(&[Name], Vec<&Value>), Form> = BTreeMap::new();
    let mut odd = BTreeSet::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let module = modules.get(candidate.module);
        let Some(rule) = module.and_then(|module| module.tree.rules.get(candidate.rule)) else { continue };
        let head = &rule.head;
        let keys: Vec<&Value> = head.path.iter().skip(candidate.fixed).map_while(constant).collect();
        let is_element = matches!(head.value, HeadValue::Element(_));
        let is_ground = candidate.fixed.saturating_add(keys.len()) == head.path.len();
        let arity = head.args.as_ref().map_or(0, Vec::len);
        let form = Form { is_element, is_complete: is_ground && !is_element, arity };
        if *first.entry((candidate.path.as_slice(), keys)).or_insert(form) != form {
            odd.insert(number);
        }
    }
    odd
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Form {
    is_element: bool,
    /// One value, under a reference of constants.
    is_complete: bool,
    arity: usize,
}

fn constant(key: &Term) -> Option<&Value> {
    if let Part::Scalar(value) = &key.node { Some(value) } else { None }
}

fn check_count(
    modules: &[Module],
    restrictions: &Restrictions,
    count: usize,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if count > restrictions.bounds().rules
        && let Some(module) = modules.first()
    {
        let message = format!("{count} rules, the bound is {}", restrictions.bounds().rules);
        let at = module.tree.package_at;
        diagnostics.push(module.source.diagnostic(at, DiagnosticCode::Bound, message, "split the program"));
    }
}

fn candidate(module: &Module, index: usize, number: usize, rule: &Rule) -> Option<Candidate> {
    let head = &rule.head;
    let name = head.name()?.clone();
    let mut path: Vec<Name> = module.tree.package.clone();
    path.push(name);
    let fixed = head.path.iter().skip(1).map_while(Term::as_str).count().saturating_add(1);
    path.extend(head.path.iter().skip(1).map_while(Term::as_str).map(Name::from));
    // Source: OPA `ast/compile.go`, `NewRuleTree`: a rule is where the constant beginning of its reference leads.
    let key = head.path.get(fixed).map(|key| &key.node);
    // OPA has replaced keys that are not scalars with variables when it checks `with`.
    let is_whole = !matches!(key, Some(Part::Scalar(_)));
    Some(Candidate { module: index, rule: number, path, fixed, kind: kind(head, fixed), is_whole })
}

fn kind(head: &Head, fixed: usize) -> Kind {
    let keyed = fixed < head.path.len();
    match (&head.args, &head.value) {
        (Some(args), _) => Kind::Function { arity: args.len() },
        (None, HeadValue::Element(_)) if !keyed => Kind::Set,
        (None, HeadValue::True | HeadValue::Single(_)) if !keyed => Kind::Complete,
        _ => Kind::Object,
    }
}

/// Makes each rule inside the extent of an object rule (`p[x] = 1`, `p.a = 2`) one of that object's keys.
fn absorb(candidates: &mut [Candidate]) {
    let objects: BTreeSet<Vec<Name>> =
        candidates.iter().filter(|c| c.kind == Kind::Object).map(|c| c.path.clone()).collect();
    for candidate in candidates {
        if matches!(candidate.kind, Kind::Function { .. }) {
            continue;
        }
        let shortest = (1..candidate.path.len())
            .find(|length| candidate.path.get(..*length).is_some_and(|prefix| objects.contains(prefix)));
        if let Some(length) = shortest {
            let surplus = candidate.path.len().saturating_sub(length);
            candidate.fixed = candidate.fixed.saturating_sub(surplus);
            candidate.path.truncate(length);
            candidate.kind = Kind::Object;
            candidate.is_whole = false;
        }
    }
}

fn insert(book: &mut Rulebook, candidate: &Candidate) -> GroupId {
    let mut node = &mut book.tree;
    for name in &candidate.path {
        node = node.children.entry(name.clone()).or_default();
    }
    let next = book.groups.len();
    let group = *node.group.get_or_insert(next);
    if group == next {
        let (path, kind) = (candidate.path.clone(), candidate.kind);
        book.groups.push(Group { path, kind, rules: Vec::new(), is_whole: false, nodes: Vec::new() });
    }
    if let Some(group) = book.groups.get_mut(group) {
        group.is_whole |= candidate.is_whole;
    }
    group
}

/// Adds a package, which is a document even where it has no rules.
fn add_package(tree: &mut Node, path: &[Name]) {
    let mut node = tree;
    for name in path {
        node = node.children.entry(name.clone()).or_default();
    }
}

fn report_conflict(modules: &[Module], candidate: &Candidate, diagnostics: &mut Vec<Diagnostic>) {
    let Some(module) = modules.get(candidate.module) else {
        return;
    };
    let Some(rule) = module.tree.rules.get(candidate.rule) else {
        return;
    };
    let message = format!("conflicting rules data.{} found", candidate.path.join("."));
    let help = "all rules of one name must be of one kind and, for functions, of one arity";
    diagnostics.push(module.source.diagnostic(rule.at, DiagnosticCode::Type, message, help));
}

/// The names a diagnostic lists.
const MOST_NAMES: usize = 20;

/// Reports rules below a rule that has a value of its own.
fn check_extents(modules: &[Module], book: &Rulebook, placed: &[Placed], diagnostics: &mut Vec<Diagnostic>) {
    for place in placed {
        let Some(group) = book.groups.get(place.group) else {
            continue;
        };
        let Some(node) = book.tree.find(group.path.iter().map(|name| &**name)) else {
            continue;
        };
        if node.children.is_empty() {
            continue;
        }
        let mut below = Vec::new();
        node.groups(&mut below);
        let others = below.iter().filter(|id| **id != place.group).filter_map(|id| book.groups.get(*id));
        let names: Vec<String> = others.map(Group::name).take(MOST_NAMES).collect();
        let Some(module) = modules.get(place.module) else {
            continue;
        };
        let Some(rule) = module.tree.rules.get(place.rule) else {
            continue;
        };
        let message = format!("rule {} conflicts with [{}]", group.name(), names.join(" "));
        diagnostics.push(module.source.diagnostic(
            rule.at,
            DiagnosticCode::Type,
            message,
            "rename one of them",
        ));
    }
}

fn check_defaults(modules: &[Module], book: &Rulebook, placed: &[Placed], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = BTreeSet::new();
    for place in placed {
        let Some(module) = modules.get(place.module) else {
            continue;
        };
        let Some(rule) = module.tree.rules.get(place.rule).filter(|rule| rule.default) else {
            continue;
        };
        if !seen.insert(place.group) {
            let name = book.groups.get(place.group).map(Group::name).unwrap_or_default();
            let message = format!("multiple default rules {name} found");
            diagnostics.push(module.source.diagnostic(
                rule.at,
                DiagnosticCode::Type,
                message,
                "keep one of them",
            ));
        }
    }
}

/// Returns the rule names of each package.
pub(super) fn packages(modules: &[Module]) -> BTreeMap<Vec<Name>, BTreeSet<Name>> {
    let mut packages: BTreeMap<Vec<Name>, BTreeSet<Name>> = BTreeMap::new();
    for module in modules {
        let names = packages.entry(module.tree.package.clone()).or_default();
        names.extend(module.tree.rules.iter().filter_map(|rule| rule.head.name().cloned()));
    }
    packages
}

/// Resolves what the names of a module stand for: its package's rules and its imports.
pub(super) fn globals(
    module: &Module,
    packages: &BTreeMap<Vec<Name>, BTreeSet<Name>>,
) -> BTreeMap<Name, Vec<Name>> {
    let mut globals = BTreeMap::new();
    for name in packages.get(&module.tree.package).into_iter().flatten() {
        let mut path: Vec<Name> = vec!["data".into()];
        path.extend(module.tree.package.iter().cloned());
        path.push(name.clone());
        globals.insert(name.clone(), path);
    }
    for import in module.tree.imports.iter().filter(|import| import.is_document()) {
        if let Some(name) = import.name() {
            globals.insert(name.clone(), import.path.clone());
        }
    }
    globals
}

/// Returns the first rule on a path of names, and how many of the names it takes.
pub(crate) fn rule_on<'a>(tree: &Node, path: impl Iterator<Item = &'a str>) -> Option<(GroupId, usize)> {
    let mut node = tree;
    for (index, name) in path.enumerate() {
        node = node.children.get(name)?;
        if let Some(group) = node.group {
            return Some((group, index.saturating_add(1)));
        }
    }
    None
}
