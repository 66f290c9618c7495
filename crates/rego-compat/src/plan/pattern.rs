//! Patterns and equations: which side is computed, which side takes the value apart.

use crate::desugar::same_key;
use crate::ir::{Operand, Reference, Root};

use super::binding::{Binder, UNPLANNED, index};
use super::{Each, Expr, Get, Hop, Pattern, Step};

impl Binder<'_> {
    /// Returns the pattern for an operand; its open variables have values afterwards.
    pub(super) fn pattern(&mut self, operand: &Operand) -> Pattern {
        if self.is_closed(operand) {
            return Pattern::Equal(self.expr(operand));
        }
        match operand {
            Operand::Var(slot) => {
                self.bound.insert(*slot);
                Pattern::Bind(index(*slot))
            }
            Operand::Array(items) => Pattern::Array(items.iter().map(|item| self.pattern(item)).collect()),
            Operand::Object(pairs) => Pattern::Object(
                pairs.iter().map(|(key, value)| (self.expr(key), self.pattern(value))).collect(),
            ),
            _ => Pattern::Equal(UNPLANNED),
        }
    }

    /// Steps for `left = right`.
    pub(super) fn unify(&mut self, left: &Operand, right: &Operand, steps: &mut Vec<Step>) {
        match (left, right) {
            (Operand::Collect(collect), other) | (other, Operand::Collect(collect)) => {
                let other = self.settle(other, steps);
                self.collect(collect, &other, steps);
            }
            (Operand::Ref(a), Operand::Ref(b)) => {
                // The side that is closed goes first; it is the cheaper one.
                let (first, second) =
                    if self.is_closed(right) && !self.is_closed(left) { (b, a) } else { (a, b) };
                let first = self.settle(&Operand::Ref(first.clone()), steps);
                self.unify_reference(second, &first, steps);
            }
            (Operand::Ref(reference), other) | (other, Operand::Ref(reference)) => {
                self.unify_reference(reference, other, steps);
            }
            _ => self.unify_terms(left, right, steps),
        }
    }

    /// Puts a reference or comprehension into a slot of its own, so that a pattern can hold it.
    fn settle(&mut self, operand: &Operand, steps: &mut Vec<Step>) -> Operand {
        match operand {
            Operand::Ref(reference) => {
                let slot = Operand::Var(self.temporary());
                self.unify_reference(reference, &slot, steps);
                slot
            }
            Operand::Collect(collect) => {
                let slot = Operand::Var(self.temporary());
                self.collect(collect, &slot, steps);
                slot
            }
            other => other.clone(),
        }
    }

    fn unify_reference(&mut self, reference: &Reference, other: &Operand, steps: &mut Vec<Step>) {
        let operand = Operand::Ref(Box::new(reference.clone()));
        if self.is_closed(&operand) {
            let expr = self.expr(&operand);
            let target = self.pattern(other);
            steps.push(matched(expr, target));
            return;
        }
        if let Root::Var(slot) = reference.root
            && !self.bound.contains(slot)
        {
            steps.push(Step::Test(UNPLANNED));
            return;
        }
        let (base, path) = self.base(reference);
        let path = self.hops(path);
        let target = self.pattern(other);
        steps.push(each(base, path, target));
    }

    /// Matches two sides without references: computes the closed one, or descends into both.
    fn unify_terms(&mut self, left: &Operand, right: &Operand, steps: &mut Vec<Step>) {
        if self.is_closed(left) {
            let expr = self.expr(left);
            let target = self.pattern(right);
            steps.push(matched(expr, target));
        } else if self.is_closed(right) {
            let expr = self.expr(right);
            let target = self.pattern(left);
            steps.push(matched(expr, target));
        } else {
            self.unify_parts(pairs(left, right), steps);
        }
    }

    /// Pairs of parts, those with a closed side first.
    fn unify_parts(&mut self, pairs: Option<Vec<(Operand, Operand)>>, steps: &mut Vec<Step>) {
        let Some(mut open) = pairs else {
            // Arrays or objects of different lengths, or with different keys, are never equal.
            steps.push(Step::Test(Expr::Undefined));
            return;
        };
        while !open.is_empty() {
            let ready = open.iter().position(|(left, right)| self.is_closed(left) || self.is_closed(right));
            let compound = || open.iter().position(|(left, right)| parts(left, right));
            let Some(next) = ready.or_else(compound) else {
                steps.push(Step::Test(UNPLANNED));
                return;
            };
            let (left, right) = open.remove(next);
            self.unify(&left, &right, steps);
        }
    }
}

const fn parts(left: &Operand, right: &Operand) -> bool {
    matches!((left, right), (Operand::Array(_), Operand::Array(_)) | (Operand::Object(_), Operand::Object(_)))
}

fn pairs(left: &Operand, right: &Operand) -> Option<Vec<(Operand, Operand)>> {
    match (left, right) {
        (Operand::Array(xs), Operand::Array(ys)) if xs.len() == ys.len() => {
            Some(xs.iter().cloned().zip(ys.iter().cloned()).collect())
        }
        (Operand::Object(xs), Operand::Object(ys)) if xs.len() == ys.len() => {
            let find =
                |key: &Operand| ys.iter().find(|(other, _)| same_key(key, other)).map(|(_, v)| v.clone());
            xs.iter().map(|(key, value)| Some((value.clone(), find(key)?))).collect()
        }
        _ => None,
    }
}

/// Returns a step that gives `expr` to a pattern.
pub(super) fn matched(expr: Expr, target: Pattern) -> Step {
    match target {
        Pattern::Bind(slot) => Step::Let(slot, expr),
        Pattern::Truthy => Step::Test(expr),
        target => Step::Match(expr, target),
    }
}

/// Returns a step that tries every value of an open reference. The known keys in front belong to its base: they are followed
/// once, and without holding on to what is passed.
pub(super) fn each(base: Expr, path: Vec<Hop>, target: Pattern) -> Step {
    if matches!(base, Expr::Package(_)) {
        return Step::Each(Box::new(Each { base, stored: false, path, target }));
    }
    let mut keys = Vec::new();
    let mut rest = Vec::with_capacity(path.len());
    for hop in path {
        match hop {
            Hop::Key(key) if rest.is_empty() => keys.push(key),
            hop => rest.push(hop),
        }
    }
    let stored = matches!(base, Expr::Data);
    let base = if keys.is_empty() { base } else { Expr::Get(Box::new(Get { base, path: keys })) };
    Step::Each(Box::new(Each { base, stored, path: rest, target }))
}
