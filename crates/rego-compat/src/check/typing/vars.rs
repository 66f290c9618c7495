//! The types of a body's variables, which a nested body may add to and then gives up again.

use std::collections::BTreeMap;

use crate::ir::Slot;

use super::super::types::{ANY, Type};

/// Types by variable. What happened since a mark can be undone, at the cost of what happened.
#[derive(Debug, Default)]
pub(super) struct Vars {
    types: BTreeMap<Slot, Type>,
    /// The entry before each change.
    changes: Vec<(Slot, Option<Type>)>,
}

impl Vars {
    pub(super) fn get(&self, slot: Slot) -> Option<&Type> {
        self.types.get(&slot)
    }

    pub(super) fn insert(&mut self, slot: Slot, of: Type) {
        let before = self.types.insert(slot, of);
        self.changes.push((slot, before));
    }

    /// Gives a variable the type `any`, unless it has a type.
    pub(super) fn default_to_any(&mut self, slot: Slot) {
        if !self.types.contains_key(&slot) {
            self.insert(slot, ANY);
        }
    }

    pub(super) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Takes back what was learnt since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some((slot, Some(before))) => drop(self.types.insert(slot, before)),
                Some((slot, None)) => drop(self.types.remove(&slot)),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_nested_body_learnt_is_forgotten() {
        let mut vars = Vars::default();
        vars.insert(1, Type::Number);
        let mark = vars.mark();
        vars.insert(1, Type::String);
        vars.default_to_any(1);
        vars.default_to_any(2);
        assert_eq!((vars.get(1), vars.get(2)), (Some(&Type::String), Some(&ANY)));
        vars.undo(mark);
        assert_eq!((vars.get(1), vars.get(2)), (Some(&Type::Number), None));
    }
}
