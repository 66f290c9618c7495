//! References and comprehensions out of calls: each into a variable in front.
//!
//! This is what makes `not f(input.x)` undefined, and not true, where `input.x` is (OPA's `rewriteDynamics`).

use crate::ir::{Action, Branch, Callee, Operand, Override, Statement};

use super::scope::Lowering;
use super::term::unify;

/// Rewrites an ordered body and the bodies inside it.
pub(super) fn hoist(body: Vec<Statement>, lowering: &mut Lowering<'_>) -> Vec<Statement> {
    let mut hoister = Hoister { lowering, done: Vec::with_capacity(body.len()), with: Vec::new() };
    for statement in body {
        hoister.statement(statement);
    }
    hoister.done
}

struct Hoister<'a, 'b> {
    lowering: &'a mut Lowering<'b>,
    done: Vec<Statement>,
    /// The modifiers of the statement at work, which its parts inherit.
    with: Vec<Override>,
}

impl Hoister<'_, '_> {
    fn statement(&mut self, mut statement: Statement) {
        self.with.clone_from(&statement.with);
        statement.action = match statement.action {
            Action::Call { callee, args, output } => self.call(callee, args, output),
            Action::Unify { left, right, assigned } => {
                let left = self.shallow(left);
                Action::Unify { left, right: self.shallow(right), assigned }
            }
            Action::Term(operand) => Action::Term(self.shallow(operand)),
            Action::Every { key, value, domain, body } => {
                let domain = self.operand(domain);
                Action::Every { key, value, domain, body: hoist(body, self.lowering) }
            }
            Action::Not { body, explicit } => Action::Not { body: hoist(body, self.lowering), explicit },
            Action::And(branches) => Action::And(self.branches(branches)),
            Action::Or(branches) => Action::Or(self.branches(branches)),
        };
        self.done.push(statement);
    }

    fn call(&mut self, callee: Callee, args: Vec<Operand>, output: Option<Operand>) -> Action {
        let compares = matches!(callee, Callee::Builtin(builtin) if builtin.name == "equal");
        if compares && output.is_none() && args.len() == 2 {
            return self.equality(args);
        }
        let args = args.into_iter().map(|arg| self.operand(arg)).collect();
        Action::Call { callee, args, output: output.map(|output| self.operand(output)) }
    }

    fn branches(&mut self, mut branches: Vec<Branch>) -> Vec<Branch> {
        for branch in &mut branches {
            branch.body = hoist(std::mem::take(&mut branch.body), self.lowering);
        }
        branches
    }

    /// Rewrites the statement `a == b` to `a = b`, which means the same once everything in it has a value.
    fn equality(&mut self, args: Vec<Operand>) -> Action {
        let mut sides = args.into_iter().map(|arg| self.shallow(arg));
        let none = || Operand::Const(crate::value::Value::Undefined);
        let left = sides.next().unwrap_or_else(none);
        let right = sides.next().unwrap_or_else(none);
        Action::Unify { left, right, assigned: false }
    }

    /// Hoists the parts of an operand; a reference or comprehension itself stays where it is.
    fn shallow(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Ref(mut reference) => {
                reference.path = reference.path.into_iter().map(|part| self.operand(part)).collect();
                Operand::Ref(reference)
            }
            Operand::Collect(mut collect) => {
                collect.body = hoist(collect.body, self.lowering);
                Operand::Collect(collect)
            }
            other => self.operand(other),
        }
    }

    fn operand(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Const(_) | Operand::Var(_) => operand,
            Operand::Array(items) => {
                Operand::Array(items.into_iter().map(|item| self.operand(item)).collect())
            }
            Operand::Set(items) => Operand::Set(items.into_iter().map(|item| self.operand(item)).collect()),
            Operand::Object(pairs) => {
                let pairs = pairs.into_iter().map(|(key, value)| (self.operand(key), self.operand(value)));
                Operand::Object(pairs.collect())
            }
            Operand::Ref(_) | Operand::Collect(_) => {
                let at = match &operand {
                    Operand::Ref(reference) => reference.at,
                    Operand::Collect(collect) => collect.at,
                    _ => crate::diagnostic::Pos::default(),
                };
                let value = self.shallow(operand);
                let slot = Operand::Var(self.lowering.temporary());
                let mut made = unify(slot.clone(), value, at);
                made.with.clone_from(&self.with);
                self.done.push(made);
                slot
            }
        }
    }
}
