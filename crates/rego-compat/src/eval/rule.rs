//! Rules and functions: their definitions put together.

use crate::value::{Set, Value};

use crate::error::EvalError;
use crate::ir::{Kind, RuleNode};
use crate::lookup;
use crate::plan::{Branch, Expr, Group, Rule, missing};

use super::candidate::{Candidates, Tried, is_excluded};
use super::conflict::{KEY_CONFLICT, conflict, conflict_of};
use super::solutions::Solutions;
use super::{EvalContext, Flow, Frame};

impl EvalContext<'_> {
    /// Returns the value of a rule, computed once.
    pub(super) fn rule_value(&self, id: usize) -> Result<Option<&Value>, EvalError> {
        let (Some(cell), Some(group)) = (self.rules.get(id), self.plan.groups.get(id)) else {
            return Err(missing("rule", id));
        };
        if let Some(known) = cell.get() {
            return Ok(known.as_ref());
        }
        let value =
            if self.is_replaced(&group.path) { self.data_at(&group.path) } else { self.compute(group)? };
        if let Some(value) = &value {
            self.meter.charge_built(value)?;
        }
        // Only a recursive rule could have filled the cell meanwhile, and those are refused.
        Ok(cell.get_or_init(|| value).as_ref())
    }

    fn compute(&self, group: &Group) -> Result<Option<Value>, EvalError> {
        match group.kind {
            Kind::Complete => self.single(group, &[]),
            Kind::Function { .. } => Ok(None),
            Kind::Set => self.set_rule(group).map(Some),
            Kind::Object => self.object_rule(group).map(Some),
        }
    }

    /// Returns the value of a function for arguments.
    pub(super) fn function_value(&self, id: usize, args: Vec<Value>) -> Result<Option<Value>, EvalError> {
        let Some(group) = self.plan.groups.get(id) else { return Err(missing("rule", id)) };
        self.meter.called()?;
        if let Some(known) = self.memo.find(id, &args) {
            return Ok(known);
        }
        let result = self.single(group, &args)?;
        self.memo.keep(id, args, &result);
        Ok(result)
    }

    /// Returns the one value of a complete rule or function call.
    fn single(&self, group: &Group, args: &[Value]) -> Result<Option<Value>, EvalError> {
        let mut result: Option<Value> = None;
        let mut solutions = Solutions::default();
        let candidates = Candidates::of(self, group, args)?;
        let mut tried = candidates.tried(group);
        for rule in &group.rules {
            tried.next(rule);
            if is_excluded(rule, args) {
                continue;
            }
            let held = self.definition(group, rule, args, &tried, &mut result).map(|()| Flow::Continue);
            let held = match held {
                Err(error) if self.at_odds.take() => Err(self.listed(group, args, &candidates, error)),
                held => held,
            };
            if solutions.tried(held)? == Flow::Stop || (tried.once && result.is_some()) {
                break;
            }
        }
        solutions.end(())?;
        if result.is_none()
            && let Some(default) = &group.default
        {
            self.definition(group, default, args, &Tried::default(), &mut result)?;
        }
        Ok(result)
    }

    /// Adds the value of one definition; a different one is a conflict.
    fn definition(
        &self,
        group: &Group,
        rule: &Rule,
        args: &[Value],
        tried: &Tried<'_>,
        result: &mut Option<Value>,
    ) -> Result<(), EvalError> {
        let mut frame = self.frame(rule.slots);
        if self.accept(rule, args, &mut frame)? {
            for (place, branch) in rule.branches.iter().enumerate() {
                if tried.passes(place) && self.branch_value(group, branch, tried.once, &mut frame, result)? {
                    break;
                }
            }
        }
        self.recycle(frame);
        Ok(())
    }

    pub(super) fn accept(&self, rule: &Rule, args: &[Value], frame: &mut Frame) -> Result<bool, EvalError> {
        for (pattern, arg) in rule.args.iter().zip(args) {
            if !self.matches(pattern, arg, frame)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs a body for its value; returns true if it held at all.
    fn branch_value(
        &self,
        group: &Group,
        branch: &Branch,
        once: bool,
        frame: &mut Frame,
        result: &mut Option<Value>,
    ) -> Result<bool, EvalError> {
        let stop = if group.exact { once } else { matches!(branch.value, Expr::Const(_)) };
        let mut held = false;
        self.run(&branch.body, frame, &mut |frame| {
            let Some(value) = self.value(&branch.value, frame)? else {
                return Ok(Flow::Continue);
            };
            held = true;
            match result {
                Some(known) => {
                    crate::builtin::pay(known, &value, self.meter)?;
                    if *known != *value {
                        self.at_odds.set(true);
                        return Err(conflict(branch.spot.as_deref(), conflict_of(group)));
                    }
                }
                None => *result = Some(value.into_owned()),
            }
            Ok(if stop { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(held)
    }

    fn set_rule(&self, group: &Group) -> Result<Value, EvalError> {
        let mut set = Set::new();
        self.each_result(group, &mut |branch, frame| {
            if let Some(value) = self.value(&branch.value, frame)? {
                self.meter.charge(48)?;
                self.pay_element(&value)?;
                set.insert(value.into_owned());
            }
            Ok(())
        })?;
        Ok(set.into_value())
    }

    fn object_rule(&self, group: &Group) -> Result<Value, EvalError> {
        let mut object = Value::new_object();
        // Where heads differ in length, a value under one must not grow keys through another.
        let mut lengths = group.rules.iter().flat_map(|rule| &rule.branches).map(|branch| branch.keys.len());
        let first = lengths.next();
        let mut leaves: Option<Vec<Vec<Value>>> = lengths.any(|length| Some(length) != first).then(Vec::new);
        self.each_result(group, &mut |branch, frame| {
            let Some(keys) = self.keys(branch, frame)? else {
                return Ok(());
            };
            let Some(value) = self.value(&branch.value, frame)? else {
                return Ok(());
            };
            self.meter.charge(64)?;
            if let Some(leaves) = &mut leaves {
                self.meter.spend(u64::try_from(leaves.len()).unwrap_or(u64::MAX))?;
                if leaves.iter().any(|leaf| is_inside(leaf, &keys) || is_inside(&keys, leaf)) {
                    return Err(conflict(branch.spot.as_deref(), KEY_CONFLICT));
                }
                leaves.push(keys.clone());
            }
            keys.iter().try_for_each(|key| self.pay_element(key))?;
            self.pay_element(&value)?;
            if put(&mut object, &keys, value.into_owned(), branch.element) {
                Ok(())
            } else {
                Err(self.key_conflict(group, branch, &keys))
            }
        })?;
        if let Some(default) = &group.default {
            self.add_default(group, default, &mut object)?;
        }
        for RuleNode { keys, is_set } in &group.nodes {
            self.meter.charge(64)?;
            let empty = if *is_set { Value::new_set() } else { Value::new_object() };
            // A value that is there already stays.
            let _is_new = put(&mut object, keys, empty, false);
        }
        Ok(object)
    }

    /// Adds a default where nothing held: that of `default q[1] := 3` to the object, that of `default q := {}` in its place.
    fn add_default(&self, group: &Group, default: &Rule, object: &mut Value) -> Result<(), EvalError> {
        let frame = self.frame(default.slots);
        let keys = default.branches.first().map(|branch| self.keys(branch, &frame)).transpose()?;
        self.recycle(frame);
        let keys = keys.flatten().unwrap_or_default();
        let found = keys.iter().try_fold(&*object, |value, key| lookup::get(value, key));
        let is_there = found.is_some_and(|found| {
            !keys.is_empty() || found.as_object().is_ok_and(|object| !object.is_empty())
        });
        let mut result = None;
        if !is_there {
            self.definition(group, default, &[], &Tried::default(), &mut result)?;
        }
        match result {
            Some(value) if keys.is_empty() => *object = value,
            Some(value) => {
                // A value above the key that is not an object stays.
                let _is_put = put(object, &keys, value, false);
            }
            None => {}
        }
        Ok(())
    }

    fn keys(&self, branch: &Branch, frame: &Frame) -> Result<Option<Vec<Value>>, EvalError> {
        let mut keys = Vec::with_capacity(branch.keys.len());
        for key in &branch.keys {
            match self.value(key, frame)? {
                Some(key) => keys.push(key.into_owned()),
                None => return Ok(None),
            }
        }
        Ok(Some(keys))
    }

    /// Calls `visit` for each solution of each definition; an `else` branch is tried only where those before it did not hold.
    pub(super) fn each_result(
        &self,
        group: &Group,
        visit: &mut dyn FnMut(&Branch, &Frame) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let mut solutions = Solutions::default();
        let candidates = Candidates::of(self, group, &[])?;
        let mut tried = candidates.tried(group);
        for rule in &group.rules {
            tried.next(rule);
            if solutions.tried(self.each_branch(rule, &tried, visit).map(|()| Flow::Continue))? == Flow::Stop
            {
                break;
            }
        }
        solutions.end(())
    }

    fn each_branch(
        &self,
        rule: &Rule,
        tried: &Tried<'_>,
        visit: &mut dyn FnMut(&Branch, &Frame) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let mut frame = self.frame(rule.slots);
        for (place, branch) in rule.branches.iter().enumerate() {
            if !tried.passes(place) {
                continue;
            }
            let mut held = false;
            self.run(&branch.body, &mut frame, &mut |frame| {
                held = true;
                visit(branch, frame)?;
                Ok(Flow::Continue)
            })?;
            if held {
                break;
            }
        }
        self.recycle(frame);
        Ok(())
    }
}

/// Returns true if a path leads into what another path leads to.
fn is_inside(path: &[Value], other: &[Value]) -> bool {
    path.len() > other.len() && path.starts_with(other)
}

/// Puts a value under nested keys; returns false where something else is there already.
fn put(object: &mut Value, keys: &[Value], value: Value, element: bool) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return put_leaf(object, value, element);
    };
    if matches!(object, Value::Undefined) {
        *object = Value::new_object();
    }
    let Ok(pairs) = object.as_object_mut() else {
        return false;
    };
    let place = pairs.get_or_insert_with(key.clone(), || Value::Undefined);
    place.is_some_and(|place| put(place, rest, value, element))
}

fn put_leaf(place: &mut Value, value: Value, element: bool) -> bool {
    if element {
        if matches!(place, Value::Undefined) {
            *place = Value::new_set();
        }
        return place.as_set_mut().map(|set| set.insert(value)).is_ok();
    }
    if matches!(place, Value::Undefined) {
        *place = value;
        return true;
    }
    *place == value
}
