//! The variables that a statement mentions: itself, and in the bodies inside it.
//!
//! ```text
//! statement                               visible    in closures
//! x = [y | y := input.a[i]; y > z]        x          i, y, z
//! every k, v in xs { v > y }              xs         y: `k` and `v` are its own
//! ```
//!
//! A statement waits for all its visible variables, and for those in its closures that the body around it mentions, too.

use crate::ir::{Action, CollectKind, Operand, Root, Slot, Statement};

use super::slots::SlotSet;

/// Adds every variable of a term outside comprehensions.
pub(crate) fn all_vars(operand: &Operand, found: &mut SlotSet) {
    each_var(operand, &mut |slot| found.insert(slot));
}

fn each_var(operand: &Operand, visit: &mut dyn FnMut(Slot)) {
    match operand {
        Operand::Const(_) | Operand::Collect(_) => {}
        Operand::Var(slot) => visit(*slot),
        Operand::Array(items) | Operand::Set(items) => items.iter().for_each(|item| each_var(item, visit)),
        Operand::Object(pairs) => {
            for (key, value) in pairs {
                each_var(key, visit);
                each_var(value, visit);
            }
        }
        Operand::Ref(reference) => {
            if let Root::Var(slot) = reference.root {
                visit(slot);
            }
            reference.path.iter().for_each(|part| each_var(part, visit));
        }
    }
}

/// Adds the variables that a statement mentions, not those that only bodies inside it mention.
pub(crate) fn visible_vars(statement: &Statement, found: &mut SlotSet) {
    each_operand(statement, &mut |operand| all_vars(operand, found));
    match &statement.action {
        Action::Not { body, explicit: false } => implicit_vars(body, found),
        Action::And(branches) | Action::Or(branches) => {
            for branch in branches.iter().filter(|branch| !branch.explicit) {
                implicit_vars(&branch.body, found);
            }
        }
        _ => {}
    }
}

fn each_operand<'a>(statement: &'a Statement, visit: &mut dyn FnMut(&'a Operand)) {
    match &statement.action {
        Action::Term(operand) => visit(operand),
        Action::Unify { left, right, .. } => {
            visit(left);
            visit(right);
        }
        Action::Call { args, output, .. } => args.iter().chain(output).for_each(&mut *visit),
        Action::Every { domain, .. } => visit(domain),
        Action::Not { .. } | Action::And(..) | Action::Or(..) => {}
    }
    statement.with.iter().for_each(|with| visit(&with.value));
}

/// Adds the variables of a body without braces, which shares the scope around it, without those that only it computes and uses.
///
/// `not f(g(x)) > 1` is taken apart to `g(x, $1); f($1, $2); $2 > 1`. `x` must be safe where the `not` stands. `$1` and `$2` get
/// their values inside and are used there: to wait for them would be to wait for ever.
fn implicit_vars(body: &[Statement], found: &mut SlotSet) {
    let mut own: Vec<SlotSet> = Vec::new();
    let mut bound = SlotSet::default();
    for statement in body {
        let mut vars = SlotSet::default();
        visible_vars(statement, &mut vars);
        own.push(vars);
        if !statement.negated
            && let Action::Call { output: Some(output), .. } = &statement.action
        {
            all_vars(output, &mut bound);
        }
        if let Action::Unify { left: Operand::Var(slot), .. } = &statement.action {
            bound.insert(*slot);
        }
    }
    for vars in &own {
        for slot in vars.iter() {
            let users = own.iter().filter(|vars| vars.contains(slot)).count();
            // An output that nothing inside uses is the author's: `not x = f(g(1))` is `g(1, $1); f($1, x)`, and reads `x`.
            if body.len() == 1 || users == 1 || !bound.contains(slot) {
                found.insert(slot);
            }
        }
    }
}

/// Adds the variables that bodies inside a statement mention.
pub(super) fn closure_vars(statement: &Statement, found: &mut SlotSet) {
    each_operand(statement, &mut |operand| operand_closures(operand, found));
    match &statement.action {
        Action::Every { key, value, body, .. } => {
            let mut inner = SlotSet::default();
            body_vars(body, &mut inner);
            let mut own = SlotSet::default();
            own.insert(*key);
            own.insert(*value);
            inner.subtract(&own);
            found.union(&inner);
        }
        Action::Not { body, .. } => body_vars(body, found),
        Action::And(branches) | Action::Or(branches) => {
            branches.iter().for_each(|branch| body_vars(&branch.body, found));
        }
        _ => {}
    }
}

fn body_vars(body: &[Statement], found: &mut SlotSet) {
    for statement in body {
        visible_vars(statement, found);
        closure_vars(statement, found);
    }
}

fn operand_closures(operand: &Operand, found: &mut SlotSet) {
    match operand {
        Operand::Const(_) | Operand::Var(_) => {}
        Operand::Array(items) | Operand::Set(items) => {
            items.iter().for_each(|item| operand_closures(item, found))
        }
        Operand::Object(pairs) => {
            for (key, value) in pairs {
                operand_closures(key, found);
                operand_closures(value, found);
            }
        }
        Operand::Ref(reference) => reference.path.iter().for_each(|part| operand_closures(part, found)),
        Operand::Collect(collect) => {
            body_vars(&collect.body, found);
            match &collect.kind {
                CollectKind::Array(head) | CollectKind::Set(head) => all_vars(head, found),
                CollectKind::Object(key, value) => {
                    all_vars(key, found);
                    all_vars(value, found);
                }
            }
        }
    }
}

/// Adds the variables that have values once the statement holds.
///
/// The statements in front are in order, so every variable of a statement has a value once it holds, whether it was given it or
/// gave it. What is negated is left out: it has no value for its variables where it holds.
pub(crate) fn bound_by(statement: &Statement, bound: &mut SlotSet) {
    if !statement.negated
        && !matches!(statement.action, Action::Not { .. } | Action::And(..) | Action::Or(..))
    {
        each_operand(statement, &mut |operand| all_vars(operand, bound));
    }
}
