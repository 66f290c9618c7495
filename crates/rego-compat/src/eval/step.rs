//! Steps of a body, one after the other; where a step can hold in several ways, the rest runs for each.
//!
//! Worked example, with `{"items": [{"ok": true, "old": true}, {"ok": true}]}` as input: in `x := input.items[_]; x.ok; not x.old`,
//! `Each` runs what is behind it for item 0, which ends at `Not`, and for item 1, for which `next` is called.

use crate::value::Value;

use crate::builtin;
use crate::error::EvalError;
use crate::lookup::{self, Lookup};
use crate::plan::{Each, Every, Expr, Hop, Pattern, Search, Step, missing};

use super::children::children;
use super::document::Inner;
use super::solutions::Solutions;
use super::{EvalContext, Flow, Frame, Next};

impl EvalContext<'_> {
    /// Runs steps; `next` is called for each way they all hold.
    pub(super) fn run(&self, steps: &[Step], frame: &mut Frame, next: Next<'_>) -> Result<Flow, EvalError> {
        self.meter.check_stack()?;
        // Steps that hold in one way are a loop, and only those that hold in several recurse: the stack grows with the loops of
        // a body, not with its length.
        let mut rest = steps;
        while let Some((step, behind)) = rest.split_first() {
            self.meter.spend(1)?;
            let holds = match step {
                Step::Test(expr) => self.holds(expr, frame)?,
                Step::Let(slot, expr) => self.assign(*slot, expr, frame)?,
                Step::Match(expr, pattern) => self.take_apart(expr, pattern, frame)?,
                Step::Collect(collect) => self.collected(collect, frame)?,
                Step::Not(block, search) => !self.found(block, *search, frame)?,
                Step::Every(every) => self.every(every, frame)?,
                Step::And(blocks) => !self.one_is(blocks, false, frame)?,
                Step::Or(blocks) => self.one_is(blocks, true, frame)?,
                Step::Mark(mark) => {
                    self.pass(*mark)?;
                    true
                }
                Step::Each(each) => return self.each(each, behind, frame, next),
                Step::Walk(subject, target) => {
                    return self.walk(subject, target, behind, frame, next);
                }
                // Behind `with` the documents are the old ones: `next` of the block runs in the context around it.
                Step::With(overrides, block) => {
                    let context = self.modified(overrides, frame)?;
                    return context.run(block, frame, &mut |frame| self.run(behind, frame, next));
                }
            };
            // The search goes on: the loop in front of this step takes its next item.
            if !holds {
                return Ok(Flow::Continue);
            }
            rest = behind;
        }
        next(frame)
    }

    fn holds(&self, expr: &Expr, frame: &Frame) -> Result<bool, EvalError> {
        if let Some(found) = self.place(expr, frame) {
            return Ok(found.is_some_and(|value| !matches!(value, Value::Bool(false))));
        }
        Ok(self.value(expr, frame)?.is_some_and(|value| !matches!(*value, Value::Bool(false))))
    }

    fn assign(&self, slot: usize, expr: &Expr, frame: &mut Frame) -> Result<bool, EvalError> {
        let value = match self.place(expr, frame) {
            Some(found) => found.cloned(),
            None => self.value(expr, frame)?.map(std::borrow::Cow::into_owned),
        };
        let Some(value) = value else { return Ok(false) };
        bind(slot, value, frame).map(|()| true)
    }

    fn take_apart(&self, expr: &Expr, pattern: &Pattern, frame: &mut Frame) -> Result<bool, EvalError> {
        // Compared where both are, without a copy.
        if let Pattern::Equal(other) = pattern {
            let Some(value) = self.value(expr, frame)? else {
                return Ok(false);
            };
            let Some(other) = self.value(other, frame)? else {
                return Ok(false);
            };
            builtin::pay(&value, &other, self.meter)?;
            return Ok(*value == *other);
        }
        let Some(value) = self.value(expr, frame)?.map(std::borrow::Cow::into_owned) else {
            return Ok(false);
        };
        self.matches(pattern, &value, frame)
    }

    /// Returns true if a value fits a pattern; the pattern's variables then have their values.
    pub(super) fn matches(
        &self,
        pattern: &Pattern,
        value: &Value,
        frame: &mut Frame,
    ) -> Result<bool, EvalError> {
        match pattern {
            Pattern::Any => Ok(true),
            Pattern::Truthy => Ok(!matches!(value, Value::Bool(false))),
            Pattern::Bind(slot) => bind(*slot, value.clone(), frame).map(|()| true),
            Pattern::Equal(expr) => match self.place(expr, frame) {
                Some(found) => found.map_or(Ok(false), |other| self.equals(value, other)),
                None => self.value(expr, frame)?.map_or(Ok(false), |other| self.equals(value, &other)),
            },
            Pattern::Array(patterns) => {
                let Value::Array(items) = value else {
                    return Ok(false);
                };
                if items.len() != patterns.len() {
                    return Ok(false);
                }
                for (pattern, item) in patterns.iter().zip(items.iter()) {
                    if !self.matches(pattern, item, frame)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Pattern::Object(patterns) => self.matches_object(patterns, value, frame),
        }
    }

    fn equals(&self, value: &Value, other: &Value) -> Result<bool, EvalError> {
        builtin::pay(value, other, self.meter)?;
        Ok(value == other)
    }

    fn matches_object(
        &self,
        patterns: &[(Expr, Pattern)],
        value: &Value,
        frame: &mut Frame,
    ) -> Result<bool, EvalError> {
        let Value::Object(pairs) = value else {
            return Ok(false);
        };
        if pairs.len() != patterns.len() {
            return Ok(false);
        }
        for (key, pattern) in patterns {
            let found = self.value(key, frame)?.and_then(|key| pairs.get(&key));
            let Some(item) = found else { return Ok(false) };
            if !self.matches(pattern, item, frame)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the steps hold in any way at all.
    pub(super) fn any(&self, steps: &[Step], frame: &mut Frame) -> Result<bool, EvalError> {
        self.found(steps, Search::First, frame)
    }

    /// Returns true if one of the blocks holds, or does not hold, as `holds` says; those behind it are not run.
    fn one_is(&self, blocks: &[Vec<Step>], holds: bool, frame: &mut Frame) -> Result<bool, EvalError> {
        for block in blocks {
            if self.any(block, frame)? == holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn found(&self, steps: &[Step], search: Search, frame: &mut Frame) -> Result<bool, EvalError> {
        let mut found = false;
        self.run(steps, frame, &mut |_| {
            found = true;
            Ok(if search == Search::First { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(found)
    }

    fn every(&self, every: &Every, frame: &mut Frame) -> Result<bool, EvalError> {
        let Some(domain) = self.value(&every.domain, frame)?.map(std::borrow::Cow::into_owned) else {
            return Ok(false);
        };
        if !matches!(domain, Value::Array(_) | Value::Set(_) | Value::Object(_)) {
            return Ok(false);
        }
        // An empty domain holds. A body that waits for the host does not end the loop: the others' questions go with it.
        let mut all = true;
        let mut solutions = Solutions::default();
        children(&domain, &mut |key, value| {
            self.meter.spend(1)?;
            bind(every.key, key.into_owned(), frame)?;
            bind(every.value, value.clone(), frame)?;
            solutions.tried(self.any(&every.body, frame).map(|holds| {
                all = holds;
                if holds { Flow::Continue } else { Flow::Stop }
            }))
        })?;
        solutions.end(all)
    }

    fn each(
        &self,
        each: &Each,
        behind: &[Step],
        frame: &mut Frame,
        next: Next<'_>,
    ) -> Result<Flow, EvalError> {
        let mut rest = |frame: &mut Frame| self.run(behind, frame, next);
        if let Expr::Package(node) = each.base {
            return self.hop_package(node, &each.path, &each.target, frame, &mut rest);
        }
        let Some(base) = self.value(&each.base, frame)?.map(std::borrow::Cow::into_owned) else {
            return Ok(Flow::Continue);
        };
        let open = OpenPath { path: &each.path, target: &each.target, lookup: self.lookup_in(each.stored) };
        self.hop(&base, open, frame, &mut rest)
    }

    /// Goes down through packages one key at a time: rules on other ways are not evaluated.
    fn hop_package(
        &self,
        node: usize,
        path: &[Hop],
        target: &Pattern,
        frame: &mut Frame,
        next: Next<'_>,
    ) -> Result<Flow, EvalError> {
        self.meter.check_stack()?;
        let Some((first, rest)) = path.split_first() else {
            let Some(value) = self.package(node)? else { return Ok(Flow::Continue) };
            return self.hop(&value, OpenPath { path, target, lookup: lookup::get }, frame, next);
        };
        let keys = match first {
            Hop::Key(key) => self.value(key, frame)?.map(std::borrow::Cow::into_owned).into_iter().collect(),
            Hop::Any(_) => self.package_keys(node)?,
        };
        let mut solutions = Solutions::default();
        for key in keys {
            self.meter.spend(1)?;
            if let Hop::Any(pattern) = first
                && !self.matches(pattern, &key, frame)?
            {
                continue;
            }
            let flow = match self.package_child(node, &key) {
                Ok(None) => Ok(Flow::Continue),
                Ok(Some(Inner::Package(child))) => self.hop_package(child, rest, target, frame, next),
                Ok(Some(Inner::Value(value, lookup))) => {
                    self.hop(&value, OpenPath { path: rest, target, lookup }, frame, next)
                }
                Err(error) => Err(error),
            };
            if solutions.tried(flow)? == Flow::Stop {
                return solutions.end(Flow::Stop);
            }
        }
        solutions.end(Flow::Continue)
    }

    fn hop(
        &self,
        value: &Value,
        open: OpenPath<'_>,
        frame: &mut Frame,
        next: Next<'_>,
    ) -> Result<Flow, EvalError> {
        let Some((first, rest)) = open.path.split_first() else {
            return if self.matches(open.target, value, frame)? { next(frame) } else { Ok(Flow::Continue) };
        };
        let rest = OpenPath { path: rest, ..open };
        self.meter.check_stack()?;
        match first {
            Hop::Key(key) => {
                let Some(key) = self.value(key, frame)? else {
                    return Ok(Flow::Continue);
                };
                self.pay_element(&key)?;
                let found = (open.lookup)(value, &key);
                // The key may borrow from the frame, which what follows writes to.
                drop(key);
                match found {
                    Some(inner) => self.hop(inner, rest, frame, next),
                    None => Ok(Flow::Continue),
                }
            }
            // `list[_]`, the most frequent loop: no key is made for an item.
            Hop::Any(Pattern::Any) if matches!(value, Value::Array(_)) => {
                let mut solutions = Solutions::default();
                for inner in value.as_array().into_iter().flat_map(|items| items.iter()) {
                    self.meter.spend(1)?;
                    if solutions.tried(self.hop(inner, rest, frame, next))? == Flow::Stop {
                        return solutions.end(Flow::Stop);
                    }
                }
                solutions.end(Flow::Continue)
            }
            Hop::Any(pattern) => {
                let mut solutions = Solutions::default();
                let flow = children(value, &mut |key, inner| {
                    self.meter.spend(1)?;
                    if self.matches(pattern, &key, frame)? {
                        solutions.tried(self.hop(inner, rest, frame, next))
                    } else {
                        Ok(Flow::Continue)
                    }
                })?;
                solutions.end(flow)
            }
        }
    }

    fn walk(
        &self,
        subject: &Expr,
        target: &Pattern,
        behind: &[Step],
        frame: &mut Frame,
        next: Next<'_>,
    ) -> Result<Flow, EvalError> {
        let Some(subject) = self.value(subject, frame)?.map(std::borrow::Cow::into_owned) else {
            return Ok(Flow::Continue);
        };
        let mut solutions = Solutions::default();
        let flow = self.walk_from(&subject, &mut Vec::new(), &mut |path, value| {
            let pair = Value::from(vec![Value::from(path.to_vec()), value.clone()]);
            // Each path is a new array: as a whole they may take the square of what the document does.
            self.meter.charge_value(&pair)?;
            self.meter.charge(path.len().saturating_mul(24))?;
            if self.matches(target, &pair, frame)? {
                solutions.tried(self.run(behind, frame, next))
            } else {
                Ok(Flow::Continue)
            }
        })?;
        solutions.end(flow)
    }

    fn walk_from(
        &self,
        value: &Value,
        path: &mut Vec<Value>,
        visit: VisitPath<'_>,
    ) -> Result<Flow, EvalError> {
        self.meter.spend(1)?;
        self.meter.check_stack()?;
        if visit(path, value)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        children(value, &mut |key, inner| {
            path.push(key.into_owned());
            let flow = self.walk_from(inner, path, visit);
            path.pop();
            flow
        })
    }
}

/// The rest of an open reference.
#[derive(Clone, Copy)]
struct OpenPath<'e> {
    path: &'e [Hop],
    target: &'e Pattern,
    lookup: Lookup,
}

#[inline]
pub(super) fn bind(slot: usize, value: Value, frame: &mut Frame) -> Result<(), EvalError> {
    match frame.get_mut(slot) {
        Some(place) => {
            *place = value;
            Ok(())
        }
        None => Err(missing("variable", slot)),
    }
}

/// A callback for each path and value that `walk` finds.
type VisitPath<'t> = &'t mut dyn FnMut(&[Value], &Value) -> Result<Flow, EvalError>;
