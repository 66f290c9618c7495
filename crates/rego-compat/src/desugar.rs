//! Syntax trees to the flat form everything else works on, as OPA's compiler rewrites a module.
//!
//! `names` finds out which rules exist, `scope` and `term` resolve variables and flatten calls, `statement` and
//! `head` do the same for bodies and heads, `with` for modifiers, `order` sorts bodies so that nothing is read
//! before it has a value, `dynamic` takes references out of calls, `element` orders elements, and `query` makes a rule of a
//! query. Nothing here evaluates.

mod dynamic;
mod element;
mod head;
mod names;
mod object;
mod order;
mod query;
mod scope;
mod statement;
mod term;
#[cfg(test)]
mod tests;
mod with;

use crate::annotation::Annotations;
use crate::diagnostic::Diagnostic;
use crate::ir::{Kind, Rulebook};
use crate::module::Module;
use crate::restrictions::Restrictions;

pub(crate) use names::rule_on;
pub(crate) use order::{SlotSet, all_vars, bound_by, same_key};
pub(crate) use query::{Asked, add_query};

/// Resolves and flattens all modules. Diagnostics do not stop the rest from being looked at.
pub(crate) fn desugar(
    modules: &[Module],
    restrictions: &Restrictions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Rulebook {
    let (mut book, heads) = names::collect(modules, restrictions, diagnostics);
    book.annotations = Annotations::of(modules);
    let packages = names::packages(modules);
    let globals: Vec<_> = modules.iter().map(|module| names::globals(module, &packages)).collect();
    let mut lowered = Vec::with_capacity(heads.len());
    for head in &heads {
        let (Some(module), Some(globals)) = (modules.get(head.module), globals.get(head.module)) else {
            diagnostics.push(Diagnostic::internal(format!("no module {}", head.module)));
            continue;
        };
        if let Some(rule) = head::lower(module, head, globals, &book, restrictions, diagnostics) {
            lowered.push((head.group, rule));
        }
    }
    for (group, rule) in lowered {
        match book.groups.get_mut(group) {
            Some(group) => group.rules.push(rule),
            None => diagnostics.push(Diagnostic::internal(format!("no group {group}"))),
        }
    }
    for group in book.groups.iter_mut().filter(|group| group.kind == Kind::Object) {
        object::arrange(group);
    }
    book
}
