//! The conditions of one body, statement by statement.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::{
    Action, Branch, Callee, Definition, Operand, Reference, Root, Rule, Rulebook, Slot, Statement,
};
use crate::value::Value;

use super::level::{Alternation, MOST_ALTERNATIVES, Need, Needs, Statistics, Table, is_affix};
use super::{Place, PlaceRoot, Want};

/// Returns what a definition needs; nothing where it prints, which must not be passed over.
pub(super) fn needs(book: &Rulebook, rule: &Rule, branch: &Definition, table: &mut Table) -> Needs {
    if branch.body.iter().any(calls_hook) {
        return Needs::default();
    }
    // The statistics are those of whole definitions: operands of `and` and `or` count into their own, which are dropped.
    let mut statistics = std::mem::take(&mut table.statistics);
    let mut recorder = Recorder {
        book,
        rule,
        table,
        statistics: &mut statistics,
        needs: Needs::default(),
        outer: Rc::default(),
        constants: Rc::default(),
    };
    branch.body.iter().for_each(|statement| recorder.statement(statement));
    let needs = recorder.needs;
    table.statistics = statistics;
    needs
}

/// Returns true if a statement notifies the host of something, in whatever depth.
fn calls_hook(statement: &Statement) -> bool {
    match &statement.action {
        Action::Call { callee: Callee::Hook(_), .. } => true,
        Action::Every { body, .. } | Action::Not { body, .. } => body.iter().any(calls_hook),
        Action::And(branches) | Action::Or(branches) => {
            branches.iter().flat_map(|branch| &branch.body).any(calls_hook)
        }
        Action::Call { .. } | Action::Term(_) | Action::Unify { .. } => false,
    }
}

pub(super) struct Recorder<'a> {
    book: &'a Rulebook,
    rule: &'a Rule,
    pub(super) table: &'a mut Table,
    statistics: &'a mut Vec<Statistics>,
    pub(super) needs: Needs,
    /// The conditions of the bodies around this one: its variables are known in here.
    outer: Rc<[Need]>,
    /// The constants that variables are equal to. Shared with the scopes inside, until one learns more.
    pub(super) constants: Rc<HashMap<Slot, Value>>,
}

