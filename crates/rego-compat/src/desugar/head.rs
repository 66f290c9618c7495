//! Rules: arguments, keys and values around a body, `else` branches behind it.

use std::collections::{BTreeMap, BTreeSet};

use crate::annotation::Place;
use crate::ast::{Body, HeadValue, Name, Node, Rule as Written, Term};
use crate::builtin;
use crate::check::default_errors;
use crate::desugar::dynamic;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Pos};
use crate::ir::{Definition, Leaf, Operand, Rule, Rulebook, Statement};
use crate::module::Module;
use crate::restrictions::Restrictions;

use super::names::Placed;
use super::order::{self, SlotSet};
use super::scope::{Lowering, Origin};
use super::term::unify;

/// Lowers one rule; `None`, and a diagnostic, where the module has no such rule.
pub(super) fn lower(
    module: &Module,
    place: &Placed,
    globals: &BTreeMap<Name, Vec<Name>>,
    book: &Rulebook,
    restrictions: &Restrictions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rule> {
    let Some(written) = module.tree.rules.get(place.rule) else {
        diagnostics.push(Diagnostic::internal(format!("no rule {}", place.rule)));
        return None;
    };
    let mut lowering = Lowering::new(module, globals, book, restrictions, diagnostics, written.at);
    let asking = Place { module: place.module, rule: place.rule, otherwise: false };
    lowering.place = Some(asking);
    let (args, checks) = lowering.arguments(written);
    let held = if written.default { written.head.at } else { written.at };
    let mut branches = vec![lowering.branch(written, place, &written.body, Value::Head, &checks, held)];
    for branch in &written.otherwise {
        lowering.keep_arguments();
        lowering.place = Some(Place { otherwise: true, ..asking });
        branches.push(lowering.branch(
            written,
            place,
            &branch.body,
            Value::Else(branch.value.as_ref()),
            &checks,
            branch.at,
        ));
    }
    if written.default {
        lowering.check_default(written);
    }
    for branch in &mut branches {
        lowering.finish(branch, &args);
    }
    Some(Rule {
        source: module.source.clone(),
        at: written.at,
        default: written.default,
        args,
        slots: lowering.into_slots(),
        branches,
    })
}

/// The source of a branch's value.
enum Value<'a> {
    Head,
    Else(Option<&'a Term>),
}

/// Returns the place of a call in an argument. Source: OPA `ast/compile.go`, `ruleArgLocalRewriter`: neither sets and comprehensions nor
/// the keys of objects are looked at.
fn call_in(argument: &Term) -> Option<Pos> {
    match &argument.node {
        Node::Call(_) | Node::Chain(_) => Some(argument.at),
        Node::Ref(parts) | Node::Array(parts) => parts.iter().find_map(call_in),
        Node::Object(entries) => entries.iter().find_map(|(_, value)| call_in(value)),
        _ => None,
    }
}

impl Lowering<'_> {
    /// Returns the arguments as patterns, and the statements that check what a pattern cannot say.
    fn arguments(&mut self, written: &Written) -> (Vec<Operand>, Vec<Statement>) {
        let mut args = Vec::new();
        let mut checks = Vec::new();
        for arg in written.head.args.iter().flatten() {
            self.declare_arguments(arg);
        }
        for arg in written.head.args.iter().flatten() {
            if let Some(at) = call_in(arg) {
                let help = "compare the argument with the call in the body";
                self.report(at, DiagnosticCode::Compile, "rule arguments cannot contain calls", help);
            }
            let mut before = Vec::new();
            let operand = self.term(arg, &mut before);
            if before.is_empty() && !operand.needs_evaluation() {
                args.push(operand);
                continue;
            }
            let slot = self.temporary();
            checks.extend(before);
            checks.push(unify(Operand::Var(slot), operand, arg.at));
            args.push(Operand::Var(slot));
        }
        (args, checks)
    }

    fn declare_arguments(&mut self, term: &Term) {
        match &term.node {
            Node::Var(name) if self.declared(name).is_none() => {
                self.declare(name, Origin::Argument, term.at);
            }
            Node::Array(items) | Node::Set(items) => {
                items.iter().for_each(|item| self.declare_arguments(item))
            }
            Node::Object(pairs) => pairs.iter().for_each(|(_, value)| self.declare_arguments(value)),
            // `f(input)`: the argument hides the document.
            Node::Ref(terms) if terms.len() == 1 => {
                terms.iter().for_each(|term| self.declare_arguments(term))
            }
            _ => {}
        }
    }

    fn branch(
        &mut self,
        written: &Written,
        place: &Placed,
        body: &Body,
        value: Value<'_>,
        checks: &[Statement],
        at: Pos,
    ) -> Definition {
        let names = self.declarations(body);
        self.announce(names);
        self.count(checks.len());
        let mut statements: Vec<Statement> = if self.is_full() { Vec::new() } else { checks.to_vec() };
        let bodiless = body.is_empty().then(|| written_value(&value, written)).flatten();
        if !body.is_empty() {
            statements.extend(self.body(body));
        }
        let keys = written.head.path.iter().skip(place.fixed);
        let keys = keys.map(|key| self.collected(key, &mut statements)).collect();
        let truth = || Leaf::Value(Operand::Const(true.into()));
        let leaf = match (value, &written.head.value) {
            (Value::Else(None), _) | (Value::Head, HeadValue::True) => truth(),
            (Value::Else(Some(term)), _) | (Value::Head, HeadValue::Single(term)) => {
                Leaf::Value(self.collected(term, &mut statements))
            }
            (Value::Head, HeadValue::Element(term)) => Leaf::Element(self.collected(term, &mut statements)),
        };
        self.check_declared();
        Definition { keys, leaf, body: statements, at, bodiless }
    }

    /// Checks that a default's value is a constant, and that its arguments are plain variables.
    fn check_default(&mut self, written: &Written) {
        for message in default_errors(written) {
            self.report(written.at, DiagnosticCode::Parse, message, "");
        }
    }

    /// Orders the body, reports what is never given a value, and takes references out of calls. That costs the square of
    /// the number of variables: a rule that is refused for its size is left as it is.
    pub(super) fn finish(&mut self, branch: &mut Definition, args: &[Operand]) {
        if self.is_full() {
            return;
        }
        let mut given = SlotSet::default();
        for arg in args {
            order::all_vars(arg, &mut given);
        }
        let body = std::mem::take(&mut branch.body);
        let mut unsafe_vars = Vec::new();
        branch.body = order::order(body, &given, &mut unsafe_vars);
        for statement in &branch.body {
            order::bound_by(statement, &mut given);
        }
        for operand in branch.keys.iter().chain([branch.leaf.operand()]) {
            let mut read = SlotSet::default();
            order::all_vars(operand, &mut read);
            read.subtract(&given);
            unsafe_vars.extend(read.iter().map(|slot| (slot, branch.at)));
        }
        self.report_unsafe(unsafe_vars, &given);
        branch.body = dynamic::hoist(std::mem::take(&mut branch.body), self);
    }

    /// Reports variables without a value, with the name of `given` or of a rule that each may be meant to be.
    fn report_unsafe(&mut self, mut unsafe_vars: Vec<(u32, Pos)>, given: &SlotSet) {
        unsafe_vars.sort_by_key(|(slot, at)| (*at, *slot));
        unsafe_vars.dedup();
        let is_safe = |slot: &u32| unsafe_vars.iter().all(|(other, _)| other != slot);
        let safe: Vec<_> = given.iter().filter(is_safe).map(|slot| self.slot_name(slot)).collect();
        // Source: OPA `ast/compile.go`, `safetyErrorSlice`.
        let is_named = |(slot, _): &(u32, Pos)| &*self.slot_name(*slot) != "$";
        if !unsafe_vars.iter().any(is_named) {
            // Each is reported where it stands first, and a place once.
            let mut known = BTreeSet::new();
            let first = unsafe_vars.iter().filter(|(slot, _)| known.insert(*slot));
            for at in first.map(|(_, at)| *at).collect::<BTreeSet<_>>() {
                let help = "write `a == b`: a call of eq has no value";
                self.report(at, DiagnosticCode::UnsafeVar, "expression is unsafe", help);
            }
        }
        for (slot, at) in unsafe_vars {
            let name = self.slot_name(slot);
            if &*name != "$" {
                let shown: &str = if name.starts_with('$') { "_" } else { &name };
                let others = safe.iter().map(|name| &**name).filter(|name| !name.starts_with('$'));
                let known = others.chain(self.module.rule_names()).chain(["input", "data"]);
                let help = "give it a value in a statement that is not negated";
                let help = match builtin::most_like(shown, known) {
                    Some(similar) => format!("{help}, or correct its name: did you mean {similar}?"),
                    None => help.to_owned(),
                };
                self.report(at, DiagnosticCode::UnsafeVar, format!("var {shown} is unsafe"), &help);
            }
        }
    }
}

/// Returns where OPA says that the body of a branch without body is: at its value, its name, or the word `default`.
fn written_value(value: &Value<'_>, written: &Written) -> Option<Pos> {
    match (value, &written.head.value) {
        (Value::Else(_), _) => None,
        (Value::Head, _) if written.default => Some(written.at),
        (Value::Head, HeadValue::Single(term)) => Some(term.at),
        (Value::Head, HeadValue::True | HeadValue::Element(_)) => {
            written.head.path.first().map(|name| name.at)
        }
    }
}
