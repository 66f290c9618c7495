//! Variables of one rule: which slot a name means where, and what may not be declared twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::value::Value;

use crate::annotation::Place;
use crate::ast::{Body, Equation, Literal, LiteralKind, Name, Node, Term};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Pos};
use crate::ir::{Rulebook, Slot};
use crate::module::Module;
use crate::restrictions::Restrictions;

use super::order::SlotSet;

/// The origin of a name in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Argument,
    Assigned,
    Declared,
    Seen,
}

/// One body's names.
#[derive(Debug, Default)]
struct Scope {
    names: BTreeMap<Name, Entry>,
    /// Variables of `some` and `every`, which have to be used.
    declared: Vec<(Slot, Pos)>,
    /// Names this body declares somewhere; they hide rules and imports in all of it.
    coming: BTreeSet<Name>,
}

/// The meaning of a name in a scope.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The way it came into the scope first.
    first: Origin,
    /// The slot last declared under it; none where it was only seen.
    declared: Option<Slot>,
    argument: Option<Slot>,
}

/// The work on one rule.
pub(crate) struct Lowering<'a> {
    pub(super) module: &'a Module,
    pub(super) globals: &'a BTreeMap<Name, Vec<Name>>,
    pub(super) book: &'a Rulebook,
    pub(super) restrictions: &'a Restrictions,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    slots: Vec<Name>,
    /// Slots some term mentions.
    mentioned: SlotSet,
    plain: BTreeMap<Name, Slot>,
    scopes: Vec<Scope>,
    /// Variables and parts of terms so far; see `Bounds::terms`.
    terms: usize,
    /// The place of the rule.
    at: Pos,
    /// The module and the rule in it; `None` for a query.
    pub(super) place: Option<Place>,
}

