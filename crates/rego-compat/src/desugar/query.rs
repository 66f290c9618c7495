//! An ad-hoc query as a rule of its own: each solution of its body gives the values of its expressions and variables.
//!
//! The values of expressions, and which false ones count, follow `rewriteQueryToCaptureValue` of OPA's `rego`
//! package. The rule is in no package; nothing can refer to it.

use std::collections::BTreeMap;

use crate::ast::{Body, Literal, LiteralKind, Name, Node, Term};
use crate::builtin;
use crate::diagnostic::Pos;
use crate::ir::{Action, Definition, Group, GroupId, Kind, Leaf, Operand, Rule, Rulebook, Slot, Statement};
use crate::module::Module;
use crate::restrictions::Restrictions;
use crate::walk::{Visit, walk_literal};

use super::names;
use super::order::{SlotSet, all_vars, visible_vars};
use super::scope::Lowering;
use super::statement::printing;
use super::term::unify;
use crate::diagnostic::Diagnostic;

/// Name of the group, and of slots that hold the value of an expression. OPA calls such a variable `_` in messages.
const HIDDEN: &str = "$query";

/// The place of a query's rule, and what its elements hold: values of expressions, then values of variables.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) group: GroupId,
    /// The place of each expression that has a value.
    pub(crate) expressions: Vec<Pos>,
    /// Names of the variables.
    pub(crate) variables: Vec<Name>,
}

/// Lowers a query's body, seen from a module that has its package and imports, and puts it among the rules.
pub(crate) fn add_query(
    book: &mut Rulebook,
    module: &Module,
    body: &Body,
    modules: &[Module],
    restrictions: &Restrictions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Asked {
    let globals = names::globals(module, &names::packages(modules));
    let (rule, expressions, variables) = lower(module, body, &globals, book, restrictions, diagnostics);
    let group = book.groups.len();
    book.groups.push(Group {
        path: vec![HIDDEN.into()],
        kind: Kind::Set,
        rules: vec![rule],
        is_whole: true,
        nodes: Vec::new(),
    });
    Asked { group, expressions, variables }
}

fn lower(
    module: &Module,
    body: &Body,
    globals: &BTreeMap<Name, Vec<Name>>,
    book: &Rulebook,
    restrictions: &Restrictions,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Rule, Vec<Pos>, Vec<Name>) {
    let has_to_hold = body.len() > 1 || iterates(body, globals);
    let mut lowering = Lowering::new(module, globals, book, restrictions, diagnostics, Pos::default());
    let declared = lowering.declarations(body);
    lowering.announce(declared);
    let (mut statements, mut checks, mut values, mut places) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for literal in body {
        let value = lowering.captured(literal, &mut statements);
        if let Some(slot) = value.filter(|_| has_to_hold) {
            let action = Action::Term(Operand::Var(slot));
            checks.push(Statement { negated: false, action, with: Vec::new(), at: literal.at });
        }
        // A declaration alone is not an expression of the result.
        if !matches!(literal.kind, LiteralKind::Some(_)) {
            values.push(value.map_or(Operand::Const(true.into()), Operand::Var));
            places.push(literal.at);
        }
    }
    statements.extend(checks);
    lowering.check_declared();
    let (slots, names) = lowering.variables(&statements);
    values.extend(slots.into_iter().map(Operand::Var));
    let at = Pos::default();
    let leaf = Leaf::Element(Operand::Array(values));
    let mut branch = Definition { keys: Vec::new(), leaf, body: statements, at, bodiless: None };
    lowering.finish(&mut branch, &[]);
    let source = module.source.clone();
    let slots = lowering.into_slots();
    let rule = Rule { source, at, default: false, args: Vec::new(), slots, branches: vec![branch] };
    (rule, places, names)
}

impl Lowering<'_> {
    /// Lowers a literal; answers the slot of its value where it has one other than that it holds.
    fn captured(&mut self, literal: &Literal, statements: &mut Vec<Statement>) -> Option<Slot> {
        let LiteralKind::Term(term) = &literal.kind else {
            self.literal(literal, statements);
            return None;
        };
        if literal.negated || printing(literal).is_some() || self.equation(literal).is_some() {
            self.literal(literal, statements);
            return None;
        }
        let with = self.with(&literal.with, statements);
        let slot = self.fresh(HIDDEN.into());
        let mut parts = Vec::new();
        let captured = self.capture(term, slot, &mut parts);
        for mut part in parts {
            part.with.clone_from(&with);
            part.at = if part.at == term.at { literal.at } else { part.at };
            statements.push(part);
        }
        captured.then_some(slot)
    }

    /// Statements that give a slot the value of a term. A call that names its own output has no other value.
    fn capture(&mut self, term: &Term, slot: Slot, parts: &mut Vec<Statement>) -> bool {
        match &term.node {
            Node::Call(call) => self.call(call, None, term.at, parts),
            Node::Chain(chain) => self.chain(chain, None, parts),
            _ => {
                let value = self.term(term, parts);
                parts.push(unify(Operand::Var(slot), value, term.at));
                return true;
            }
        }
        match parts.last_mut() {
            Some(Statement { action: Action::Call { output: output @ None, .. }, .. }) => {
                *output = Some(Operand::Var(slot));
                true
            }
            _ => false,
        }
    }

    /// Returns the variables of the author's that the statements give values to.
    fn variables(&self, statements: &[Statement]) -> (Vec<Slot>, Vec<Name>) {
        let mut visible = SlotSet::default();
        for statement in statements.iter().filter(|statement| !statement.negated) {
            visible_vars(statement, &mut visible);
            statement.with.iter().for_each(|with| all_vars(&with.value, &mut visible));
        }
        let named = visible.iter().map(|slot| (slot, self.slot_name(slot)));
        named.filter(|(_, name)| !name.starts_with('$')).unzip()
    }
}

/// Returns true if the body may hold in several ways, as far as its text shows.
fn iterates(body: &Body, globals: &BTreeMap<Name, Vec<Name>>) -> bool {
    let mut search = Search { globals, found: false };
    body.iter().for_each(|literal| walk_literal(literal, &mut search));
    search.found
}

struct Search<'a> {
    globals: &'a BTreeMap<Name, Vec<Name>>,
    found: bool,
}

impl Visit for Search<'_> {
    fn enters(&mut self, term: &Term) -> bool {
        !matches!(term.node, Node::Comprehension(_))
    }

    fn term(&mut self, term: &Term) {
        self.found |= match &term.node {
            Node::Ref(components) => components
                .iter()
                .skip(1)
                .any(|part| matches!(&part.node, Node::Var(name) if !self.globals.contains_key(name))),
            Node::Call(call) => builtin::find(&call.name()).is_some_and(builtin::Builtin::is_relation),
            _ => false,
        };
    }
}
