//! The rules that are tests, and their names.

use std::collections::HashMap;

use crate::ast::{Name, Node, Rule, Term};
use crate::desugar::rule_on;
use crate::ir::{Kind, Rulebook};
use crate::module::Module;

use super::Test;

const TEST: &str = "test_";
const SKIPPED: &str = "todo_test_";

/// Returns the modules with `#01`, `#02` … behind the names of tests whose name was taken, as `opa test` has it.
pub(super) fn numbered(modules: &[Module]) -> Vec<Module> {
    let mut taken: HashMap<Vec<Name>, usize> = HashMap::new();
    modules.iter().map(|module| number(module, &mut taken)).collect()
}

fn number(module: &Module, taken: &mut HashMap<Vec<Name>, usize>) -> Module {
    let mut tree = (*module.tree).clone();
    for rule in &mut tree.rules {
        let Some((mut path, last)) = name(rule) else {
            continue;
        };
        if !last.starts_with(TEST) {
            continue;
        }
        let length = path.len();
        path.splice(0..0, tree.package.iter().cloned());
        let count = taken.entry(path).or_default();
        if *count > 0
            && let Some(place) = rule.head.path.get_mut(length.saturating_sub(1))
        {
            let numbered: Name = format!("{last}#{count:02}").into();
            place.node = if length == 1 { Node::Var(numbered) } else { Node::Scalar((&*numbered).into()) };
        }
        *count = count.saturating_add(1);
    }
    module.with_tree(tree)
}

/// Returns the fixed part of a rule's name up to the first component that makes it a test, and that component.
fn name(rule: &Rule) -> Option<(Vec<Name>, Name)> {
    let first = rule.head.name()?.clone();
    let rest = rule.head.path.iter().skip(1).map_while(Term::as_str).map(Name::from);
    let mut path = Vec::new();
    for component in std::iter::once(first).chain(rest) {
        path.push(component.clone());
        if component.starts_with(TEST) || component.starts_with(SKIPPED) {
            return Some((path, component));
        }
    }
    None
}

/// Returns every test of the modules.
pub(super) fn tests(modules: &[Module], book: &Rulebook) -> Vec<Test> {
    let rules = modules.iter().flat_map(|module| module.tree.rules.iter().map(move |rule| (module, rule)));
    rules.filter_map(|(module, rule)| test(module, rule, book)).collect()
}

fn test(module: &Module, rule: &Rule, book: &Rulebook) -> Option<Test> {
    let (path, last) = name(rule)?;
    let (line, column) = module.source.locate(rule.at);
    let names = module.tree.package.iter().chain(&path).map(|name| &**name);
    let group = rule_on(&book.tree, names).map(|(group, _)| group);
    let kind = group.and_then(|group| book.groups.get(group)).map(|group| group.kind);
    Some(Test {
        package: reference("data", &module.tree.package),
        name: reference("", &path),
        file: module.name().to_owned(),
        line,
        column,
        skipped: last.starts_with(SKIPPED),
        group,
        keyed: kind == Some(Kind::Object),
    })
}

/// Returns a reference as OPA prints it: `data.a["b c"].d`.
fn reference(root: &str, names: &[Name]) -> String {
    let mut text = root.to_owned();
    for name in names {
        if text.is_empty() {
            text.push_str(name);
        } else if is_plain(name) {
            text.push('.');
            text.push_str(name);
        } else {
            text.push_str(&format!("[{}]", crate::value::literal::of(&(&**name).into())));
        }
    }
    text
}

fn is_plain(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
