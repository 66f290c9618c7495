//! Documents that rules and data make together.

use regorus::Value;

use crate::ast::Name;
use crate::error::EvalError;
use crate::ir::Kind;
use crate::lookup;

use super::World;

impl World<'_> {
    /// Everything under a path of `data` that has rules below it.
    pub(super) fn package(&self, id: usize) -> Result<Value, EvalError> {
        let known = self
            .packages
            .borrow()
            .iter()
            .find(|(node, _)| *node == id)
            .map(|(_, value)| value.clone());
        if let Some(value) = known {
            return Ok(value);
        }
        let value = self.assemble(id)?;
        self.packages.borrow_mut().push((id, value.clone()));
        Ok(value)
    }

    fn assemble(&self, id: usize) -> Result<Value, EvalError> {
        let Some(node) = self.plan.nodes.get(id) else {
            return Ok(Value::Undefined);
        };
        let base = self.data_at(&node.path);
        if self.replaced.iter().any(|path| node.path.starts_with(path)) {
            return Ok(base.unwrap_or(Value::Undefined));
        }
        let mut document = match base {
            Some(base @ Value::Object(_)) => base,
            _ => Value::new_object(),
        };
        for (name, child) in &node.children {
            if let Some(value) = self.child(*child)?
                && let Ok(pairs) = document.as_object_mut()
            {
                self.meter.charge(64)?;
                pairs.insert(name.clone(), value);
            }
        }
        Ok(document)
    }

    fn child(&self, id: usize) -> Result<Option<Value>, EvalError> {
        let Some(node) = self.plan.nodes.get(id) else {
            return Ok(None);
        };
        let Some(group) = node.group else {
            return Ok(Some(self.package(id)?).filter(|value| !matches!(value, Value::Undefined)));
        };
        if self
            .plan
            .groups
            .get(group)
            .is_some_and(|group| matches!(group.kind, Kind::Function { .. }))
        {
            return Ok(None);
        }
        Ok(self.rule_value(group)?.cloned())
    }

    /// Plain data under a path.
    pub(super) fn data_at(&self, path: &[Name]) -> Option<Value> {
        path.iter()
            .try_fold(&self.data, |value, name| {
                lookup::get(value, &Value::from(&**name))
            })
            .cloned()
    }

    /// Whether `with` put something at, above or below a path.
    pub(super) fn is_replaced(&self, path: &[Name]) -> bool {
        self.replaced
            .iter()
            .any(|replaced| path.starts_with(replaced) || replaced.starts_with(path))
    }
}