impl Recorder<'_> {
    fn statement(&mut self, statement: &Statement) {
        // `not input.a == 1` also holds without `input.a`, and under `with` it may be another input: OPA looks at neither.
        if statement.negated || !statement.with.is_empty() {
            return;
        }
        match &statement.action {
            Action::Term(Operand::Ref(reference)) => {
                // `input.a` alone: it has to be there. `data.d[k]` with a known `k`: `d` has to have that key.
                let reference = self.plugged(reference);
                if !self.key_of_collection(&reference)
                    && let Some(place) = self.place(&reference, &reference.path)
                {
                    self.insert_at(&place, Want::Open(None), &reference);
                }
            }
            Action::Unify { left, right, .. } => self.equation(left, right),
            Action::Call { callee: Callee::Builtin(builtin), args, output: None } => {
                self.call(builtin.name, args);
            }
            Action::And(branches) => self.all_of(branches),
            Action::Or(branches) => self.any_of(branches),
            Action::Term(_) | Action::Call { .. } | Action::Every { .. } | Action::Not { .. } => {}
        }
    }

    /// Returns the reference with constants in place of the variables that have them.
    pub(super) fn plugged(&self, reference: &Reference) -> Reference {
        let plug = |part: &Operand| match part {
            Operand::Var(slot) => match self.constants.get(slot) {
                Some(value) if is_scalar(value) => Operand::Const(value.clone()),
                _ => part.clone(),
            },
            other => other.clone(),
        };
        let path = reference.path.iter().map(plug).collect();
        Reference { root: reference.root, path, at: reference.at }
    }

    /// Returns the place of a reference with known keys into the input or plain data.
    pub(super) fn place(&mut self, reference: &Reference, path: &[Operand]) -> Option<Place> {
        let mut place = match reference.root {
            Root::Input => Place { root: PlaceRoot::Input, path: Vec::new() },
            Root::Data => Place { root: PlaceRoot::Data, path: Vec::new() },
            Root::Var(slot) => {
                let number = self.resolve(slot)?;
                self.table.place(number)?.clone()
            }
        };
        for part in path {
            let Operand::Const(key) = part else { return None };
            place.path.push(key.clone());
        }
        self.is_plain(&place).then_some(place)
    }

    /// Returns true if the value of a place does not depend on a rule, and it is not an argument.
    pub(super) fn is_plain(&self, place: &Place) -> bool {
        match place.root {
            PlaceRoot::Input => true,
            PlaceRoot::Argument(_) => false,
            PlaceRoot::Data => {
                let mut node = &self.book.tree;
                for key in &place.path {
                    let Value::String(name) = key else { return true };
                    match node.children.get(&**name) {
                        None => return true,
                        Some(child) if child.group.is_some() => return false,
                        Some(child) => node = child,
                    }
                }
                false
            }
        }
    }

    /// Returns the place whose value a variable has.
    pub(super) fn resolve(&mut self, slot: Slot) -> Option<usize> {
        let known = self.needs.own.iter().chain(&*self.outer);
        if let Some(need) = { known }.find(|need| need.want == Want::Open(Some(slot))) {
            return Some(need.place);
        }
        let is_slot = |arg: &Operand| matches!(arg, Operand::Var(other) if *other == slot);
        let argument = self.rule.args.iter().position(is_slot)?;
        let place = Place { root: PlaceRoot::Argument(argument), path: Vec::new() };
        Some(self.table.number(&place, None))
    }

    /// Records `a and b and c`, which OPA has as `(a and b) and c`: the conditions of all operands but the last are put together
    /// first.
    fn all_of(&mut self, branches: &[Branch]) {
        let outer = self.visible();
        let mut found: Vec<_> = branches.iter().map(|branch| self.branch(branch, &outer)).collect();
        let last = found.pop().unwrap_or_default();
        let left = match found.len() {
            1 => found.pop().unwrap_or_default(),
            _ => self.inner(&outer, |inner| found.into_iter().for_each(|part| inner.require(part))),
        };
        self.require(left);
        self.require(last);
    }

    /// Records `a or b or c`. One operand without conditions, and too many alternatives, leave nothing to ask for.
    fn any_of(&mut self, branches: &[Branch]) {
        let outer = self.visible();
        let mut alternatives = Vec::new();
        for branch in branches {
            let found = self.branch(branch, &outer);
            if found.is_empty() || alternatives.len() > MOST_ALTERNATIVES {
                return;
            }
            alternatives.extend(found);
        }
        self.require(alternatives);
    }

    /// Returns the conditions that the bodies inside this one know.
    fn visible(&self) -> Rc<[Need]> {
        self.needs.own.iter().chain(&*self.outer).cloned().collect()
    }

    /// Returns the alternatives of an operand of `and` or `or`, which is a scope of its own.
    fn branch(&mut self, branch: &Branch, outer: &Rc<[Need]>) -> Vec<Vec<Need>> {
        self.inner(outer, |inner| branch.body.iter().for_each(|statement| inner.statement(statement)))
    }

    /// Returns the alternatives that are recorded in a scope inside this one; none where it has no conditions.
    fn inner(&mut self, outer: &Rc<[Need]>, record: impl FnOnce(&mut Recorder<'_>)) -> Vec<Vec<Need>> {
        let mut statistics = Vec::new();
        let mut inner = Recorder {
            book: self.book,
            rule: self.rule,
            table: &mut *self.table,
            statistics: &mut statistics,
            needs: Needs::default(),
            outer: outer.clone(),
            constants: self.constants.clone(),
        };
        record(&mut inner);
        let mut alternatives = inner.needs.alternatives();
        if matches!(alternatives.as_slice(), [only] if only.is_empty()) {
            return Vec::new();
        }
        // A variable of an operand has no value outside: `{x := input.a; x == 1} or input.b` says nothing of `x` behind it.
        for need in alternatives.iter_mut().flatten() {
            if let Want::Open(slot) = &mut need.want {
                *slot = None;
            }
        }
        alternatives
    }

    /// Adds alternatives of which one has to hold; a lone one always has to.
    fn require(&mut self, alternatives: Vec<Vec<Need>>) {
        if let [only] = alternatives.as_slice() {
            only.iter().for_each(|need| self.insert(need.clone()));
        } else if !alternatives.is_empty() {
            alternatives.iter().flatten().for_each(|need| self.count(need.place, 1));
            self.needs.either.push(alternatives);
        }
    }

    pub(super) fn insert_at(&mut self, place: &Place, want: Want, written: &Reference) {
        let file = self.rule.source.name.clone();
        let place = self.table.number(place, Some((file, written.at)));
        self.insert(Need { place, want });
    }

    /// Adds a need: `input.a == 1` replaces the need that `input.a` is defined, and its variable with it.
    pub(super) fn insert(&mut self, need: Need) {
        let open = matches!(need.want, Want::Open(_));
        let mut seen = false;
        let mut alternation = Alternation::None;
        for other in self.needs.own.iter_mut().filter(|other| other.place == need.place) {
            seen = true;
            // `input.a; input.a == 1; input.a == 2`: the first value takes the place of "to be there", the second stands
            // beside the first, and OPA tries the definition for either.
            if *other == need {
                return self.alternate(need.place, alternation);
            }
            let other_open = matches!(other.want, Want::Open(_));
            if !open && !is_affix(&need.want) && other_open {
                other.want = need.want;
                return self.alternate(need.place, alternation);
            }
            if !open && !other_open {
                let terminal = is_affix(&need.want) || is_affix(&other.want);
                alternation =
                    alternation.max(if terminal { Alternation::Terminal } else { Alternation::Converging });
            }
        }
        self.alternate(need.place, alternation);
        if !seen {
            self.count(need.place, 1);
        }
        self.needs.own.push(need);
    }

    /// Adds several values, or ends of a string, of which a place has to have one.
    ///
    /// OPA 1.22 takes a variable among constants for no value at all, so that `x in {1, y}` never holds for `y`, a
    /// defect that other versions do not have: here a variable is any value.
    pub(super) fn one_of(&mut self, place: usize, wants: Vec<Want>) {
        if wants.iter().any(is_affix) {
            return self.append(place, wants);
        }
        let mut wants = wants.into_iter();
        if let Some(want) = wants.next() {
            self.insert(Need { place, want });
        }
        let rest: Vec<Want> = wants.collect();
        if !rest.is_empty() {
            self.append(place, rest);
        }
    }

    fn append(&mut self, place: usize, wants: Vec<Want>) {
        // Each value counts, so that a path with many of them is looked up first. With a prefix or suffix among them they
        // count one less where the path has another need.
        let affix = wants.iter().any(is_affix);
        let known = self.needs.own.iter().filter(|other| other.place == place);
        let mut concrete = known.clone().filter(|other| !matches!(other.want, Want::Open(_))).count();
        let counted = wants.len().saturating_sub(usize::from(affix && known.count() > 0));
        self.count(place, counted);
        for want in wants {
            let need = Need { place, want };
            if !self.needs.own.contains(&need) {
                concrete = concrete.saturating_add(1);
                self.needs.own.push(need);
            }
        }
        if concrete > 1 {
            let alternation = if affix { Alternation::Terminal } else { Alternation::Converging };
            self.alternate(place, alternation);
        }
    }

    fn count(&mut self, place: usize, times: usize) {
        if let Some(known) = self.known(place) {
            known.count = known.count.saturating_add(times);
        }
    }

    fn alternate(&mut self, place: usize, alternation: Alternation) {
        if let Some(known) = self.known(place) {
            known.alternated = known.alternated.max(alternation);
        }
    }

    fn known(&mut self, place: usize) -> Option<&mut Statistics> {
        if self.statistics.len() <= place {
            self.statistics.resize(place.saturating_add(1), Statistics::default());
        }
        self.statistics.get_mut(place)
    }
}

pub(super) const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
}