/// The meanings of a name.
pub(super) enum Meaning {
    Slot(Slot),
    Document(Vec<Name>),
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        module: &'a Module,
        globals: &'a BTreeMap<Name, Vec<Name>>,
        book: &'a Rulebook,
        restrictions: &'a Restrictions,
        diagnostics: &'a mut Vec<Diagnostic>,
        at: Pos,
    ) -> Self {
        Self {
            module,
            globals,
            book,
            restrictions,
            diagnostics,
            slots: Vec::new(),
            mentioned: SlotSet::default(),
            plain: BTreeMap::new(),
            scopes: vec![Scope::default()],
            terms: 0,
            at,
            place: None,
        }
    }

    /// Counts parts of the rule, which is refused where it has too many.
    pub(super) fn count(&mut self, parts: usize) {
        let before = self.is_full();
        self.terms = self.terms.saturating_add(parts);
        if self.is_full() && !before {
            let message =
                format!("rule has more than {} variables, calls and terms", self.restrictions.bounds().terms);
            self.report(self.at, DiagnosticCode::Bound, message, "split the rule");
        }
    }

    /// Returns true if the rule is larger than it may be. It is refused, so the rest of it is not looked at.
    pub(super) const fn is_full(&self) -> bool {
        self.terms > self.restrictions.bounds().terms
    }

    pub(super) fn into_slots(self) -> Vec<Name> {
        self.slots
    }

    pub(super) fn slot_name(&self, slot: Slot) -> Name {
        usize::try_from(slot)
            .ok()
            .and_then(|index| self.slots.get(index))
            .cloned()
            .unwrap_or_else(|| "$".into())
    }

    pub(super) fn report(&mut self, at: Pos, code: DiagnosticCode, message: impl Into<String>, help: &str) {
        self.diagnostics.push(self.module.source.diagnostic(at, code, message.into(), help));
    }

    /// Returns a slot that is not used otherwise.
    pub(super) fn fresh(&mut self, name: Name) -> Slot {
        let slot = Slot::try_from(self.slots.len()).unwrap_or(Slot::MAX);
        self.slots.push(name);
        self.count(1);
        slot
    }

    /// Returns a slot for an intermediate value.
    pub(super) fn temporary(&mut self) -> Slot {
        static NAME: LazyLock<Name> = LazyLock::new(|| "$".into());
        self.fresh(NAME.clone())
    }

    pub(super) fn push(&mut self, coming: Vec<Name>) {
        self.scopes.push(Scope { coming: coming.into_iter().collect(), ..Scope::default() });
    }

    pub(super) fn pop(&mut self) {
        self.check_declared();
        self.scopes.pop();
    }

    /// Reports unused declarations of the current scope.
    pub(super) fn check_declared(&mut self) {
        let declared =
            self.scopes.last_mut().map(|scope| std::mem::take(&mut scope.declared)).unwrap_or_default();
        for (slot, at) in declared {
            if !self.mentioned.contains(slot) {
                let message = format!("declared var {} unused", self.slot_name(slot));
                self.report(at, DiagnosticCode::Compile, message, "use it, or write _");
            }
        }
    }

    /// Adds names that the current body declares later on.
    pub(super) fn announce(&mut self, names: Vec<Name>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.coming.extend(names);
        }
    }

    /// Forgets what a branch of a rule declared; its arguments stay.
    pub(super) fn keep_arguments(&mut self) {
        self.scopes.truncate(1);
        self.plain.clear();
        if let Some(scope) = self.scopes.first_mut() {
            scope.names.retain(|_, entry| entry.argument.is_some());
            for entry in scope.names.values_mut() {
                (entry.first, entry.declared) = (Origin::Argument, entry.argument);
            }
            scope.coming.clear();
        }
    }

    /// Returns the slot of a name some scope declared.
    pub(super) fn declared(&self, name: &str) -> Option<Slot> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name)?.declared)
    }

    pub(super) fn meaning(&mut self, name: &Name) -> Meaning {
        if let Some(slot) = self.declared(name) {
            self.mentioned.insert(slot);
            return Meaning::Slot(slot);
        }
        let hidden = self.scopes.iter().any(|scope| scope.coming.contains(name));
        if !hidden && let Some(path) = self.globals.get(name) {
            return Meaning::Document(path.clone());
        }
        Meaning::Slot(self.seen(name))
    }

    fn seen(&mut self, name: &Name) -> Slot {
        let slot = match self.plain.get(name) {
            Some(slot) => *slot,
            None => {
                let slot = self.fresh(name.clone());
                self.plain.insert(name.clone(), slot);
                slot
            }
        };
        if let Some(scope) = self.scopes.last_mut() {
            let seen = Entry { first: Origin::Seen, declared: None, argument: None };
            scope.names.entry(name.clone()).or_insert(seen);
        }
        slot
    }

    /// Declares a name in the current scope; a second declaration is reported.
    pub(super) fn declare(&mut self, name: &Name, origin: Origin, at: Pos) -> Slot {
        let before = self.scopes.last().and_then(|scope| scope.names.get(name));
        let trouble = match before.map(|entry| entry.first) {
            None => None,
            Some(Origin::Seen) => Some(format!("var {name} referenced above")),
            Some(Origin::Assigned) => Some(format!("var {name} assigned above")),
            Some(Origin::Declared) => Some(format!("var {name} declared above")),
            Some(Origin::Argument) => Some(format!("arg {name} redeclared")),
        };
        if let Some(message) = trouble {
            self.report(at, DiagnosticCode::Compile, message, "give it another name");
        }
        let slot = self.fresh(name.clone());
        if let Some(scope) = self.scopes.last_mut() {
            let new = Entry { first: origin, declared: None, argument: None };
            let entry = scope.names.entry(name.clone()).or_insert(new);
            entry.declared = Some(slot);
            if origin == Origin::Argument {
                entry.argument = Some(slot);
            }
            if origin == Origin::Declared {
                scope.declared.push((slot, at));
            }
        }
        slot
    }

    /// Returns the sides of an equation; a call is none where its name is something of the author's, or not allowed.
    pub(super) fn equation<'t>(&self, literal: &'t Literal) -> Option<Equation<'t>> {
        literal.equation().filter(|equation| {
            equation.function.is_none_or(|name| {
                !self.globals.contains_key(name)
                    && self.declared(name).is_none()
                    && !self.restrictions.disables(name)
            })
        })
    }

    /// Returns the names a body declares with `:=` and `some`, not those of bodies inside it.
    pub(super) fn declarations(&self, body: &Body) -> Vec<Name> {
        let mut names = Vec::new();
        for literal in body {
            match &literal.kind {
                LiteralKind::Some(declared) => names.extend(declared.iter().map(|(name, _)| name.clone())),
                LiteralKind::SomeIn { key, value, .. } => {
                    for term in key.iter().chain([value]) {
                        pattern_names(term, &mut names);
                    }
                }
                _ => {
                    if let Some(Equation { left, assigned: true, .. }) = self.equation(literal) {
                        pattern_names(left, &mut names);
                    }
                }
            }
        }
        names
    }
}

/// Adds the variables of a pattern: itself, elements of arrays, values of objects.
pub(super) fn pattern_names(term: &Term, names: &mut Vec<Name>) {
    match &term.node {
        Node::Var(name) if !name.starts_with('$') => names.push(name.clone()),
        Node::Array(items) => items.iter().for_each(|item| pattern_names(item, names)),
        Node::Object(pairs) => pairs.iter().for_each(|(_, value)| pattern_names(value, names)),
        // `input := …` hides the document.
        Node::Ref(terms) if terms.len() == 1 => terms.iter().for_each(|term| pattern_names(term, names)),
        _ => {}
    }
}

/// Returns a string constant.
pub(super) fn text(name: &str) -> Value {
    name.into()
}
