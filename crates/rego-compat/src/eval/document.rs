//! Documents that rules and data make together.

use std::sync::Arc;

use crate::value::{Object, Value};

use crate::ast::Name;
use crate::error::EvalError;
use crate::ir::Kind;
use crate::lookup::{self, Lookup};
use crate::plan::{Expr, missing};

use super::EvalContext;

impl EvalContext<'_> {
    /// Returns everything under a path of `data` that has rules below it; nothing where `with` took it away.
    pub(super) fn package(&self, id: usize) -> Result<Option<Value>, EvalError> {
        let known =
            self.packages.borrow().iter().find(|(node, _)| *node == id).map(|(_, value)| value.clone());
        if let Some(value) = known {
            return Ok(value);
        }
        let value = self.assemble(id)?;
        self.packages.borrow_mut().push((id, value.clone()));
        Ok(value)
    }

    fn assemble(&self, id: usize) -> Result<Option<Value>, EvalError> {
        self.meter.check_stack()?;
        let Some(node) = self.plan.nodes.get(id) else { return Err(missing("package", id)) };
        let base = self.data_at(&node.path);
        if self.replaced.iter().any(|path| node.path.starts_with(path)) {
            return Ok(base);
        }
        let mut document = match base {
            Some(Value::Object(base)) => Arc::unwrap_or_clone(base),
            // Where plain data and rules meet, data wins.
            Some(other) => return Ok(Some(other)),
            None => Object::new(),
        };
        for (name, child) in &node.children {
            let Some(value) = self.child(*child)? else {
                continue;
            };
            self.meter.charge(64)?;
            let merged = match document.get(name) {
                Some(base) => merged(base, &value),
                None => value,
            };
            document.insert(name.clone(), merged);
        }
        Ok(Some(document.into_value()))
    }

    /// Evaluates what is under one key of a package, without looking at the others.
    pub(super) fn package_child(&self, id: usize, key: &Value) -> Result<Option<Inner>, EvalError> {
        let Some(node) = self.plan.nodes.get(id) else { return Err(missing("package", id)) };
        let replaced = self.replaced.iter().any(|path| node.path.starts_with(path));
        let child = node.children.iter().find(|(name, _)| name == key && !replaced).map(|(_, child)| *child);
        match child {
            Some(child) => match self.plan.nodes.get(child).and_then(|node| node.group) {
                None => Ok(Some(Inner::Package(child))),
                Some(_) => Ok(self.child(child)?.map(|value| Inner::Value(value, lookup::get))),
            },
            None => {
                let lookup = self.lookup_below(&Expr::Data);
                let value = self.data_at(&node.path).and_then(|base| lookup(&base, key).cloned());
                Ok(value.map(|value| Inner::Value(value, lookup)))
            }
        }
    }

    /// Returns the keys of a package: its rules' names and those of the data beside them.
    pub(super) fn package_keys(&self, id: usize) -> Result<Vec<Value>, EvalError> {
        let Some(node) = self.plan.nodes.get(id) else { return Err(missing("package", id)) };
        let mut keys: Vec<Value> = node.children.iter().map(|(name, _)| name.clone()).collect();
        if let Some(Value::Object(pairs)) = self.data_at(&node.path) {
            keys.extend(pairs.keys().cloned());
        }
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    fn child(&self, id: usize) -> Result<Option<Value>, EvalError> {
        let Some(node) = self.plan.nodes.get(id) else { return Err(missing("package", id)) };
        let Some(group) = node.group else {
            return self.package(id);
        };
        let Some(found) = self.plan.groups.get(group) else { return Err(missing("rule", group)) };
        if matches!(found.kind, Kind::Function { .. }) {
            return Ok(None);
        }
        Ok(self.rule_value(group)?.cloned())
    }

    /// Returns plain data under a path; none where it is undefined, as the whole of `data` may be.
    pub(super) fn data_at(&self, path: &[Name]) -> Option<Value> {
        let found = path.iter().try_fold(&self.data, |value, name| lookup::get(value, &Value::from(&**name)));
        found.filter(|value| !matches!(value, Value::Undefined)).cloned()
    }

    /// Returns true if `with` put something at, above or below a path.
    pub(super) fn is_replaced(&self, path: &[Name]) -> bool {
        self.replaced.iter().any(|replaced| path.starts_with(replaced) || replaced.starts_with(path))
    }
}

/// The entries below a package.
pub(super) enum Inner {
    Package(usize),
    /// A document, and how keys are looked up in it.
    Value(Value, Lookup),
}

/// Merges two documents; where both have a value for a key, the first wins.
pub(crate) fn merged(base: &Value, other: &Value) -> Value {
    let (Value::Object(mine), Value::Object(theirs)) = (base, other) else {
        return base.clone();
    };
    let mut result = (**mine).clone();
    for (key, value) in theirs.iter() {
        let joined = mine.get(key).map_or_else(|| value.clone(), |base| merged(base, value));
        result.insert(key.clone(), joined);
    }
    result.into_value()
}
