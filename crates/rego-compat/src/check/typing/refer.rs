//! References: what they can select, and what their variables can be.

use crate::value::Value;

use crate::builtin::is_scalar;
use crate::diagnostic::Pos;
use crate::ir::{Action, Kind, Node, Operand, Reference, Root, Statement};

use super::super::types::{ANY, Type, is_nil, keys, select, unifies, values};
use super::Checker;

impl Checker<'_> {
    /// Returns the type of what a reference refers to.
    pub(super) fn reference_type(&mut self, reference: &Reference) -> Option<Type> {
        let (base, rest) = self.base_type(reference)?;
        rest.iter().try_fold(base, |of, part| match part {
            Operand::Const(key) if is_scalar(key) => select(Some(&of), key),
            _ => values(Some(&of)),
        })
    }

    /// Returns the type a reference starts from, and what is left of its path.
    fn base_type<'r>(&mut self, reference: &'r Reference) -> Option<(Type, &'r [Operand])> {
        match reference.root {
            Root::Input => Some((ANY, &reference.path)),
            Root::Var(slot) => Some((self.vars.get(slot)?.clone(), &reference.path)),
            Root::Data if self.relaxed => Some((ANY, &reference.path)),
            Root::Data => {
                let mut node = &self.book.tree;
                let mut rest = reference.path.as_slice();
                loop {
                    if node.group.is_some() {
                        return Some((self.extent(node), rest));
                    }
                    let Some((first, behind)) = rest.split_first() else {
                        return Some((self.extent(node), rest));
                    };
                    let name = match first {
                        Operand::Const(Value::String(name)) => name,
                        Operand::Const(_) => return Some((ANY, &[])),
                        _ => return Some((self.extent(node), rest)),
                    };
                    match node.children.get(&**name) {
                        Some(child) => (node, rest) = (child, behind),
                        None => return Some((ANY, &[])),
                    }
                }
            }
        }
    }

    /// Returns the type of everything at and below a node.
    fn extent(&mut self, node: &Node) -> Type {
        if let Some(group) = node.group {
            return self.groups.get(group).cloned().flatten().unwrap_or(ANY);
        }
        let place = std::ptr::from_ref(node).addr();
        if let Some(known) = self.extents.get(&place) {
            return known.clone();
        }
        let made = self.children_type(node);
        self.extents.insert(place, made.clone());
        made
    }

    fn children_type(&mut self, node: &Node) -> Type {
        let known = node
            .children
            .iter()
            .map(|(name, child)| (Value::from(&**name), Some(self.extent(child))))
            .collect();
        // Data may hold more than the rules do.
        Type::object(known, Some(Box::new((Some(Type::String), Some(ANY)))))
    }

    /// Looks at the comprehensions of a statement, wherever they are.
    pub(super) fn closures(&mut self, action: &Action) {
        match action {
            Action::Term(operand) => self.closures_in(operand),
            Action::Unify { left, right, .. } => {
                self.closures_in(left);
                self.closures_in(right);
            }
            Action::Call { args, output, .. } => {
                args.iter().chain(output).for_each(|arg| self.closures_in(arg))
            }
            Action::Every { domain, body, .. } => {
                self.closures_in(domain);
                self.inner_closures(body);
            }
            Action::Not { body, .. } => self.inner_closures(body),
            Action::And(branches) | Action::Or(branches) => {
                branches.iter().for_each(|branch| self.inner_closures(&branch.body));
            }
        }
    }

    fn inner_closures(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.closures(&statement.action));
    }

    fn closures_in(&mut self, operand: &Operand) {
        if let Operand::Collect(collect) = operand {
            self.collect_type(collect);
        }
    }

    /// Checks every reference of a statement outside comprehensions.
    pub(super) fn references(&mut self, action: &Action) {
        match action {
            Action::Term(operand) => self.references_in(operand),
            Action::Unify { left, right, .. } => {
                self.references_in(left);
                self.references_in(right);
            }
            Action::Call { args, output, .. } => {
                args.iter().chain(output).for_each(|arg| self.references_in(arg))
            }
            Action::Every { domain, body, .. } => {
                self.references_in(domain);
                self.inner_references(body);
            }
            Action::Not { body, .. } => self.inner_references(body),
            Action::And(branches) | Action::Or(branches) => {
                branches.iter().for_each(|branch| self.inner_references(&branch.body));
            }
        }
    }

    fn inner_references(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.references(&statement.action));
    }

    fn references_in(&mut self, operand: &Operand) {
        match operand {
            Operand::Const(_) | Operand::Var(_) | Operand::Collect(_) => {}
            Operand::Array(items) | Operand::Set(items) => {
                items.iter().for_each(|item| self.references_in(item))
            }
            Operand::Object(pairs) => {
                for (key, value) in pairs {
                    self.references_in(key);
                    self.references_in(value);
                }
            }
            Operand::Ref(reference) => self.check_reference(reference),
        }
    }

    fn check_reference(&mut self, reference: &Reference) {
        if let Root::Var(slot) = reference.root {
            self.vars.default_to_any(slot);
        }
        if self.names_function(reference) {
            self.errors.push((reference.at, "a function is not a value: call it".to_owned()));
            return;
        }
        let Some((mut of, rest)) = self.base_type(reference) else {
            return;
        };
        for part in rest {
            match self.check_part(&of, part, reference.at) {
                Some(next) => of = next,
                None => return,
            }
        }
        self.type_open_path(reference);
    }

    fn names_function(&self, reference: &Reference) -> bool {
        let names = reference.path.iter().map_while(|part| match part {
            Operand::Const(Value::String(name)) => Some(&**name),
            _ => None,
        });
        let found = crate::desugar::rule_on(&self.book.tree, names)
            .and_then(|(group, _)| self.book.groups.get(group));
        reference.root == Root::Data && found.is_some_and(|group| matches!(group.kind, Kind::Function { .. }))
    }

    /// Returns the type one step further, or `None` where the step is an error or unknown.
    fn check_part(&mut self, of: &Type, part: &Operand, at: Pos) -> Option<Type> {
        let wanted = keys(Some(of));
        if of.is_empty_collection() || wanted.is_none() {
            self.errors.push((at, "undefined ref: nothing can be selected here".to_owned()));
            return None;
        }
        let fits = match part {
            Operand::Const(key) if is_scalar(key) => {
                let child = select(Some(of), key);
                if child.is_none() {
                    self.errors.push((at, format!("undefined ref: there is no {key} here")));
                }
                return child;
            }
            Operand::Var(slot) => match self.vars.get(*slot) {
                Some(known) => unifies(Some(known), wanted.as_ref()),
                None => {
                    self.vars.insert(*slot, wanted.unwrap_or(ANY));
                    true
                }
            },
            Operand::Ref(_) => {
                let known = self.type_of(part);
                is_nil(known.as_ref()) || unifies(known.as_ref(), wanted.as_ref())
            }
            part => self.unify_one(part, wanted.as_ref(), false),
        };
        if !fits {
            self.errors.push((at, "undefined ref: no key of this type here".to_owned()));
            return None;
        }
        values(Some(of))
    }

    /// Variables in a path of plain data may be anything.
    fn type_open_path(&mut self, reference: &Reference) {
        for part in &reference.path {
            if let Operand::Var(slot) = part {
                self.vars.default_to_any(*slot);
            }
        }
    }
}
