//! The variables that a statement gives values to, when those it needs have theirs.
//!
//! ```text
//! statement              safe before   made safe
//! x = input.a[i]                       i, x
//! plus(i, 1, z)          i             z
//! plus(i, 1, z)                        nothing: a call needs its arguments
//! [x, y] = [1, z]        z             x, y
//! not input.a[i]                       nothing: what is negated gives no values
//! ```
//!
//! Source: OPA's `outputVarsForExpr` and what it calls (`ast/compile.go`), and its `Unify` (`ast/unify.go`).

use crate::ir::{Action, Callee, Operand, Reference, Root, Statement};

use super::slots::SlotSet;
use super::vars::all_vars;

/// Returns the variables the statement makes safe, given those that are.
pub(super) fn outputs(statement: &Statement, safe: &SlotSet) -> SlotSet {
    let mut made = SlotSet::default();
    if statement.negated {
        return made;
    }
    // The documents are replaced before anything of the statement is looked up: `input.a[i] with input as x` cannot give
    // `x` a value, and without one it gives `i` none.
    let mut inputs = SlotSet::default();
    statement.with.iter().for_each(|with| all_vars(&with.value, &mut inputs));
    if !inputs.is_subset(safe) {
        return made;
    }
    match &statement.action {
        Action::Term(operand) => reference_outputs(operand, safe, &mut made),
        Action::Every { domain, .. } => reference_outputs(domain, safe, &mut made),
        Action::Unify { left, right, assigned } => {
            unify_outputs(left, right, *assigned, safe, &mut made);
        }
        // OPA's `eq` is `=`, which has no value: nothing gives one to the `y` of `y := eq(1, 1)`.
        Action::Call { callee: Callee::Builtin(builtin), .. } if builtin.name == "eq" => {}
        Action::Call { args, output, .. } => {
            args.iter().for_each(|arg| reference_outputs(arg, safe, &mut made));
            // `plus(input.a[i], j, z)` gives `i` a value by looking it up, but needs `j`. Without `j` it cannot run at all,
            // so `i` gets none from it either.
            let mut needed = SlotSet::default();
            args.iter().for_each(|arg| pattern_vars(arg, &mut needed));
            needed.subtract(&made);
            if !needed.is_subset(safe) {
                return SlotSet::default();
            }
            if let Some(output) = output {
                reference_outputs(output, safe, &mut made);
                pattern_vars(output, &mut made);
            }
        }
        Action::Not { .. } | Action::And(..) | Action::Or(..) => {}
    }
    made.subtract(safe);
    made
}

fn is_root_safe(reference: &Reference, safe: &SlotSet) -> bool {
    match reference.root {
        Root::Input | Root::Data => true,
        Root::Var(slot) => safe.contains(slot),
    }
}

/// Variables in the paths of references: looking one up gives them values.
fn reference_outputs(operand: &Operand, safe: &SlotSet, made: &mut SlotSet) {
    match operand {
        Operand::Const(_) | Operand::Var(_) | Operand::Collect(_) => {}
        Operand::Array(items) | Operand::Set(items) => {
            items.iter().for_each(|item| reference_outputs(item, safe, made));
        }
        Operand::Object(pairs) => {
            for (key, value) in pairs {
                reference_outputs(key, safe, made);
                reference_outputs(value, safe, made);
            }
        }
        Operand::Ref(reference) => {
            if is_root_safe(reference, safe) {
                for part in &reference.path {
                    path_vars(part, made);
                    reference_outputs(part, safe, made);
                }
            }
        }
    }
}

/// Variables of a path component; the root of a reference inside it is not one of them.
fn path_vars(operand: &Operand, made: &mut SlotSet) {
    match operand {
        Operand::Ref(reference) => reference.path.iter().for_each(|part| path_vars(part, made)),
        Operand::Array(items) | Operand::Set(items) => items.iter().for_each(|item| path_vars(item, made)),
        Operand::Object(pairs) => {
            for (key, value) in pairs {
                path_vars(key, made);
                path_vars(value, made);
            }
        }
        other => all_vars(other, made),
    }
}

/// Variables matching a value would bind: not in sets, not in keys, not at the root of references.
fn pattern_vars(operand: &Operand, found: &mut SlotSet) {
    match operand {
        Operand::Var(slot) => found.insert(*slot),
        Operand::Array(items) => items.iter().for_each(|item| pattern_vars(item, found)),
        Operand::Object(pairs) => pairs.iter().for_each(|(_, value)| pattern_vars(value, found)),
        Operand::Ref(reference) => reference.path.iter().for_each(|part| pattern_vars(part, found)),
        Operand::Const(_) | Operand::Set(_) | Operand::Collect(_) => {}
    }
}

fn unify_outputs(left: &Operand, right: &Operand, assigned: bool, safe: &SlotSet, made: &mut SlotSet) {
    reference_outputs(left, safe, made);
    reference_outputs(right, safe, made);
    let mut known = safe.clone();
    known.union(made);
    if assigned {
        // Values go from right to left only: in `[x, 1] := y` a safe `x` must not make `y` safe (OPA's issue 3546).
        let mut target = SlotSet::default();
        all_vars(left, &mut target);
        known.subtract(&target);
    }
    // OPA keeps who waits for whom in one pass. Repeating the pass until nothing is added comes to the same: of
    // `[x, y] = [y, 1]` the first pass finds `y`, and the second `x`.
    let mut unified = SlotSet::default();
    loop {
        let before = unified.len();
        unify(left, right, &known, &mut unified);
        if unified.len() == before {
            break;
        }
    }
    made.union(&unified);
}

/// Propagates values between the two sides once; repeated until nothing changes.
fn unify(a: &Operand, b: &Operand, safe: &SlotSet, unified: &mut SlotSet) {
    use Operand::{Array, Collect, Const, Object, Ref, Set, Var};
    let known = |slot: u32, unified: &SlotSet| safe.contains(slot) || unified.contains(slot);
    match (a, b) {
        (Var(x), Var(y)) => {
            if known(*y, unified) {
                unified.insert(*x);
            } else if known(*x, unified) {
                unified.insert(*y);
            }
        }
        (Var(x), pattern @ (Array(_) | Object(_))) | (pattern @ (Array(_) | Object(_)), Var(x)) => {
            let mut vars = SlotSet::default();
            pattern_vars(pattern, &mut vars);
            let mut open = vars.clone();
            open.subtract(safe);
            open.subtract(unified);
            // A value is taken apart, or put together where no part is missing.
            if known(*x, unified) {
                unified.union(&vars);
            } else if open.is_empty() {
                unified.insert(*x);
            }
        }
        (Ref(reference), other @ (Var(_) | Array(_) | Object(_)))
        | (other @ (Var(_) | Array(_) | Object(_)), Ref(reference))
            if is_root_safe(reference, safe) =>
        {
            pattern_vars(other, unified);
        }
        (Var(x), Const(_) | Set(_) | Collect(_)) | (Const(_) | Set(_) | Collect(_), Var(x)) => {
            unified.insert(*x)
        }
        (Array(xs), Array(ys)) if xs.len() == ys.len() => {
            xs.iter().zip(ys).for_each(|(x, y)| unify(x, y, safe, unified));
        }
        (Object(xs), Object(ys)) if xs.len() == ys.len() => {
            for ((key, x), (other, y)) in xs.iter().flat_map(|x| ys.iter().map(move |y| (x, y))) {
                if same_key(key, other) {
                    unify(x, y, safe, unified);
                }
            }
        }
        (pattern @ (Array(_) | Object(_)), Const(_) | Collect(_))
        | (Const(_) | Collect(_), pattern @ (Array(_) | Object(_))) => {
            pattern_vars(pattern, unified);
        }
        _ => {}
    }
}

/// Returns true if two keys are one constant or one variable.
pub(crate) fn same_key(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Const(a), Operand::Const(b)) => a == b,
        (Operand::Var(a), Operand::Var(b)) => a == b,
        _ => false,
    }
}
